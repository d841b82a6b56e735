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
    CS_AUTO_WORKSPACE = 64 << 20 /* bytes that workspace = auto is at least */
};

/* What the user allows. */
struct cs_limits {
    int64_t workspace; /* bytes of scratch a call may use; < 0: auto, which is worked out for each
                          problem before a decision (by_rules.c) */
    int64_t aim;       /* where workspace was auto: less scratch, down to so many bytes, is taken if
                          it is worth its time; 0: the policy alone decides below workspace */
    int64_t least;     /* bytes that a tiled call is reported at least, if it requires so much; 0:
                          what its tiles need. Where workspace was auto (by_rules.c) */
    int64_t max_slowdown; /* thousandths of the time that the untiled call is predicted to take, and
                             of the bytes of its operands, that tiles may take and read; where they
                             would go beyond it, workspace is raised as far as it takes; 0: whatever
                             it costs; < 0: auto, worked out with workspace */
    int64_t most;         /* bytes that workspace is raised to at most; 0: what is required */
    int64_t threshold;    /* calls that want no more than this are not tiled; < 0: than workspace */
    int64_t tiles;        /* for policies that take a fixed number of tiles */
    int64_t min_saving;   /* bytes that tiles beyond workspace must save */
    int lanes;            /* tiles that may run at once; 0: two where a plan gains by it */
    enum cs_staging staging;
    bool exceeds;  /* where no tiling comes under workspace the one of least scratch is taken, if it
                      saves more than min_saving */
    int64_t huge;  /* tiles of calls that want nothing may choose their own engine if an operand
                      spans so many elements; 0: such calls are not tiled */
    bool lent;     /* scratch is the library's own: callers are told what the fallback plan needs */
    bool provided; /* workspace is what the caller has provided: then no policy goes beyond it */
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
    double seconds; /* predicted (decide/cost.h); 0 in all of them if the device is not known
                     */
    bool dear;      /* beyond max_slowdown, or reads much again where another way that is
                       listed takes less time: the core never takes it */
};

struct cs_policy {
    const char *name;    /* as in `policy = NAME` */
    const char *summary; /* one line for --help and the default ini */

    /* Decide, but leave every call as it is: the report shows what could be saved. */
    bool report_only;

    /* More than 1: `cost` only finds the best few, at most so many, each of another way to cut;
     * which of them is taken is measured on the device, where that is possible. */
    int contenders;

    /* Where workspace is auto, limits->workspace grows to what earlier runs of the program have
     * shown to do its peak no harm. */
    bool watches;

    /* How many tiles the core shall list on each axis, or 0: the fewest that come under
     * limits->workspace. */
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
