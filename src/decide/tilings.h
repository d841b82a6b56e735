/* Which tilings a search looks for, until one is found. */
#ifndef CS_DECIDE_TILINGS_H
#define CS_DECIDE_TILINGS_H

#include "decide/search.h"

/* Lists tilings that need at most the question's limit, and stops at the first stage that finds
 * one: on as many lanes as the user wrote, on one, with the engine's own knobs, with another engine
 * that computes alike, as packed copies. Where the fewest tiles read much again, others are listed,
 * too. `tiles`: how many there must be; 0: as few as fit. *mode has the staging to begin with, and
 * then the mode of the search that found what is listed. CS_OK whether something was listed or
 * not; CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_tilings_list(struct cs_search *search, int64_t tiles,
                                             const struct cs_limits *limits, struct cs_mode *mode);

/* The same for tensors that the application's engine handles without tensor cores: packed tiles, on
 * whatever engine the heuristics take for a tile. */
CS_MUST_CHECK enum cs_status cs_tilings_list_huge(struct cs_search *search, struct cs_mode *mode);

#endif
