/* The most device memory that a program's convolutions have held, for each context. A convolution
 * may use that much without raising the program's peak. Every call is recorded with the addresses
 * of its operands (decide/pass.h). Thread-safe. */
#ifndef CS_FLOW_PEAK_H
#define CS_FLOW_PEAK_H

#include "base/lock.h"
#include "decide/by_rules.h"
#include "decide/pass.h"

enum {
    CS_PEAK_DEVICES = 16 /* a further context replaces the one that was unused for longest */
};

struct cs_peak {
    struct cs_lock lock;
    int64_t without, with; /* bytes that the calls of a context held at most, see cs_peak_read */
    uint64_t turns;        /* uses of entries so far */
    struct cs_peak_device {
        uint64_t context; /* the device's context */
        uint64_t used;    /* the last turn of cs_peak that used it */
        struct cs_pass pass;
    } * device[CS_PEAK_DEVICES]; /* NULL: unused */
};

void cs_peak_init(struct cs_peak *peak);

/* The record of a context, for a decision about `problem`. The operands of `problem` count from now
 * on, because some programs plan all convolutions before they run one. */
struct cs_peak_level cs_peak_level(struct cs_peak *peak, uint64_t context,
                                   const struct cs_problem *problem);

/* Records a call. */
void cs_peak_note(struct cs_peak *peak, uint64_t context, uint64_t layer,
                  const struct cs_pass_workspace *workspace, const struct cs_problem *problem,
                  const struct cs_addresses *addresses);

/* The peaks of all contexts, as far as convolutions show them: bytes of a call's workspace, of its
 * tensors, and of tensors of other calls that a later call reads. Filters that are only read do not
 * count. 0 if no call was recorded. */
void cs_peak_read(struct cs_peak *peak, int64_t *without_p, int64_t *with_p);

#endif
