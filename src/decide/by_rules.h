/* Finds the limits and the policy of one call from options and rules, and makes the decision under
 * them. The library decides by this, and `convshim predict` predicts the library's decisions by it.
 * Pure except for the vendor's queries. */
#ifndef CS_DECIDE_BY_RULES_H
#define CS_DECIDE_BY_RULES_H

#include "decide/decide.h"
#include "decide/rule.h"

/* Constant settings of a process. */
struct cs_settings {
    const struct cs_rules *rules; /* NULL: no rules */
    const char *program;          /* the program's file name, for rules that match it */
    const char *script; /* the script, if the program is an interpreter; NULL: no script */
    const struct cs_policy *policy; /* unless a rule sets another */
    struct cs_limits limits;        /* unless a rule changes them */
    int64_t most;                   /* largest bytes of scratch that a rule may allow */
};

/* A call that needs a decision. */
struct cs_decide_call {
    const struct cs_problem *problem; /* checked */
    int64_t required;                 /* bytes of the application's own plan */
    int64_t engine;                   /* engine of the application's plan; < 0: unknown */
    int64_t provided; /* scratch bytes that the caller has provided; 0: the limits apply */
};

/* Makes the decision of a call (cs_decide) by the options and the first rule that matches. `rule`
 * of the decision is the number of that rule. The decision is a function of its arguments and the
 * vendor's answers alone. */
struct cs_decision cs_decide_by_rules(const struct cs_settings *settings,
                                      const struct cs_decide_call *call,
                                      const struct cs_vendor *vendor);

/* True if a call that requires `required` bytes is never tiled under the options and rules, for any
 * problem. */
bool cs_decide_is_small(const struct cs_settings *settings, int64_t required);

#endif
