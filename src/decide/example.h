/* Decisions by example: frameworks that try every engine finalize plans of one problem that differ
 * in their engine's knobs, and cuDNN's workspaces for their tiles rarely differ. Pure except for
 * the vendor's functions. */
#ifndef CS_DECIDE_EXAMPLE_H
#define CS_DECIDE_EXAMPLE_H

#include "decide/decide.h"

/* True if the vendor confirms the example's tiling, with every tile shape, within the same scratch.
 * *decision is then the result that a search would have. False if a search may have another result.
 * The example must be of the same problem, requirement, device and limits, and of the same engine
 * with knobs that do not change predicted times. */
bool cs_decide_by_example(const struct cs_decision *example, const struct cs_problem *problem,
                          const struct cs_vendor *vendor, struct cs_decision *decision);

/* True if more decisions can follow the first than the second, which has the same engine. */
bool cs_decide_is_better_example(const struct cs_decision *decision,
                                 const struct cs_decision *than);

#endif
