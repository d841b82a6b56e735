/* The candidates of a decision for people. Pure. */
#ifndef CS_DECIDE_CHOICE_RECORD_H
#define CS_DECIDE_CHOICE_RECORD_H

#include "convshim/choices.h"
#include "decide/shortlist.h"

/* Records the listed candidates with the policy's costs, for a call that requires `required` bytes.
 * `picked` is one of them, or NULL. */
void cs_choice_record_add(const struct cs_shortlist *list, int64_t required,
                          const struct cs_policy *policy, const struct cs_limits *limits,
                          const struct cs_candidate *picked, struct cs_choices *choices);

#endif
