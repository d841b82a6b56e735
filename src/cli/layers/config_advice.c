/* Finds options and rules that cannot have their apparent effect. `convshim config --check` and
 * `convshim predict` report them. */
#include "cli/layers/config_advice.h"

#include "config/option.h"
#include "convshim/policy.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    LINE = 2 * CS_CONFIG_TEXT
};

struct advice {
    const struct cs_config *config;
    cs_config_note_fn *note;
    void *ctx;
};

static void print_advice(const struct advice *advice, const char *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void print_advice(const struct advice *advice, const char *place, const char *format, ...)
{
    char line[LINE];
    int used = snprintf(line, sizeof line, "%s: ", place);
    va_list list;
    va_start(list, format);
    vsnprintf(line + used, sizeof line - (size_t)used, format, list);
    va_end(list);
    advice->note(advice->ctx, line);
}

static bool is_set(const struct advice *advice, int option)
{
    char value[CS_CONFIG_TEXT];
    cs_option_text(advice->config, option, value, sizeof value);
    return strcmp(value, cs_options[option].value) != 0;
}

static const char *policy_of(const struct cs_config *config, const struct cs_rule *rule)
{
    return cs_rule_has(rule, CS_RULE_policy) ? rule->policy.text : config->policy.text;
}

/* True if the option policy or a rule's policy uses a fixed number of tiles (`counts`), or computes
 * the number (!counts). */
static bool has_policy(const struct cs_config *config, bool counts)
{
    bool has = cs_policy_uses_tiles(config->policy.text) == counts;
    for (int i = 0; !has && i < config->rules.count; i++)
        has = cs_policy_uses_tiles(policy_of(config, &config->rules.rule[i])) == counts;
    return has;
}

/* Reports options that are set, but unused because of another option. */
static void advise_options(const struct advice *advice)
{
    const struct cs_config *config = advice->config;
    char counts[CS_CONFIG_NAME + 16], computes[CS_CONFIG_NAME + 32];
    snprintf(counts, sizeof counts, "policy = %s", cs_policy_with_tiles());
    snprintf(computes, sizeof computes, "a policy other than %s", cs_policy_with_tiles());
    const struct {
        int option;
        bool is_used;
        const char *with;
    } rows[] = {
        {CS_OPTION_tiles, has_policy(config, true), counts},
        {CS_OPTION_price, has_policy(config, false), computes},
        {CS_OPTION_max_slowdown, has_policy(config, false), computes},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char place[CS_CONFIG_TEXT + 32];
        if (rows[i].is_used || !is_set(advice, rows[i].option))
            continue;
        cs_option_origin_text(config, rows[i].option, place, sizeof place);
        print_advice(advice, place, "%s has no effect, because it is used only with %s",
                     cs_options[rows[i].option].name, rows[i].with);
    }
}

/* Reports quotes around a path and a leading ~, which have no special meaning. */
static void advise_path(const struct advice *advice, int option, const char *path)
{
    char place[CS_CONFIG_TEXT + 32];
    size_t length = strlen(path);
    bool quoted = length > 1 && (*path == '"' || *path == '\'') && path[length - 1] == *path;
    cs_option_origin_text(advice->config, option, place, sizeof place);
    if (quoted)
        print_advice(advice, place, "%s: the quotes become part of the path. Remove them.",
                     cs_options[option].name);
    else if (*path == '~')
        print_advice(advice, place,
                     "%s: ~ is not expanded and becomes part of the path. Write the whole path.",
                     cs_options[option].name);
}

/* True if no key of the rule selects convolutions, so it applies to all of them. */
static bool is_for_all(const struct cs_rule *rule)
{
    for (int key = 0; key < CS_RULE_KEYS; key++)
        if (!cs_rule_key_sets((enum cs_rule_key)key) && cs_rule_has(rule, (enum cs_rule_key)key))
            return false;
    return true;
}

static bool sets_more_than_skip(const struct cs_rule *rule)
{
    for (int key = 0; key < CS_RULE_KEYS; key++)
        if (key != CS_RULE_skip && cs_rule_key_sets((enum cs_rule_key)key) &&
            cs_rule_has(rule, (enum cs_rule_key)key))
            return true;
    return false;
}

/* Reports settings of a rule that have no effect, and a rule that hides all later ones. */
static void advise_rule(const struct advice *advice, int index)
{
    const struct cs_config *config = advice->config;
    const struct cs_rule *rule = &config->rules.rule[index];
    bool skips = cs_rule_has(rule, CS_RULE_skip) && rule->skip;
    int later_rules = config->rules.count - index - 1;
    char place[CS_CONFIG_TEXT + 16];
    snprintf(place, sizeof place, "%s:%d", config->source, rule->line);
    if (later_rules > 0 && is_for_all(rule))
        print_advice(
            advice, place,
            "rule %s: it matches every convolution, so the rules from %s on have no effect. Move "
            "it to the end.",
            rule->name, rule[1].name);
    if (skips && sets_more_than_skip(rule))
        print_advice(advice, place,
                     "rule %s: its other settings have no effect, because of skip = yes",
                     rule->name);
    else if (cs_rule_has(rule, CS_RULE_tiles) && !cs_policy_uses_tiles(policy_of(config, rule)))
        print_advice(advice, place,
                     "rule %s: tiles has no effect, because it is used only with policy = %s",
                     rule->name, cs_policy_with_tiles());
}

void cs_config_advise(const struct cs_config *config, cs_config_note_fn *note, void *ctx)
{
    const struct advice advice = {config, note, ctx};
    advise_options(&advice);
    advise_path(&advice, CS_OPTION_log_file, config->log_file.text);
    advise_path(&advice, CS_OPTION_summary, config->summary.path);
    for (int i = 0; i < config->rules.count; i++)
        advise_rule(&advice, i);
}
