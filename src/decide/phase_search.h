/* Finding the fewest phases of a dilated axis whose tiles come under the limit. */
#ifndef CS_DECIDE_PHASE_SEARCH_H
#define CS_DECIDE_PHASE_SEARCH_H

#include "decide/search.h"

/* As cs_search_fewest of search.h, along an axis of phases. Views of every n-th row that are
 * refused, or need too much, are looked for as packed copies, too, where these are allowed. */
CS_MUST_CHECK enum cs_status cs_phase_search_fewest(struct cs_search *search, struct cs_mode mode,
                                                    enum cs_axis axis);

#endif
