/* What tilings cost beside the untiled call, and the tilings that cost no more than they may. */
#ifndef CS_DECIDE_PRICE_H
#define CS_DECIDE_PRICE_H

#include "decide/search.h"

/* Times the untiled call that a listed candidate takes: the larger of its predicted seconds, where
 * they are, and of the bytes that it reads. */
double cs_price_of(const struct cs_search *search, const struct cs_candidate *candidate);

/* Marks the candidates that are beyond limits->max_slowdown as dear. Those of `search` that read
 * much again are dear as well where another one costs less, unless it is measured which does. */
void cs_price_mark(struct cs_search *search, const struct cs_limits *limits);

enum cs_priced {
    CS_PRICED,  /* *workspace_p bytes hold a listed tiling that is not dear */
    CS_DEAR,    /* no tiling is guessed to cost no more than it may and to save enough */
    CS_UNPRICED /* guesses did not hold: nothing is known */
};

/* Lists a tiling that stays within limits->max_slowdown, with as few questions as guesses allow:
 *
 * 1. of those under limits->workspace the one whose price and scratch are least together: 1.5 %
 *    of the time may be spent to save 1 % of the operands, as far as limits->aim asks for less and
 *    limits->least is not reported all the same; else
 * 2. the one of least scratch beyond it, if it saves limits->min_saving.
 *
 * The question's limit must be that of 2. CS_OK whatever *priced_p says; CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_price_search(struct cs_search *search,
                                             const struct cs_limits *limits,
                                             enum cs_priced *priced_p, int64_t *workspace_p);

/* Where what is listed reads much again: lists what is guessed to cost less under the
 * question's limit, of one axis and of two. `known` is the best that is listed. CS_OK; CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_price_compare(struct cs_search *search, struct cs_mode mode,
                                              const struct cs_candidate *known);

/* Where nothing fits: lists a tiling of about the least scratch that there is, of those the fastest
 * as it is guessed. *limit_p, the question's limit, becomes what it may need, if that is less than
 * `most`; else nothing is listed and it stays. CS_OK; CS_NOMEM. */
CS_MUST_CHECK enum cs_status cs_price_least(struct cs_search *search, int64_t most,
                                            int64_t *limit_p);

#endif
