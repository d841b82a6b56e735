/* A decision by example: frameworks that try every engine have plans finalized for one problem that
 * differ in their engine's knobs, and cuDNN's answers about their tiles hardly do. Pure but for the
 * vendor's calls. */
#ifndef CS_DECIDE_EXAMPLE_H
#define CS_DECIDE_EXAMPLE_H

#include "decide/decide.h"

/* True if the vendor confirms the example's tiling, every tile shape of it, with no more scratch:
 * *decision is what a search would find. False where a search may find another tiling. The example
 * must be of the same problem, requirement, device and limits, and of the same engine with knobs
 * that the prediction of times does not tell apart. */
bool cs_decide_by_example(const struct cs_decision *example, const struct cs_problem *problem,
                          const struct cs_vendor *vendor, struct cs_decision *decision);

/* True if more decisions can follow this one than the other, of the same engine. */
bool cs_decide_is_better_example(const struct cs_decision *decision,
                                 const struct cs_decision *than);

#endif
