/* Offsets for buffers with lifetimes: what is alive at the same time does not overlap, and the peak
 * is low. Pure; no recursion deeper than the number of buffers; the work is bounded by a count of
 * steps, so that the same buffers get the same offsets on every machine. */
#ifndef CS_PLAN_LAYOUT_H
#define CS_PLAN_LAYOUT_H

#include "convshim/status.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    CS_MAX_BUFFERS = 1024,
    CS_EXACT_BUFFERS = 16 /* up to so many the peak is the least possible one */
};

struct cs_buffer {
    int64_t begin, end; /* alive at the times [begin, end), in any unit; end > begin */
    int64_t bytes;      /* >= 0 */
    int64_t alignment;  /* of the offset; a power of two */
    int64_t offset;     /* the answer */
};

/* Fills in the offsets and the peak, the end of the highest buffer. Beyond CS_EXACT_BUFFERS the peak
 * is as low as `effort` steps of search find; 0: what a call in a program can afford. CS_INVALID for
 * a buffer that breaks the rules above, CS_ILLEGAL for more than CS_MAX_BUFFERS, CS_OVERFLOW. */
CS_MUST_CHECK enum cs_status cs_layout(struct cs_buffer *buffer, int buffers, int64_t effort,
                                       int64_t *peak_p);

/* True if offsets are aligned, none is negative, nothing reaches beyond `peak`, and no two buffers
 * that are alive at the same time overlap. Independent of cs_layout. */
bool cs_layout_holds(const struct cs_buffer *buffer, int buffers, int64_t peak);

#endif
