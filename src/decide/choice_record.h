/* The candidates of a decision for people. Pure. */
#ifndef CS_DECIDE_CHOICE_RECORD_H
#define CS_DECIDE_CHOICE_RECORD_H

#include "convshim/choices.h"
#include "decide/shortlist.h"

/* What was listed, as the policy weighs it, for a call that requires so much; `picked`: of these,
 * or NULL. */
void cs_choice_record_add(const struct cs_shortlist *list, int64_t required,
                          const struct cs_policy *policy, const struct cs_limits *limits,
                          const struct cs_candidate *picked, struct cs_choices *choices);

#endif
