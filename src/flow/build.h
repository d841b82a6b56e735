/* Builds a rewriting from a decision. Thread-safe, if each `built` is used by one thread. */
#ifndef CS_FLOW_BUILD_H
#define CS_FLOW_BUILD_H

#include "decide/decide.h"
#include "exec/rewrite.h"
#include "flow/built_plans.h"

/* Builds and validates the decision's tiles, and builds a fallback plan within the reported size.
 */
CS_MUST_CHECK enum cs_status cs_build_tiles(const struct cs_problem *problem,
                                            const struct cs_decision *decision,
                                            struct cs_built_plans *built,
                                            struct cs_rewrite **rewrite_p);

/* Builds and validates tiles without a fallback plan. */
CS_MUST_CHECK enum cs_status cs_build_only_tiles(const struct cs_problem *problem,
                                                 const struct cs_decision *decision,
                                                 struct cs_built_plans *built,
                                                 struct cs_rewrite **rewrite_p);

/* Builds a rewriting without tiles. Every call runs on the fallback plan, which needs at most
 * `reported` bytes. */
CS_MUST_CHECK enum cs_status cs_build_fallback(int64_t reported, struct cs_built_plans *built,
                                               struct cs_rewrite **rewrite_p);

#endif
