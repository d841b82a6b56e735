/* The most device memory that a program's convolutions have held, for each context: what
 * a convolution may use without the program's peak growing. Every call is noted with the addresses
 * of its operands (decide/pass.h). Thread-safe. */
#ifndef CS_FLOW_PEAK_H
#define CS_FLOW_PEAK_H

#include "base/lock.h"
#include "decide/by_rules.h"
#include "decide/pass.h"

enum {
    CS_PEAK_DEVICES = 16 /* of more nothing is noted */
};

struct cs_peak {
    struct cs_lock lock;
    struct cs_peak_device {
        uint64_t context; /* of the device */
        struct cs_pass pass;
    } * device[CS_PEAK_DEVICES]; /* NULL: none yet */
};

void cs_peak_init(struct cs_peak *peak);

/* What calls in a context have held, for a decision about `problem`. The convolution will hold its
 * operands: they count from now on, also where programs plan all convolutions before they run. */
struct cs_peak_level cs_peak_level(struct cs_peak *peak, uint64_t context,
                                   const struct cs_problem *problem);

/* A call that is about to be made, of a convolution that was reported so many bytes. */
void cs_peak_note(struct cs_peak *peak, uint64_t context, uint64_t layer, int64_t reported,
                  const struct cs_problem *problem, const struct cs_addresses *addresses);

#endif
