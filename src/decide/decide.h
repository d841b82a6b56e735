/* Makes a decision from a problem and the workspace that the application's plan requires.
 * Candidates are legal tilings with the workspace that the vendor reports. A policy computes their
 * costs. Pure except for the vendor's queries. Deterministic: the same problem gets the same
 * decision. */
#ifndef CS_DECIDE_DECIDE_H
#define CS_DECIDE_DECIDE_H

#include "convshim/policy.h"
#include "convshim/vendor.h"

/* The tiling of a call, or the reason why it is not tiled. */
struct cs_decision {
    enum cs_reason reason; /* CS_REASON_NONE: tile as below. CS_REASON_REPORT_ONLY: the same
                              decision, but it is not applied */
    struct cs_tiling tiling;
    int64_t tiles;
    int64_t required; /* bytes that the application's plan requires */
    int64_t reported; /* bytes that the tiled plan requires, including its fallback plan; = required
                         if it is not tiled */
    int64_t scratch; /* bytes that the tiles require, applied or only possible; = required without a
                        tiling */
    int64_t queries; /* vendor plans built for the decision */
    int64_t free;    /* scratch in bytes that costs nothing: a written workspace, or a small part of
                        the operands; set by cs_decide_by_rules */
    bool raised;     /* `scratch` is above a written workspace, because no tiling meets it */
    int elsewhere;   /* whether another engine of the vendor's list fits the limit: 1 yes, -1 no, 0
                        not queried; set by cs_decide_refuses */
    int rule;        /* 1 + the index of the rule that applies, 0: no rule; set by the flow */
};

/* The most vendor plans that are built for one decision. */
enum {
    CS_MODE_QUERIES =
        32, /* queries in each search: the application's knobs, others, packed copies ... */
    CS_COMPILED_QUERIES =
        9, /* instead, if a query may take seconds: enough for a tiling of two axes, which has three
              times three shapes. Fallback plans are never compiled */
    CS_FALLBACK_QUERIES = 2,
    CS_MAX_QUERIES = 7 * CS_MODE_QUERIES + CS_FALLBACK_QUERIES
};

/* Decides how to run a checked problem. The application's plan requires `required` bytes. Never
 * fails: an error becomes a reason not to tile. Queries the vendor for at most CS_MAX_QUERIES plans
 * (fewer if it compiles them), and for none if `required` is within the threshold.
 *
 * The threshold is limits->threshold, which may be above limits->workspace. If it is negative, it
 * is limits->workspace or, if that is auto, CS_LEFT_ALONE. With a threshold of 0, a policy with a
 * fixed number of tiles also tiles calls that require no workspace.
 *
 * The tiling of least cost is chosen, the untiled call included. The cost is the predicted seconds,
 * plus limits->price for each byte of scratch beyond limits->free. If a workspace is written, the
 * fastest tiling within it is chosen. Only if there is none within limits->max_slowdown, the tiling
 * of least cost above it is chosen that takes at most 1.5 times the untiled time. No tiling may
 * need more than `required`. */
struct cs_decision cs_decide(const struct cs_problem *problem, int64_t required,
                             const struct cs_policy *policy, const struct cs_limits *limits,
                             const struct cs_vendor *vendor);

/* The most bytes that a call can require without ever being tiled by cs_decide, for any problem and
 * policy. < 0: no such size. */
int64_t cs_decide_ignored(const struct cs_limits *limits);

/* True if the decision is a tiling, applied or only reported. */
bool cs_decide_tiles(const struct cs_decision *decision);

/* The decision not to tile a call that requires `required` bytes. */
struct cs_decision cs_decide_leave(enum cs_reason reason, int64_t required);

#endif
