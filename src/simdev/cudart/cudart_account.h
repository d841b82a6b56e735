/* Account mode inside the simulated libcudart: counters by name. Thread-safe. */
#ifndef CUDART_ACCOUNT_H
#define CUDART_ACCOUNT_H

#include "cudart_internal.h"

enum simdev_tally_kind {
    SIMDEV_TALLY_KERNEL,    /* kernels of the program, not executed */
    SIMDEV_TALLY_CALL,      /* calls of libraries, not executed */
    SIMDEV_TALLY_MISSING,   /* functions that are not simulated */
    SIMDEV_TALLY_LOOKED_UP, /* functions that are missing and were looked up */
    SIMDEV_TALLY_GUESSED,   /* functions that returned an estimate of a size that only the real
                               library has */
    SIMDEV_TALLY_PLAN,      /* execution plans of convolutions, by description */
    SIMDEV_TALLY_PROBLEM,   /* convolutions, by direction and extents */
    SIMDEV_TALLY_READER,    /* callers that read memory which was never written */
    SIMDEV_TALLY_KINDS
};

struct simdev_tally;

/* Reads SIMDEV_MODE and SIMDEV_MISSING. False, after a violation that gives the reason, if one is
 * unusable. */
bool simdev_account_init(void);
/* simdev_account_mode for callers that have already brought the device up. */
bool simdev_account_on(void);

/* Returns the counter of a name. The first call creates it. NULL if memory is short. */
struct simdev_tally *simdev_tally(enum simdev_tally_kind kind, const char *name);
/* Adds one to the counter and returns the new count. Does nothing if `tally` is NULL. */
uint64_t simdev_tally_add(struct simdev_tally *tally);
typedef void simdev_tally_seen(const char *name, uint64_t count, void *arg);
/* Calls back for every counted name of the kind, in any order. */
void simdev_tally_each(enum simdev_tally_kind kind, simdev_tally_seen *seen, void *arg);

/* Adds these counters to a report, a JSON object: work that was not executed, functions that are
 * missing, reads of memory that was never written, and whether the program queried times. */
struct cJSON;
void simdev_account_report(struct cJSON *report);

#endif
