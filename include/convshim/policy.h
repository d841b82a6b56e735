/* What a policy sees and says. The core lists only legal candidates, each with the workspace that
 * the vendor itself reported; a policy scores them. A bad policy makes a call slow, never wrong.
 * Policies are pure: no clock, no memory, no files, no state; they may be called from any thread.
 */
#ifndef CONVSHIM_POLICY_H
#define CONVSHIM_POLICY_H

#include "convshim/plan.h"

/* Whether tiles may have packed copies of what cuts leave in pieces; see plan.h. */
enum cs_staging {
    CS_STAGING_AUTO, /* where nothing else fits, or where it takes far fewer tiles */
    CS_STAGING_NEVER,
    CS_STAGING_ALWAYS
};

enum {
    CS_LEFT_ALONE = 16 << 20 /* bytes of workspace that never make a peak worth a tiling, where the
                                user writes no number */
};

/* What the user allows, and what scratch costs. */
struct cs_limits {
    int64_t workspace;    /* bytes of scratch a call may use; < 0: auto, any */
    int64_t price;        /* nanoseconds that a MiB less of scratch may cost */
    int64_t max_slowdown; /* thousandths of the time that the untiled call is predicted to take;
                             tiles never take longer; 0: no bound */
    int64_t most;         /* bytes of scratch that there are at all; 0: any */
    int64_t threshold;    /* calls that want no more than this are not tiled; < 0: auto */
    int64_t tiles;        /* for policies that take a fixed number of tiles */
    int lanes;            /* tiles that may run at once; 0: two where a plan gains by it */
    enum cs_staging staging;
    int64_t huge;  /* tiles of calls that want nothing may choose their own engine if an operand
                      spans so many elements; 0: such calls are not tiled */
    bool lent;     /* scratch is the library's own: callers are told what the fallback plan needs */
    bool provided; /* workspace is what the caller has provided: no tiling goes beyond it */

    /* Worked out for each call. */
    int64_t free;        /* bytes of scratch that cost nothing: they leave the peak as it is */
    double byte_seconds; /* what each byte beyond costs on the device */
};

/* One way to run a problem. The untiled call is a candidate too: no axis, one tile. */
struct cs_candidate {
    struct cs_tiling tiling; /* with the lanes that its tiles run on */
    int64_t tiles;           /* launches */
    int64_t shapes;          /* different tiles: execution plans to build */
    int64_t workspace;       /* bytes on all lanes */
    int64_t halo;            /* bytes of x and y read again */
    int64_t copied;          /* bytes copied to and from staged tensors */
    int64_t required;        /* bytes that the untiled call requires */
    double seconds;          /* predicted (decide/cost.h) */
    bool dear;               /* takes longer than max_slowdown: it is never taken */
};

struct cs_policy {
    const char *name;    /* as in `policy = NAME` */
    const char *summary; /* one line for --help and the default ini */

    /* Decide, but leave every call as it is: the report shows what could be saved. */
    bool report_only;

    /* More than 1: `cost` only finds the best few, at most so many, each of another way to cut;
     * which of them is taken is measured on the device, where that is possible. */
    int contenders;

    /* How many tiles the core shall list on each axis, or 0: those that cost least. */
    int64_t (*tiles)(const struct cs_limits *limits);

    /* The cost of a candidate; the least wins, the earlier listed among equals. Infinite or NaN:
     * never take it. */
    double (*cost)(const struct cs_candidate *candidate, const struct cs_limits *limits);
};

/* Every policy under policies/, made by the Makefile; ends with NULL. */
extern const struct cs_policy *const cs_policies[];

/* Their names in the same order, those of their files; ends with NULL. */
extern const char *const cs_policy_names[];

/* The policy of that name or NULL. */
const struct cs_policy *cs_policy_find(const char *name);

#endif
