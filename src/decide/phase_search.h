/* Finding the fewest phases of a dilated axis whose tiles come under the limit. */
#ifndef CS_DECIDE_PHASE_SEARCH_H
#define CS_DECIDE_PHASE_SEARCH_H

#include "decide/search.h"

/* As cs_search_fewest of search.h, along an axis of phases. Where views of every n-th row are
 * refused, or need too much, fewer of them of fewer images may be taken, as many as divide the
 * extent, too; else they are looked for as packed copies, where these are allowed. */
CS_MUST_CHECK enum cs_status cs_phase_search_fewest(struct cs_search *search, struct cs_mode mode,
                                                    enum cs_axis axis, int64_t most);

#endif
