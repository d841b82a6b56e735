/* Finds the tiling of least cost with few queries to the vendor. */
#ifndef CS_DECIDE_SEARCH_H
#define CS_DECIDE_SEARCH_H

#include "decide/probe.h"

/* Guesses tilings in `mode`, and confirms the cheapest. If the vendor's answers leave no guess, a
 * tiling along each single axis is queried, from which later guesses learn. Builds at most
 * `queries` plans. Returns CS_OK or CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_search_guesses(struct cs_search *search, struct cs_mode mode,
                                               int64_t queries);

/* Queries the vendor about `tiles` tiles along single axes, in stages up to the first one that
 * fits. */
CS_MUST_CHECK enum cs_status cs_search_count(struct cs_search *search, struct cs_mode mode,
                                             int64_t tiles, int64_t queries);

/* Confirms the untiled problem on another engine of the vendor that computes alike. */
CS_MUST_CHECK enum cs_status cs_search_similar(struct cs_search *search, int64_t queries);

#endif
