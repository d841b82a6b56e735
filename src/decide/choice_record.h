/* The candidates of a decision for people. Pure. */
#ifndef CS_DECIDE_CHOICE_RECORD_H
#define CS_DECIDE_CHOICE_RECORD_H

#include "convshim/choices.h"
#include "decide/search.h"

/* What a search listed, as the policy weighs it; `picked`: of these, or NULL. */
void cs_choice_record_add(const struct cs_search *search, const struct cs_policy *policy,
                          const struct cs_limits *limits, const struct cs_candidate *picked,
                          struct cs_choices *choices);

#endif
