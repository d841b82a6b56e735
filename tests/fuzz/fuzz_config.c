/* Any bytes as an ini file or as CONVSHIM_CONFIG: every option stays within the bounds of
 * options.def, and every note is one line. */
#include "bytes.h"
#include "cli/common/rule_text.h"
#include "config/ini.h"
#include "convshim/policy.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void take_note(void *ctx, const char *line)
{
    int *notes = ctx;
    require(++*notes <= 17 && *line);
    for (; *line; line++)
        require(isprint((unsigned char)*line));
}

static bool is_policy(const char *name)
{
    for (size_t i = 0; cs_policy_names[i]; i++)
        if (strcmp(name, cs_policy_names[i]) == 0)
            return true;
    return false;
}

static void check_span(const struct cs_rule *rule, enum cs_rule_key key, const struct cs_span *span)
{
    require(!cs_rule_has(rule, key) || (span->least >= 0 && span->least <= span->most));
}

static void check_words(const struct cs_rule *rule, enum cs_rule_key key, uint32_t words)
{
    require(!cs_rule_has(rule, key) || (words > 0 && words < 8)); /* three words each */
}

/* A limit of scratch: auto, or within the bounds. */
static bool is_limit(int64_t bytes)
{
    return bytes == CS_CONFIG_AUTO || (bytes >= 1024 && bytes <= (int64_t)1 << 40);
}

/* A rule keeps to the bounds, sets something and has a unique name. */
static void check_rule(const struct cs_rules *rules, int index)
{
    const int64_t tib = (int64_t)1 << 40;
    const struct cs_rule *rule = &rules->rule[index];
    require(*rule->name && strlen(rule->name) < CS_RULE_NAME && cs_rule_sets(rule));
    for (int i = 0; i < index; i++)
        require(strcmp(rules->rule[i].name, rule->name) != 0);
    check_words(rule, CS_RULE_direction, rule->direction);
    check_words(rule, CS_RULE_dtype, rule->dtype);
    check_words(rule, CS_RULE_layout, rule->layout);
    check_span(rule, CS_RULE_n, &rule->n);
    check_span(rule, CS_RULE_required, &rule->required);
    check_span(rule, CS_RULE_engine, &rule->engine);
    require(!cs_rule_has(rule, CS_RULE_program) ||
            (*rule->program.text && strlen(rule->program.text) < CS_RULE_TEXT));
    require(!cs_rule_has(rule, CS_RULE_policy) || is_policy(rule->policy.text));
    require(!cs_rule_has(rule, CS_RULE_workspace) || is_limit(rule->workspace));
    require(!cs_rule_has(rule, CS_RULE_threshold) ||
            (rule->threshold >= CS_CONFIG_AUTO && rule->threshold <= tib));
    require(!cs_rule_has(rule, CS_RULE_tiles) || (rule->tiles >= 1 && rule->tiles <= 1024));
    require(!cs_rule_has(rule, CS_RULE_lanes) ||
            (rule->lanes >= CS_CONFIG_AUTO && rule->lanes != 0 && rule->lanes <= 8));
}

/* The explanation ends with the rule that applies, or with none, and is printable. */
static void check_explanation(const struct cs_rules *rules)
{
    static char text[CS_MAX_RULES * 512];
    const struct cs_subject subject = {.direction = 1,
                                       .kernel = {{1, 3, 3}},
                                       .n = 4,
                                       .c = 64,
                                       .required = 1 << 20,
                                       .engine = -1,
                                       .program = "fuzz",
                                       .script = "fuzz.py"};
    int match = cs_rule_match(rules, &subject);
    int lines = 0;
    FILE *out = fmemopen(text, sizeof text, "w");
    require(out != NULL);
    cs_explain_rules(rules, &subject, out);
    require(fclose(out) == 0 && strlen(text) < sizeof text - 1);
    for (const char *at = text; *at; at++) {
        require(*at == '\n' || (unsigned char)*at >= ' ');
        lines += *at == '\n';
    }
    require(lines == (match < 0 ? rules->count : match) + 1);
}

static void check(const struct cs_config *config)
{
    const int64_t kib = 1024, tib = kib * kib * kib * kib;
    require(is_policy(config->policy.text));
    require(config->rules.count >= 0 && config->rules.count <= CS_MAX_RULES);
    for (int i = 0; i < config->rules.count; i++)
        check_rule(&config->rules, i);
    check_explanation(&config->rules);
    require(is_limit(config->workspace));
    require(config->threshold >= CS_CONFIG_AUTO && config->threshold <= tib);
    require(config->price >= 0 && config->price <= 100000000);
    require(config->max_slowdown == 0 || (config->max_slowdown >= 1000 &&
                                          config->max_slowdown <= 1000 * 1000)); /* thousandths */
    require(config->untileable >= CS_UNTILEABLE_AUTO && config->untileable <= CS_UNTILEABLE_REFUSE);
    require(config->tiles >= 1 && config->tiles <= 1024);
    require(config->lanes >= CS_CONFIG_AUTO && config->lanes != 0 && config->lanes <= 8);
    require(config->backing >= CS_CONFIG_BACKING_AUTO && config->backing <= CS_CONFIG_BACKING_OWN);
    require(config->arena >= CS_CONFIG_AUTO && config->arena <= tib);
    require(memchr(config->log_file.text, '\0', sizeof config->log_file.text) != NULL);
    require(config->summary.form >= CS_SUMMARY_OFF && config->summary.form <= CS_SUMMARY_BOTH);
}

static void load_file(struct cs_load *load, const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("ini", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    require(cs_ini_file(load, path) == 0);
    close(fd);
}

static int write_rules(const struct cs_rules *rules, char *text, int size)
{
    text[0] = '\0';
    FILE *out = fmemopen(text, (size_t)size, "w");
    require(out != NULL);
    for (int i = 0; i < rules->count; i++)
        cs_explain_rule(&rules->rule[i], out);
    require(fclose(out) == 0);
    const int length = (int)strlen(text);
    require(length < size - 1);
    return length;
}

/* Written rules are read back unchanged. */
static void check_written(const struct cs_rules *rules)
{
    static struct cs_config config;
    static char text[CS_MAX_RULES * 1024], again[sizeof text];
    int notes = 0;
    struct cs_load load = {
        .config = &config, .policies = cs_policy_names, .note = take_note, .ctx = &notes};
    int length = write_rules(rules, text, sizeof text);
    cs_config_default(&config);
    load_file(&load, (const uint8_t *)text, (size_t)length);
    require(notes == 0 && config.rules.count == rules->count);
    require(write_rules(&config.rules, again, sizeof again) == length);
    require(memcmp(text, again, (size_t)length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cs_config config;
    int notes = 0;
    struct cs_load load = {
        .config = &config, .policies = cs_policy_names, .note = take_note, .ctx = &notes};
    cs_config_default(&config);
    load_file(&load, data, size);
    check(&config);
    check_written(&config.rules);
    char *items = malloc(size + 1);
    require(items != NULL);
    if (size > 0)
        memcpy(items, data, size);
    items[size] = '\0';
    notes = 0;
    cs_config_default(&config);
    cs_ini_items(&load, "CONVSHIM_CONFIG", items);
    check(&config);
    free(items);
    return 0;
}
