/* What a program's convolutions show of its memory: the calls of one pass through a network, with
 * the address ranges of their operands, and how much workspace each of them may use without the
 * program's peak growing. Pure; nothing is allocated.
 *
 * Two bounds are drawn from the ranges. What certainly is held at a call: its operands, and every
 * range that an earlier call has used and a later one reads, untouched in between. What may be held
 * at it: its operands, everything that was used before and that nothing has been put over since,
 * and one more tensor of the size of its largest operand (the other branch of a residual connection
 * is one that no convolution sees). The pass's level is the most that is certainly held, with the
 * workspace that was used there: no call may be given so much that what may be held goes beyond it.
 *
 * Filters are left out of both: they are held all the time. */
#ifndef CS_DECIDE_PASS_H
#define CS_DECIDE_PASS_H

#include "convshim/gpu.h"

enum {
    CS_PASS_CALLS = 2048, /* of the longest pass */
    CS_PASS_SPANS = 4     /* of a call that are looked at */
};

/* Bytes [begin, end) of device memory that a call uses. */
struct cs_pass_span {
    uint64_t begin, end;
    bool written;
};

struct cs_pass_call {
    int spans; /* that do not overlap */
    struct cs_pass_span span[CS_PASS_SPANS];
    int64_t workspace; /* bytes that it was reported */
};

/* The spans of a call; its workspace is left alone. Tensors that have no address or no size are
 * left out, and what overlaps one that is taken already. */
void cs_pass_spans(const struct cs_problem *problem, const struct cs_addresses *addresses,
                   struct cs_pass_call *call);

/* Memory for an estimate. */
struct cs_pass_work {
    int64_t certain[CS_PASS_CALLS + 1];
    struct cs_pass_span known[CS_PASS_CALLS * CS_PASS_SPANS];
};

/* The level of a pass of at most CS_PASS_CALLS calls, and of each call the bytes of workspace that
 * do it no harm: 0 or more. */
int64_t cs_pass_estimate(const struct cs_pass_call *call, int calls, struct cs_pass_work *work,
                         int64_t room[]);

#endif
