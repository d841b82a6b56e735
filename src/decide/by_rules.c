/* The one place where options, rules, what the caller has provided become the limits of a decision.
 */
#include "decide/by_rules.h"

#include "base/checked.h"
#include "decide/search.h"

/* Of workspace = auto: a part of the operands, so that the peak of a large convolution is
 * about 1.03 times what its tensors need. A choice: see docs/design/decisions.md. */
static const double OPERAND_PART = 0.03;

static const int64_t AUTO_SLOWDOWN = 1150; /* of max_slowdown = auto, where workspace is auto */

/* The rule that a call follows; 0: none, else 1 + its index. */
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

static bool skips(const struct cs_rule *rule)
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

/* What auto stands for: for a problem, or for any (NULL). */
static void work_out(struct cs_limits *limits, const struct cs_problem *problem)
{
    bool given = limits->workspace >= 0;
    if (limits->max_slowdown < 0)
        limits->max_slowdown = given ? 0 : AUTO_SLOWDOWN;
    if (given)
        return;
    double part = problem ? OPERAND_PART * cs_search_size(problem) : 0;
    limits->aim = part < 0x1p62 ? (int64_t)part + 1 : INT64_MAX;
    limits->workspace = limits->aim > CS_AUTO_WORKSPACE ? limits->aim : CS_AUTO_WORKSPACE;
    if (limits->most > 0 && limits->workspace > limits->most)
        limits->workspace = limits->most;
}

/* The limits of a call, in this order: those of the options (cs_limits_of), changed by the rule
 * that it follows (NULL: none), replaced by what its caller has provided (0: nothing); what is auto
 * in them is worked out. The bounds of the search itself come in cs_decide_judged. */
static struct cs_limits limits_for(const struct cs_settings *settings, const struct cs_rule *rule,
                                   const struct cs_problem *problem, int64_t provided)
{
    struct cs_limits limits = settings->limits;
    if (rule)
        limits = cs_rule_limits(rule, &limits, settings->most);
    if (provided > 0) {
        limits.workspace = limits.threshold = provided;
        limits.provided = true;
        limits.exceeds = false;
        limits.max_slowdown = 0;
    }
    work_out(&limits, problem);
    return limits;
}

/* What does no harm to the program's peak is given, in the place of what is auto. */
static void widen(struct cs_limits *limits, int64_t room)
{
    if (room <= limits->workspace || limits->lent)
        return;
    limits->workspace = room;
    limits->aim = 0;
}

static bool may_widen(const struct cs_decide_call *call, const struct cs_policy *policy,
                      const struct cs_decide_help *help)
{
    return help && help->room && policy->watches && call->provided == 0 && call->required > 0;
}

/* What a convolution whose output is of another size than its input is reported where workspace is
 * auto; 0: what it needs. When it ends, the tensors that follow are of its output's size. A caching
 * allocator (PyTorch's) then has a free block for them, where the workspace was.
 *
 * One that shrinks its input: without such a block they split the input's, which is free then and
 * which the next large tensor wants whole; programs need up to an eighth more memory than without
 * this library. The peak hardly grows: the operation that made an input of x bytes mostly had as
 * much beside it, and x + y + y is at most that. The margin keeps the workspace out of a free block
 * of exactly the output's size; PyTorch rounds to 2 MiB.
 *
 * One whose output is at least four times its input (the first of a network): a small workspace
 * gets a block of its own odd size, which tensors then use in part and no large one can. One of
 * exactly the output's size is used whole by the next tensor. What follows holds two of them, so
 * that the peak grows by a quarter of an output at most, and only if it is made here. */
static int64_t beside_output(const struct cs_problem *problem)
{
    const int64_t margin = INT64_C(2) << 20;
    int64_t input, output, sum;
    if (problem->direction != CS_FORWARD ||
        cs_problem_tensor_bytes(&problem->tensor[CS_X], &input) != CS_OK ||
        cs_problem_tensor_bytes(&problem->tensor[CS_Y], &output) != CS_OK)
        return 0;
    if (input <= output / 4)
        return output;
    return output <= input / 2 && cs_add(output, margin, &sum) ? sum : 0;
}

/* For workspace = auto: tiles stay as small as others; what is reported grows, and what requires no
 * more is not tiled. A policy with a fixed number of tiles does not ask how much they need, and no
 * framework's cache has scratch that is the library's own. */
static void report_output(const struct cs_decide_call *call, const struct cs_policy *policy,
                          struct cs_limits *limits)
{
    if (limits->lent || policy->tiles(limits) > 0)
        return;
    int64_t least = beside_output(call->problem);
    if (least <= limits->workspace)
        return;
    limits->least = least;
    if (limits->threshold < 0)
        limits->threshold = least;
}

/* Policies that weigh more than what is asked of the vendor are served anew each time. */
static bool is_exemplary(const struct cs_policy *policy, const struct cs_limits *limits,
                         const struct cs_decision *decision)
{
    bool plain = !policy->report_only && policy->contenders <= 1 && !policy->watches;
    return plain && policy->tiles(limits) == 0 && decision->reason == CS_REASON_NONE &&
           decision->required > 0;
}

static struct cs_decision decide_under(const struct cs_settings *settings,
                                       const struct cs_rule *rule,
                                       const struct cs_decide_call *call,
                                       const struct cs_vendor *vendor,
                                       const struct cs_decide_help *help)
{
    if (skips(rule))
        return cs_decide_leave(CS_REASON_RULE, call->required);
    const struct cs_policy *policy = policy_for(settings, rule);
    struct cs_limits limits = limits_for(settings, rule, call->problem, call->provided);
    const bool automatic = limits.aim > 0;
    if (automatic && may_widen(call, policy, help))
        widen(&limits, help->room(help->ctx));
    if (automatic)
        report_output(call, policy, &limits);
    const struct cs_referee *referee =
        help && help->referee ? help->referee(help->ctx, &limits) : NULL;
    struct cs_decision decision =
        cs_decide_judged(call->problem, call->required, policy, &limits, vendor, referee);
    decision.limit = limits.least > limits.workspace ? limits.least : limits.workspace;
    decision.raised = decision.raised && decision.scratch > decision.limit;
    decision.exemplary = is_exemplary(policy, &limits, &decision);
    return decision;
}

struct cs_decision cs_decide_by_rules(const struct cs_settings *settings,
                                      const struct cs_decide_call *call,
                                      const struct cs_vendor *vendor,
                                      const struct cs_decide_help *help)
{
    int number = rule_for(settings, call);
    const struct cs_rule *rule = number > 0 ? &settings->rules->rule[number - 1] : NULL;
    struct cs_decision decision = decide_under(settings, rule, call, vendor, help);
    decision.rule = number;
    return decision;
}

bool cs_decide_is_small(const struct cs_settings *settings, int64_t required)
{
    const struct cs_limits options = limits_for(settings, NULL, NULL, 0);
    if (options.huge > 0 || required > cs_decide_ignored(&options))
        return false;
    for (int i = 0; settings->rules && i < settings->rules->count; i++) {
        const struct cs_rule *rule = &settings->rules->rule[i];
        const struct cs_limits limits = limits_for(settings, rule, NULL, 0);
        if (!skips(rule) && required > cs_decide_ignored(&limits))
            return false;
    }
    return true;
}
