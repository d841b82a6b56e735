/* Bounds of a program's memory, from the address ranges of its convolutions' operands. A pass is
 * a sequence of calls in which no layer repeats. Pure. Allocates no memory. */
#ifndef CS_DECIDE_PASS_H
#define CS_DECIDE_PASS_H

#include "convshim/gpu.h"

enum {
    CS_PASS_CALLS = 512, /* most calls of a pass; longer passes are examined in parts */
    CS_PASS_RANGES = 256 /* known ranges; beyond these the smallest are removed */
};

/* Bytes [begin, end) of device memory that a call has used. */
struct cs_pass_range {
    uint64_t begin, end;
    int call; /* the last call of this pass that used it; < 0: used by an earlier pass */
};

/* Bytes of the workspaces of a call. */
struct cs_pass_workspace {
    int64_t reported;
    int64_t without, with; /* needed without convshim, and needed with it: the reported workspace or
                              the library's scratch */
};

struct cs_pass {
    int64_t record; /* the most that a call held with its reported workspace, or that the
                       operands of a planned problem hold */
    int64_t peak_without, peak_with; /* the most that a call held without convshim, and with it */
    int calls;
    struct cs_pass_call {
        uint64_t layer;  /* a number for a problem and its filter's address */
        int64_t tensors; /* bytes held during the call by its addresses, without its workspace */
        struct cs_pass_workspace workspace;
    } call[CS_PASS_CALLS];
    int ranges;
    struct cs_pass_range range[CS_PASS_RANGES]; /* known ranges, which do not overlap */
};

/* Records a call. `layer`: a number for its problem. Tensors without an address or a size are left
 * out. */
void cs_pass_note(struct cs_pass *pass, uint64_t layer, const struct cs_pass_workspace *workspace,
                  const struct cs_problem *problem, const struct cs_addresses *addresses);

/* Bytes of the operands, without a filter that is only read. INT64_MAX if they leave 64 bits. */
int64_t cs_pass_operands(const struct cs_problem *problem);

/* Bytes that may be held next to a convolution's operands: the known ranges, and one more tensor as
 * large as its largest. If a known range has the size of its input, the input is assumed to be that
 * range. 0 if no call was recorded. */
int64_t cs_pass_beside(const struct cs_pass *pass, const struct cs_problem *problem);

#endif
