/* Finds tilings of least cost: guesses them, and confirms them with the vendor. */
#ifndef CS_DECIDE_PRICE_H
#define CS_DECIDE_PRICE_H

#include "decide/forms.h"

enum cs_priced {
    CS_PRICED,  /* a tiling that costs less than the untiled call is listed */
    CS_DEAR,    /* no tiling is predicted to cost less */
    CS_UNPRICED /* the vendor refused the guesses, or its answers contradict them */
};

/* Lists the tiling of least cost in `mode`, with as few queries as the guesses allow. mode.lanes 0:
 * one or two. CS_OK with any *priced_p; CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_price_search(struct cs_search *search, const struct cs_goal *goal,
                                             struct cs_mode mode, enum cs_priced *priced_p);

/* Lists the best tiling along each axis, for a comparison of axes. CS_OK; CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_price_each(struct cs_search *search, const struct cs_goal *goal,
                                           struct cs_mode mode);

#endif
