/* The program's record of memory, kept from one run to the next in the store (option keep_record).
 * An earlier run's record shows from the first convolution on which ones cannot raise the peak. */
#ifndef CS_FLOW_EARLIER_RUN_H
#define CS_FLOW_EARLIER_RUN_H

#include "config/store.h"
#include "convshim/vendor.h"
#include <stdatomic.h>

struct cs;
struct cs_request;

/* Of the first context in which a decision is made. */
struct cs_earlier_run {
    atomic_bool begun;
    atomic_bool keyed; /* the members below are set */
    struct cs_store_key key;
    uint64_t context;
};

/* Called before each decision that needs the record. The first call reads the store. Later calls do
 * nothing. */
void cs_earlier_run_begin(struct cs *cs, const struct cs_request *request,
                          const struct cs_vendor *vendor);

/* Called once at the end of the process. Stores the record, if no earlier run did and all
 * convolutions ran as decided. */
void cs_earlier_run_end(struct cs *cs);

/* Called in a forked child, which is another program. */
void cs_earlier_run_fork(struct cs *cs);

#endif
