/* Tilings beside the fewest tiles on one lane. */
#ifndef CS_DECIDE_FURTHER_H
#define CS_DECIDE_FURTHER_H

#include "decide/search.h"

/* Lists what may be better than the fewest tiles that a search in `mode` listed: packed copies
 * where views look wasteful, two lanes where the user leaves lanes to us. `tiles`: how many there
 * must be; 0: as few as fit. CS_OK whether something was listed or not; CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_further_list(struct cs_search *search, struct cs_mode mode,
                                             int64_t tiles, const struct cs_limits *limits);

#endif
