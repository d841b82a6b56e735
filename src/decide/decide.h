/* From a problem and what its application requires to a decision: legal candidates, each with the
 * vendor's own workspace, scored by a policy. Pure but for the vendor calls that ask for
 * workspaces; deterministic, so the same problem gets the same answer. */
#ifndef CS_DECIDE_DECIDE_H
#define CS_DECIDE_DECIDE_H

#include "convshim/choices.h"
#include "convshim/policy.h"
#include "convshim/vendor.h"

struct cs_decision {
    enum cs_reason reason; /* CS_REASON_NONE: rewrite as below. CS_REASON_REPORT_ONLY: the same
                              decision, but it is not applied */
    struct cs_tiling tiling;
    int64_t tiles;
    int64_t required; /* bytes the application's plan asks for */
    int64_t reported; /* bytes the tiled plan asks for, its fallback plan counted in; = required if
                     it is not tiled */
    int64_t scratch;  /* bytes the tiles alone ask for, applied or only possible; = required without
                         a  tiling */
    int64_t asked;    /* vendor plans built to find out */
    int64_t limit;    /* bytes of scratch that were written, or that cost nothing; kept by
                         cs_decide_by_rules */
    bool raised; /* `scratch` is beyond a workspace that was written: there is no tiling of less */
    int elsewhere; /* whether another engine of the vendor's list does with the limit: 1 yes, -1 no,
                      0 not asked; kept by the flow */
    int rule;      /* 1 + the index of the rule that it follows, 0: none; kept by the flow */
    bool exemplary; /* what was found holds for the same engine with other knobs, if the vendor
                       confirms it (decide/example.h); kept by cs_decide_by_rules */
    bool promised;  /* an application got the small size reported before a plan was built; kept by
                       the flow */
    struct cs_choices choices; /* that it was made among; last: see cs_memo_get */
};

/* Vendor plans that may be built for one decision. */
enum {
    CS_MODE_ASKS = 32,    /* in each search: the application's knobs, others, packed copies ... */
    CS_COMPILED_ASKS = 8, /* instead, where every one may take seconds; fallback plans are never
                             compiled */
    CS_FALLBACK_ASKS = 2,
    CS_MAX_ASKS = 13 * CS_MODE_ASKS + CS_FALLBACK_ASKS
};

/* Decides for a checked problem whose application's plan requires `required` bytes. Never fails:
 * doubt is a reason. Asks the vendor for at most CS_MAX_ASKS plans (few of those that it compiles),
 * none at all when the workspace is within the threshold: limits->threshold, which may be above
 * limits->workspace; if it is negative, limits->workspace or, where that is auto, CS_LEFT_ALONE. A
 * threshold of 0 is below every call for a policy that takes a fixed number of tiles: it tiles
 * those that require nothing, too. A tiling is taken that costs least, the untiled call included:
 * its predicted seconds, and limits->price for each byte of scratch beyond limits->free. Where a
 * workspace is written, nothing goes beyond it that comes under it. No tiling that needs more than
 * `required` is ever taken, but for huge tensors (limits->huge): their calls require nothing, and
 * may be reported as much as is allowed or free. */
struct cs_decision cs_decide(const struct cs_problem *problem, int64_t required,
                             const struct cs_policy *policy, const struct cs_limits *limits,
                             const struct cs_vendor *vendor);

/* The same with somebody who compares the best few, for policies that want that; NULL: nobody. */
struct cs_referee;
struct cs_decision cs_decide_judged(const struct cs_problem *problem, int64_t required,
                                    const struct cs_policy *policy, const struct cs_limits *limits,
                                    const struct cs_vendor *vendor,
                                    const struct cs_referee *referee);

/* The most bytes that a call can want and not be tiled by cs_decide whatever it is and whatever
 * the policy; < 0: none are. */
int64_t cs_decide_ignored(const struct cs_limits *limits);

/* True if the decision is a tiling, applied or only reported. */
bool cs_decide_tiles(const struct cs_decision *decision);

/* The decision to leave a call that requires so much alone. */
struct cs_decision cs_decide_leave(enum cs_reason reason, int64_t required);

#endif
