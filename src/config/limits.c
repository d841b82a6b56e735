/* Turns options into the limits of a decision. */
#include "config/limits.h"

#include "base/checked.h"

enum {
    AUTO_WORKSPACE = 64 << 20 /* bytes for each convolution, for the size of an arena under auto */
};

static bool applies_to(const struct cs_rule *rule, const char *program, const char *script)
{
    return (!cs_rule_has(rule, CS_RULE_program) ||
            cs_rule_glob_match(rule->program.text, program)) &&
           (!cs_rule_has(rule, CS_RULE_script) || cs_rule_glob_match(rule->script.text, script));
}

void cs_limits_rules(const struct cs_config *config, const char *program, const char *script,
                     struct cs_rules *rules)
{
    rules->count = 0;
    for (int i = 0; i < config->rules.count; i++) {
        const struct cs_rule *rule = &config->rules.rule[i];
        if (applies_to(rule, program, script))
            rules->rule[rules->count++] = *rule;
    }
}

static int64_t as_number(int64_t workspace)
{
    return workspace == CS_CONFIG_AUTO ? AUTO_WORKSPACE : workspace;
}

int64_t cs_limits_workspace(const struct cs_config *config)
{
    return as_number(config->workspace);
}

/* The largest numeric limit of the options and the rules. */
static int64_t largest_workspace(const struct cs_config *config, const struct cs_rules *rules)
{
    int64_t most = cs_limits_workspace(config);
    for (int i = 0; i < rules->count; i++) {
        const struct cs_rule *rule = &rules->rule[i];
        if (cs_rule_has(rule, CS_RULE_workspace) && as_number(rule->workspace) > most)
            most = as_number(rule->workspace);
    }
    return most;
}

int64_t cs_limits_arena(const struct cs_config *config, const struct cs_rules *rules)
{
    int64_t limit = config->arena;
    if (limit == CS_CONFIG_AUTO && !cs_mul(largest_workspace(config, rules), 2, &limit))
        limit = INT64_MAX;
    return limit;
}

/* The most bytes of scratch that exist if scratch is the library's. 0: no limit. */
static int64_t own_scratch(const struct cs_config *config, const struct cs_rules *rules)
{
    int64_t arena = cs_limits_arena(config, rules);
    return config->backing == CS_CONFIG_BACKING_OWN && arena > 0 ? arena : 0;
}

/* Bytes that one convolution may use. */
static int64_t workspace_limit(const struct cs_config *config, const struct cs_rules *rules)
{
    int64_t own = own_scratch(config, rules), workspace = config->workspace;
    return own > 0 && own < workspace ? own : workspace;
}

struct cs_limits cs_limits_of(const struct cs_config *config, const struct cs_rules *rules)
{
    return (struct cs_limits){.workspace = workspace_limit(config, rules),
                              .max_slowdown = config->max_slowdown,
                              .most = own_scratch(config, rules),
                              .threshold = config->threshold,
                              .tiles = config->tiles,
                              .price = config->price,
                              .lanes = config->lanes == CS_CONFIG_AUTO ? 0 : (int)config->lanes,
                              .staging = (enum cs_staging)config->staged,
                              .lent = config->backing == CS_CONFIG_BACKING_OWN};
}
