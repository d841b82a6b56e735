/* When staged tilings (plan.h) are worth a look. */
#ifndef CS_DECIDE_STAGED_SEARCH_H
#define CS_DECIDE_STAGED_SEARCH_H

#include "decide/search.h"

/* True if an operand spans at least so many elements; false for 0. */
bool cs_staged_search_is_huge(const struct cs_problem *problem, int64_t elements);

/* True if tiles of a listed tiling want far more workspace for their views than their share of what
 * the whole requires: some engines convert views and take packed tensors as they are. */
bool cs_staged_search_may_gain(struct cs_search *search, const struct cs_candidate *views);

/* Lists the staged cut along the same axis into the fewest tiles, if half as many tiles or less do.
 * CS_OK whether something was listed or not; CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_staged_search_list(struct cs_search *search,
                                                   enum cs_relaxation relaxation,
                                                   const struct cs_candidate *views);

#endif
