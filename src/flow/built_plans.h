/* Keeps the execution plans of a decision until its rewriting is built, which usually needs some of
 * them: a vendor around another, for one request. Used by one thread. */
#ifndef CS_FLOW_BUILT_PLANS_H
#define CS_FLOW_BUILT_PLANS_H

#include "convshim/vendor.h"

struct cs_built_plan;

struct cs_built_plans {
    struct cs_vendor vendor; /* the wrapping vendor, with which decisions and rewritings are made */
    const struct cs_vendor *real;
    struct cs_built_plan *first; /* unused ones, the latest first */
    int count;
};

/* Wraps `vendor`, which is used until cs_built_plans_fini. The struct must not move.
 * cs_built_plans_fini destroys the kept plans. */
void cs_built_plans_init(struct cs_built_plans *built, const struct cs_vendor *vendor);
void cs_built_plans_fini(struct cs_built_plans *built);

/* Returns the real vendor's execution plan of one that the wrapping vendor built. The caller owns
 * it from now on. */
void *cs_built_plans_release(void *plan);

/* True if `vendor` has a fallback plan for this limit that it built before. */
bool cs_built_plans_has_fallback(struct cs_built_plans *built, int64_t limit);

#endif
