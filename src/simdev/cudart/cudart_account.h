/* Account mode inside the stand-in libcudart: what is counted by name. Thread-safe. */
#ifndef CUDART_ACCOUNT_H
#define CUDART_ACCOUNT_H

#include "cudart_internal.h"

enum simdev_tally_kind {
    SIMDEV_TALLY_KERNEL,    /* kernels of the program, not executed */
    SIMDEV_TALLY_CALL,      /* calls of libraries, not executed */
    SIMDEV_TALLY_MISSING,   /* functions that are not simulated */
    SIMDEV_TALLY_LOOKED_UP, /* functions that are not there, and were looked up */
    SIMDEV_TALLY_GUESSED,   /* functions that answered a size that only the library knows */
    SIMDEV_TALLY_PLAN,      /* convolutions' execution plans, by what they are */
    SIMDEV_TALLY_READER,    /* who read what nothing had written */
    SIMDEV_TALLY_KINDS
};

struct simdev_tally;

/* Reads SIMDEV_MODE and SIMDEV_MISSING. False (a violation says why) if one is unusable. */
bool simdev_account_init(void);
/* simdev_account_mode for those who know that the device is up. */
bool simdev_account_on(void);

/* The counter of a name, made by the first who asks; NULL if memory is short. */
struct simdev_tally *simdev_tally(enum simdev_tally_kind kind, const char *name);
/* Counts one more; returns how many there were with it. NULL is nothing. */
uint64_t simdev_tally_add(struct simdev_tally *tally);
typedef void simdev_tally_seen(const char *name, uint64_t count, void *arg);
/* Tells of every name of the kind that was counted, in no order. */
void simdev_tally_each(enum simdev_tally_kind kind, simdev_tally_seen *seen, void *arg);

/* Adds what is told of all this to a report, a JSON object: what was not executed, what is missing,
 * what was read that nothing had written, and whether anybody asked for times. */
struct cJSON;
void simdev_account_report(struct cJSON *report);

/* Work that counts one more whenever it runs. */
struct simdev_work simdev_account_work(struct simdev_tally *tally, const struct simdev_cost *cost);

#endif
