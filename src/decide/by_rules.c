/* The limits of a decision, computed from options, rules and the provided workspace. */
#include "decide/by_rules.h"

#include "base/checked.h"
#include "decide/pass.h"

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

/* Memory of a convolution other than its scratch. */
struct held {
    double operands; /* bytes, without a filter that is only read */
    struct cs_peak_level level;
};

/* Scratch that does not raise the program's peak: the record of earlier convolutions minus the
 * memory that this one holds anyway. */
static double below_record(const struct held *held)
{
    return (double)held->level.record - (double)held->level.beside - held->operands;
}

/* The scratch bytes that do not raise the peak: the size in the rule, or else the bytes below the
 * record. */
static double room_of(const struct cs_rule *rule, const struct held *held)
{
    return rule && cs_rule_has(rule, CS_RULE_free) ? (double)rule->free : below_record(held);
}

static int64_t whole_bytes(double bytes)
{
    return bytes < 0x1p62 ? (int64_t)bytes : INT64_MAX / 2;
}

/* The scratch bytes that cost nothing. A workspace or a free size that the user wrote has priority.
 * Otherwise it is the largest of the bytes below the record, a part of the operands, and
 * CS_LEFT_ALONE. */
static int64_t free_bytes(const struct cs_limits *limits, const struct cs_rule *rule,
                          const struct held *held)
{
    double part = OPERAND_PART * held->operands, free = room_of(rule, held);
    if (limits->workspace >= 0)
        return limits->workspace;
    if (!rule || !cs_rule_has(rule, CS_RULE_free))
        free = cs_larger(cs_larger(free, part), CS_LEFT_ALONE);
    return limits->most > 0 && free > (double)limits->most ? limits->most : whole_bytes(free);
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

/* The settings of one decision. */
struct terms {
    const struct cs_rule *rule;
    const struct cs_policy *policy;
    struct cs_limits limits;
    double room; /* scratch that does not raise the peak, by the record or the rule */
};

/* Collects the settings of one decision. `level` NULL: without the program's record, and without
 * constants measured on a GPU. */
static struct terms terms_of(const struct cs_settings *settings, const struct cs_rule *rule,
                             const struct cs_decide_call *call, const struct cs_peak_level *level)
{
    const struct held held = {(double)cs_pass_operands(call->problem),
                              level ? *level : (struct cs_peak_level){0, 0}};
    struct terms terms = {.rule = rule,
                          .policy = policy_for(settings, rule),
                          .limits = limits_for(settings, rule, call->provided),
                          .room = room_of(rule, &held)};
    terms.limits.free = free_bytes(&terms.limits, rule, &held);
    terms.limits.builtin = !level;
    return terms;
}

/* True if even the untiled call cannot raise the peak. */
static bool is_below_peak(const struct terms *terms, int64_t required)
{
    const struct cs_limits *limits = &terms->limits;
    return limits->workspace < 0 && terms->policy->tiles(limits) == 0 &&
           required > cs_decide_ignored(limits) && (double)required <= terms->room;
}

/* Makes the decision of a call under its terms. A call that the rule skips, or that cannot raise
 * the peak, stays untiled. */
static struct cs_decision decide_by_terms(const struct terms *terms,
                                          const struct cs_decide_call *call,
                                          const struct cs_vendor *vendor)
{
    if (rule_skips(terms->rule))
        return cs_decide_leave(CS_REASON_RULE, call->required);
    struct cs_decision decision =
        is_below_peak(terms, call->required)
            ? cs_decide_leave(CS_REASON_BELOW_PEAK, call->required)
            : cs_decide(call->problem, call->required, terms->policy, &terms->limits, vendor);
    decision.free = terms->limits.free;
    return decision;
}

/* True if predictions use constants that were measured on this GPU. */
static bool is_measured(const struct cs_vendor *vendor)
{
    const struct cs_profile *profile = vendor->profile ? vendor->profile(vendor->ctx) : NULL;
    return profile && profile->ladder.known;
}

struct cs_decision cs_decide_by_rules(const struct cs_settings *settings,
                                      const struct cs_decide_call *call,
                                      const struct cs_vendor *vendor,
                                      const struct cs_peak_level *level)
{
    const int number = rule_for(settings, call);
    const struct cs_rule *rule = number > 0 ? &settings->rules->rule[number - 1] : NULL;
    const struct terms terms = terms_of(settings, rule, call, level);
    const struct terms without_record = terms_of(settings, rule, call, NULL);
    struct cs_decision decision = decide_by_terms(&terms, call, vendor);
    decision.recorded =
        (level && is_measured(vendor)) || terms.limits.free != without_record.limits.free ||
        is_below_peak(&terms, call->required) != is_below_peak(&without_record, call->required);
    if (decision.recorded && cs_decide_tiles(&decision)) {
        const struct cs_decision unrecorded = decide_by_terms(&without_record, call, vendor);
        if (unrecorded.reported >= decision.reported)
            decision = unrecorded;
    }
    if (level)
        decision.level = *level;
    decision.rule = number;
    return decision;
}

bool cs_decide_is_small(const struct cs_settings *settings, int64_t required)
{
    const struct cs_limits options = limits_for(settings, NULL, 0);
    if (options.huge > 0 || required > cs_decide_ignored(&options))
        return false;
    for (int i = 0; settings->rules && i < settings->rules->count; i++) {
        const struct cs_rule *rule = &settings->rules->rule[i];
        const struct cs_limits limits = limits_for(settings, rule, 0);
        if (!rule_skips(rule) && required > cs_decide_ignored(&limits))
            return false;
    }
    return true;
}
