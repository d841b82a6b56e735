/* The peak of a program's convolutions for the summary, without convshim and with it: bounds of the
 * program's memory, from the address ranges of its convolutions' operands, for each context. Other
 * operations may hold more. A pass is a sequence of calls in which no layer repeats. No decision
 * depends on these figures. Allocates one block for each context. Thread-safe. */
#ifndef CS_ACCOUNT_CONVOLUTION_PEAK_H
#define CS_ACCOUNT_CONVOLUTION_PEAK_H

#include "base/lock.h"
#include "convshim/gpu.h"

enum {
    CS_PASS_CALLS = 512,  /* most calls of a pass; longer passes are examined in parts */
    CS_PASS_RANGES = 256, /* known ranges; beyond these the smallest are removed */
    CS_PEAK_CONTEXTS = 16 /* a further context replaces the one that was unused for longest */
};

/* Bytes that a call takes in addition to its tensors: its workspace, or the library's scratch. */
struct cs_call_scratch {
    int64_t without, with; /* convshim */
};

/* The calls of one context. */
struct cs_pass {
    uint64_t context;
    uint64_t used;                  /* the last turn that used it */
    struct cs_call_scratch highest; /* the most that a call held, tensors included */
    int calls;
    struct cs_pass_call {
        uint64_t layer;  /* a number for a problem and its filter's address */
        int64_t tensors; /* bytes held during the call by its addresses, without its workspace */
        struct cs_call_scratch scratch;
    } call[CS_PASS_CALLS];
    int ranges;
    struct cs_pass_range { /* bytes [begin, end) of device memory that a call has used */
        uint64_t begin, end;
        int call; /* the last call of this pass that used it; < 0: used by an earlier pass */
    } range[CS_PASS_RANGES]; /* they do not overlap */
};

struct cs_convolution_peak {
    struct cs_lock lock;
    struct cs_call_scratch highest;         /* of all contexts */
    uint64_t turns;                         /* uses of passes so far */
    struct cs_pass *pass[CS_PEAK_CONTEXTS]; /* NULL: unused */
};

/* Initializes zeroed memory. */
void cs_convolution_peak_init(struct cs_convolution_peak *peak);

/* Adds a call. `layer`: a number for its problem. Tensors without an address or a size are left
 * out. The call is lost if host memory is short. */
void cs_convolution_peak_add(struct cs_convolution_peak *peak, uint64_t context, uint64_t layer,
                             const struct cs_call_scratch *scratch,
                             const struct cs_problem *problem,
                             const struct cs_addresses *addresses);

/* The most bytes that a call held in any context: its workspace, its tensors, and tensors of other
 * calls that a later call reads. Filters that are only read do not count. 0 before the first call.
 */
struct cs_call_scratch cs_convolution_peak_read(struct cs_convolution_peak *peak);

#endif
