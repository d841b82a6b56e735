/* Offsets for buffers with lifetimes: what is alive at the same time does not overlap, and the peak
 * is low. Pure; the same buffers get the same offsets on every machine. Buffers of one alignment
 * that are all alive together, as in a call, are merely put in order; others need 150 KiB of stack
 * and up to 0.2 KiB more for each. */
#ifndef CS_PLAN_LAYOUT_H
#define CS_PLAN_LAYOUT_H

#include "convshim/status.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    CS_MAX_BUFFERS = 1024,
    CS_EXACT_BUFFERS = 16
};

struct cs_buffer {
    int64_t begin, end; /* alive at the times [begin, end), in any unit; end > begin */
    int64_t bytes;      /* >= 0 */
    int64_t alignment;  /* of the offset; a power of two */
    int64_t offset;     /* the answer */
};

/* Fills in the offsets and the peak, the end of the highest buffer. Of up to CS_EXACT_BUFFERS
 * buffers with one alignment no layout has a peak that is lower by as much as that (nor, if all are
 * alive together, by a byte). Of others the peak is as low as the search gets within `effort`, a
 * count of buffers placed; 0: a default that takes milliseconds at most. CS_INVALID for a buffer
 * that breaks the rules above and for a negative count, CS_ILLEGAL for more than CS_MAX_BUFFERS,
 * CS_OVERFLOW; offsets are then of no use. */
CS_MUST_CHECK enum cs_status cs_layout(struct cs_buffer *buffer, int buffers, int64_t effort,
                                       int64_t *peak_p);

/* True if offsets are aligned, none is negative, nothing reaches beyond `peak`, and no two buffers
 * that are alive at the same time overlap. Independent of cs_layout. */
bool cs_layout_holds(const struct cs_buffer *buffer, int buffers, int64_t peak);

#endif
