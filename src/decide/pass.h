/* What a program's convolutions show of its memory, from the address ranges of their operands. Two
 * bounds are drawn. Pure; nothing is allocated.
 *
 * The *record* is the most that a convolution certainly held: its operands, the workspace that it
 * was reported, and every range that an earlier call has used and a later one reads, untouched in
 * between.
 *
 * What *may be held* beside a convolution: everything that was used before and that no call has
 * used since, and one more tensor of the size of its largest operand (the other branch of a
 * residual connection is one that no convolution sees).
 *
 * A range that is read in the next pass through the network is another tensor in the same place. So
 * a pass ends where a layer comes again.
 *
 * Filters are in neither: they are held all the time. Ranges below 1 MiB are left out. */
#ifndef CS_DECIDE_PASS_H
#define CS_DECIDE_PASS_H

#include "convshim/gpu.h"

enum {
    CS_PASS_CALLS = 512, /* of a pass; longer ones are looked at in parts */
    CS_PASS_RANGES = 256 /* that are known; of more the smallest are forgotten */
};

/* Bytes [begin, end) of device memory that a call has used. */
struct cs_pass_range {
    uint64_t begin, end;
    int call; /* of this pass, that used it last; < 0: of an earlier one */
};

struct cs_pass {
    int64_t record;
    int calls;
    uint64_t layer[CS_PASS_CALLS]; /* a number for a problem and its filter's address */
    int64_t held[CS_PASS_CALLS];   /* certainly, the workspace included */
    int ranges;
    struct cs_pass_range range[CS_PASS_RANGES]; /* that do not overlap */
};

/* A call that is about to be made, of a convolution that was reported so many bytes. `layer`: a
 * number for its problem. Tensors that have no address or no size are left out. */
void cs_pass_note(struct cs_pass *pass, uint64_t layer, int64_t reported,
                  const struct cs_problem *problem, const struct cs_addresses *addresses);

/* Bytes of the operands, without a filter that is only read. INT64_MAX if they leave 64 bits. */
int64_t cs_pass_operands(const struct cs_problem *problem);

/* Bytes that may be held beside a convolution; 0 if no call was noted. Its input is taken for one
 * of the ranges that are known, if one has that size. */
int64_t cs_pass_beside(const struct cs_pass *pass, const struct cs_problem *problem);

#endif
