/* Whether tiles can give the same bits as the untiled call. */
#ifndef CS_DECIDE_BITS_H
#define CS_DECIDE_BITS_H

#include "convshim/plan.h"

/* True if no cut of the plan divides a sum. Then tiles give the bits of the untiled call if their
 * execution plans keep them (keeps_bits of struct cs_vendor). */
bool cs_decide_keeps_sums(const struct cs_plan *plan);

#endif
