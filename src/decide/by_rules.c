/* The limits of a decision, computed from options, rules and the provided workspace. */
#include "decide/by_rules.h"

#include "base/checked.h"

/* The part of the operands that scratch may always take: the peak of a large convolution is at
 * least 1.03 times its operands. Smaller tiles save little and add many launches. The value is a
 * choice: see docs/design/decisions.md. */
static const double OPERAND_PART = 0.03;

/* 1 + the index of the rule that applies to a call, 0: no rule. */
static int rule_for(const struct cs_settings *settings, const struct cs_decide_call *call)
{
    if (!settings->rules || settings->rules->count == 0)
        return 0;
    struct cs_subject subject =
        cs_rule_subject_of(call->problem, call->required, call->engine, settings->program);
    if (settings->script)
        subject.script = settings->script;
    return cs_rule_match(settings->rules, &subject) + 1;
}

static bool rule_skips(const struct cs_rule *rule)
{
    return rule && cs_rule_has(rule, CS_RULE_skip) && rule->skip;
}

static const struct cs_policy *policy_for(const struct cs_settings *settings,
                                          const struct cs_rule *rule)
{
    const struct cs_policy *policy =
        rule && cs_rule_has(rule, CS_RULE_policy) ? cs_policy_find(rule->policy.text) : NULL;
    return policy ? policy : settings->policy;
}

/* The scratch bytes that cost nothing: a workspace that the user wrote, else the larger of a part
 * of the operands and CS_LEFT_ALONE. */
static int64_t free_bytes(const struct cs_limits *limits, const struct cs_problem *problem)
{
    if (limits->workspace >= 0)
        return limits->workspace;
    double part = OPERAND_PART * (double)cs_problem_held(problem);
    int64_t free = cs_max((int64_t)part, CS_LEFT_ALONE);
    return limits->most > 0 ? cs_min(free, limits->most) : free;
}

/* The limits of a call. The options' limits (cs_limits_of) come first, and the rule changes them
 * (NULL: no rule). A provided workspace then replaces the limits of size and removes the limit of
 * time (0: not provided). */
static struct cs_limits limits_for(const struct cs_settings *settings, const struct cs_rule *rule,
                                   int64_t provided)
{
    struct cs_limits limits = settings->limits;
    if (rule)
        limits = cs_rule_limits(rule, &limits, settings->most);
    if (provided > 0) {
        limits.workspace = limits.threshold = provided;
        limits.provided = true;
        limits.max_slowdown = 0;
    }
    return limits;
}

struct cs_decision cs_decide_by_rules(const struct cs_settings *settings,
                                      const struct cs_decide_call *call,
                                      const struct cs_vendor *vendor)
{
    const int number = rule_for(settings, call);
    const struct cs_rule *rule = number > 0 ? &settings->rules->rule[number - 1] : NULL;
    struct cs_limits limits = limits_for(settings, rule, call->provided);
    limits.free = free_bytes(&limits, call->problem);
    struct cs_decision decision =
        rule_skips(rule)
            ? cs_decide_leave(CS_REASON_RULE, call->required)
            : cs_decide(call->problem, call->required, policy_for(settings, rule), &limits, vendor);
    decision.free = limits.free;
    decision.rule = number;
    return decision;
}

bool cs_decide_is_small(const struct cs_settings *settings, int64_t required)
{
    const struct cs_limits options = limits_for(settings, NULL, 0);
    if (required > cs_decide_ignored(&options))
        return false;
    for (int i = 0; settings->rules && i < settings->rules->count; i++) {
        const struct cs_rule *rule = &settings->rules->rule[i];
        const struct cs_limits limits = limits_for(settings, rule, 0);
        if (!rule_skips(rule) && required > cs_decide_ignored(&limits))
            return false;
    }
    return true;
}
