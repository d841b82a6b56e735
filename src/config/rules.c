/* Parses sections of rules: keys that match, and keys that set. A rule with a fault is dropped as a
 * whole. */
#include "config/ini.h"

#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(cs_rule_POLICY) == sizeof(cs_option_POLICY),
               "a rule stores values as options do");
_Static_assert(sizeof(cs_rule_SIZE) == sizeof(cs_option_SIZE),
               "a rule stores values as options do");
_Static_assert(sizeof(cs_rule_COUNT) == sizeof(cs_option_COUNT),
               "a rule stores values as options do");

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Copies the next item of *rest, up to `mark` or the end, without surrounding blanks. False if it
 * is empty or does not fit. */
static bool next_item(const char **rest, char mark, char *item, size_t size)
{
    const char *start = *rest, *end = strchr(start, mark);
    if (!end)
        end = start + strlen(start);
    *rest = *end ? end + 1 : end;
    while (is_blank(*start))
        start++;
    while (end > start && is_blank(end[-1]))
        end--;
    size_t length = (size_t)(end - start);
    if (length == 0 || length >= size)
        return false;
    memcpy(item, start, length);
    item[length] = '\0';
    return true;
}

/* The index of a word among the key's allowed words, or -1. */
static int place_of(enum cs_rule_key key, const char *text)
{
    for (int place = 0;; place++) {
        int length;
        const char *word = cs_rule_word(key, place, &length);
        if (length == 0)
            return -1;
        if (strlen(text) == (size_t)length && strncmp(word, text, (size_t)length) == 0)
            return place;
    }
}

/* Parses a list of words and stores a bit for each. A comma at the end means a missing word. */
static bool parse_WORDS(enum cs_rule_key key, const char *text, void *out)
{
    cs_rule_WORDS words = 0;
    size_t length = strlen(text);
    if (length == 0 || text[length - 1] == ',')
        return false;
    while (*text) {
        char item[16];
        int place = next_item(&text, ',', item, sizeof item) ? place_of(key, item) : -1;
        if (place < 0)
            return false;
        words |= (cs_rule_WORDS)1 << place;
    }
    *(cs_rule_WORDS *)out = words;
    return true;
}

static bool parse_number(const char *text, int64_t *number_p)
{
    /* Digits only: cs_config_size would accept a unit. */
    return text[strspn(text, "0123456789")] == '\0' && cs_config_size(text, number_p);
}

static bool parse_size(const char *text, int64_t *bytes_p)
{
    return *text >= '0' && *text <= '9' && cs_config_size(text, bytes_p);
}

static bool parse_SIZE(enum cs_rule_key key, const char *text, void *out)
{
    const int64_t most = (int64_t)1 << 40;
    int64_t bytes;
    (void)key;
    if (!parse_size(text, &bytes) || bytes > most)
        return false;
    *(cs_rule_SIZE *)out = bytes;
    return true;
}

/* Parses "A..B", "A..", "..B" or "A". A missing bound is the least or largest value. At least one
 * must be present. */
static bool parse_span(const char *text, struct cs_span *span,
                       bool (*parse)(const char *text, int64_t *value_p))
{
    char first[64], least[32], most[32];
    const char *dots = strstr(text, ".."), *rest = text, *behind = dots ? dots + 2 : NULL;
    *span = (struct cs_span){0, INT64_MAX};
    if (!dots) {
        bool one = next_item(&rest, '\0', least, sizeof least) && parse(least, &span->least);
        span->most = span->least;
        return one;
    }
    if (snprintf(first, sizeof first, "%.*s", (int)(dots - text), text) >= (int)sizeof first)
        return false;
    rest = first;
    if (*first && (!next_item(&rest, '\0', least, sizeof least) || !parse(least, &span->least)))
        return false;
    if (*behind && (!next_item(&behind, '\0', most, sizeof most) || !parse(most, &span->most)))
        return false;
    return strlen(text) > 2 && span->least <= span->most;
}

static bool parse_RANGE(enum cs_rule_key key, const char *text, void *out)
{
    (void)key;
    struct cs_span span;
    if (!parse_span(text, &span, parse_number))
        return false;
    *(cs_rule_RANGE *)out = span;
    return true;
}

static bool parse_BYTES(enum cs_rule_key key, const char *text, void *out)
{
    (void)key;
    struct cs_span span;
    if (!parse_span(text, &span, parse_size))
        return false;
    *(cs_rule_BYTES *)out = span;
    return true;
}

static bool parse_extent(const char *text, int64_t *extent_p)
{
    if (strcmp(text, "*") == 0) {
        *extent_p = 0;
        return true;
    }
    return parse_number(text, extent_p) && *extent_p > 0;
}

/* Parses the extents of a filter, "3x3" or "1x3x3", each a number or *. One * stands for any
 * filter. */
static bool parse_KERNEL(enum cs_rule_key key, const char *text, void *out)
{
    (void)key;
    cs_rule_KERNEL kernel = {.any = strcmp(text, "*") == 0, .extent = {1, 1, 1}};
    int64_t extent[CS_SPATIAL];
    int count = 0;
    if (!*text || text[strlen(text) - 1] == 'x')
        return false;
    for (const char *rest = text; *rest; count++) {
        char item[24];
        if (count == CS_SPATIAL || !next_item(&rest, 'x', item, sizeof item) ||
            !parse_extent(item, &extent[count]))
            return false;
    }
    memcpy(kernel.extent + CS_SPATIAL - count, extent, (size_t)count * sizeof extent[0]);
    *(cs_rule_KERNEL *)out = kernel;
    return true;
}

/* Stores a pattern. False if it has other characters than printable ASCII, or a semicolon. */
static bool parse_GLOB(enum cs_rule_key key, const char *text, void *out)
{
    (void)key;
    cs_rule_GLOB *glob = out;
    size_t length = strlen(text);
    /* A semicolon would begin a comment in an ini file. */
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~' || text[i] == ';')
            return false;
    if (length == 0 || length >= sizeof glob->text)
        return false;
    snprintf(glob->text, sizeof glob->text, "%s", text);
    return true;
}

static bool parse_SWITCH(enum cs_rule_key key, const char *text, void *out)
{
    int place = place_of(key, text);
    if (place >= 0)
        *(cs_rule_SWITCH *)out = place == 0;
    return place >= 0;
}

typedef bool parse_fn(enum cs_rule_key key, const char *text, void *out);

/* Parsed as the option of its name. */
#define parse_POLICY NULL
#define parse_COUNT NULL

static const struct {
    const char *allowed;
    parse_fn *parse;
    size_t offset; /* offset of the value in struct cs_rule */
} keys[CS_RULE_KEYS] = {
#define CS_RULE(name, type, allowed, help) {allowed, parse_##type, offsetof(struct cs_rule, name)},
#include "convshim/rules.def"
#undef CS_RULE
};

/* All names, with ", " before each. */
static const char names[] =
#define CS_RULE(name, type, allowed, help) ", " #name
#include "convshim/rules.def"
#undef CS_RULE
    ;
static const char settings[] =
#define CS_RULE_WHEN(name, type, allowed, help)
#define CS_RULE_SET(name, type, allowed, help) ", " #name
#include "convshim/rules.def"
    ;

static enum cs_rule_key key_of(const char *name)
{
    int key = 0;
    while (key < CS_RULE_KEYS && strcmp(cs_rule_key_name((enum cs_rule_key)key), name) != 0)
        key++;
    return (enum cs_rule_key)key;
}

/* The option of which a key has the name and the allowed values, or NULL. */
static const struct cs_option *option_of(enum cs_rule_key key)
{
    return *keys[key].allowed ? NULL : &cs_options[cs_option_find(cs_rule_key_name(key))];
}

static bool parse_value(const struct cs_load *load, enum cs_rule_key key, const char *text,
                        struct cs_rule *rule)
{
    void *out = (char *)rule + keys[key].offset;
    const struct cs_option *option = option_of(key);
    return option ? option->parse(option, text, load->policies, out)
                  : keys[key].parse(key, text, out);
}

static const char *allowed_of(const struct cs_load *load, enum cs_rule_key key,
                              char text[CS_OPTION_TEXT])
{
    const struct cs_option *option = option_of(key);
    return option ? cs_option_allowed(option, load->policies, text) : keys[key].allowed;
}

void cs_rules_begin(struct cs_load *load)
{
    load->first_rule = load->config->rules.count;
    load->rules_full = false;
}

static bool is_name(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    return *text && text[strspn(text, letters)] == '\0' && strlen(text) < CS_RULE_NAME;
}

/* The rule of that name in the source being read, or -1. */
static int find_rule(const struct cs_load *load, const char *name)
{
    const struct cs_rules *rules = &load->config->rules;
    for (int i = load->first_rule; i < rules->count; i++)
        if (strcmp(rules->rule[i].name, name) == 0)
            return i;
    return -1;
}

/* Appends a new rule and returns its index. -1 with a note if there are too many. */
static int add_rule(struct cs_load *load, const char *name)
{
    struct cs_rules *rules = &load->config->rules;
    if (rules->count == CS_MAX_RULES) {
        if (!load->rules_full)
            cs_diagnostics_note(
                load,
                "rule %s: too many rules, this one and all later ones are ignored; allowed: %d",
                name, CS_MAX_RULES);
        load->rules_full = true;
        return -1;
    }
    struct cs_rule *rule = &rules->rule[rules->count];
    memset(rule, 0, sizeof *rule);
    snprintf(rule->name, sizeof rule->name, "%s", name);
    rule->line = load->line;
    load->rule_faulty[rules->count] = false;
    return rules->count++;
}

/* True if a rule may have the name. Makes a note if not. */
static bool name_allowed(struct cs_load *load, const char *name)
{
    char shown[CS_SHOWN_BYTES];
    if (is_name(name))
        return true;
    cs_diagnostics_note(load,
                        "rule \"%s\": not a valid name, the rule is ignored; allowed: up to %d "
                        "letters, digits, - and _",
                        cs_diagnostics_show(shown, name), CS_RULE_NAME - 1);
    return false;
}

int cs_rules_open(struct cs_load *load, const char *name)
{
    char trimmed[CS_CONFIG_NAME];
    if (!next_item(&name, '\0', trimmed, sizeof trimmed))
        snprintf(trimmed, sizeof trimmed, "%s", name);
    if (!name_allowed(load, trimmed))
        return -1;
    int earlier = find_rule(load, trimmed);
    if (earlier < 0)
        return add_rule(load, trimmed);
    cs_diagnostics_note(
        load, "rule %s: the name is used in %s %d, this rule is ignored; allowed: another name",
        trimmed, cs_diagnostics_line_word(load), load->config->rules.rule[earlier].line);
    return -1;
}

void cs_rules_set(struct cs_load *load, int index, const char *name, const char *value)
{
    char shown[CS_SHOWN_BYTES], allowed[CS_OPTION_TEXT];
    struct cs_rule *rule = &load->config->rules.rule[index];
    enum cs_rule_key key = key_of(name);
    bool faulty = load->rule_faulty[index];
    load->rule_faulty[index] = true;
    if (*name == '\0')
        cs_diagnostics_note(
            load, "rule %s: a value without a name, the rule is dropped; allowed: NAME = VALUE",
            rule->name);
    else if (key == CS_RULE_KEYS)
        cs_diagnostics_note(load, "rule %s: %s: no such key, the rule is dropped; allowed: %s",
                            rule->name, cs_diagnostics_show(shown, name), names + 2);
    else if (!parse_value(load, key, value, rule))
        cs_diagnostics_note(
            load, "rule %s: %s: \"%s\" is not allowed, the rule is dropped; allowed: %s%s",
            rule->name, name, cs_diagnostics_show(shown, value), allowed_of(load, key, allowed),
            cs_diagnostics_comma(load, value));
    else if (cs_rule_has(rule, key))
        cs_diagnostics_note(load, "rule %s: %s: set twice, the rule is dropped; allowed: once",
                            rule->name, name);
    else {
        const char *doubt = cs_diagnostics_doubt(allowed_of(load, key, allowed), value);
        if (doubt)
            cs_diagnostics_note(load, "rule %s: %s: \"%s\": %s", rule->name, name, value, doubt);
        rule->given |= UINT32_C(1) << key;
        load->rule_faulty[index] = faulty;
    }
}

static const char prefix[] = "rule.";

bool cs_rules_spoil(struct cs_load *load, int rule, const char *text)
{
    char name[CS_RULE_NAME];
    if (rule < 0 && strncmp(text, prefix, strlen(prefix)) == 0) {
        text += strlen(prefix);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ". "), text);
        rule = find_rule(load, name);
        if (rule < 0 && is_name(name))
            rule = add_rule(load, name);
    }
    if (rule >= 0)
        load->rule_faulty[rule] = true;
    return rule >= 0;
}

bool cs_rules_take(struct cs_load *load, const char *text, const char *value)
{
    char name[2 * CS_CONFIG_NAME];
    const char *key = strrchr(text, '.');
    if (strncmp(text, prefix, strlen(prefix)) != 0)
        return false;
    const char *start = text + strlen(prefix);
    int length = key > start ? (int)(key - start) : 0;
    snprintf(name, sizeof name, "%.*s", length, start);
    if (!name_allowed(load, name))
        return true;
    int rule = find_rule(load, name);
    if (rule < 0)
        rule = add_rule(load, name);
    if (rule >= 0)
        cs_rules_set(load, rule, key + 1, value);
    return true;
}

static void remove_at(struct cs_rules *rules, int index)
{
    rules->count--;
    memmove(&rules->rule[index], &rules->rule[index + 1],
            (size_t)(rules->count - index) * sizeof rules->rule[0]);
}

/* Drops rules with a fault. The fault was noted when it was found. */
static void drop_faulty(struct cs_load *load)
{
    struct cs_rules *rules = &load->config->rules;
    int kept = load->first_rule;
    for (int i = load->first_rule; i < rules->count; i++) {
        if (load->rule_faulty[i])
            continue;
        if (!cs_rule_sets(&rules->rule[i])) {
            load->line = rules->rule[i].line;
            cs_diagnostics_note(load,
                                "rule %s: it sets nothing, the rule is dropped; allowed: one of %s",
                                rules->rule[i].name, settings + 2);
            continue;
        }
        rules->rule[kept++] = rules->rule[i];
    }
    rules->count = kept;
}

/* Moves the rules from `first` on to the beginning, in their order. */
static void move_to_front(struct cs_rules *rules, int first)
{
    for (int from = first, to = 0; from < rules->count; from++, to++) {
        struct cs_rule rule = rules->rule[from];
        memmove(&rules->rule[to + 1], &rules->rule[to], (size_t)(from - to) * sizeof rule);
        rules->rule[to] = rule;
    }
}

/* True if one of the first `count` rules has the name. */
static bool has_name(const struct cs_rules *rules, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(rules->rule[i].name, name) == 0)
            return true;
    return false;
}

void cs_rules_end(struct cs_load *load)
{
    struct cs_rules *rules = &load->config->rules;
    drop_faulty(load);
    int own = rules->count - load->first_rule; /* rules of this source */
    move_to_front(rules, load->first_rule);
    for (int i = rules->count - 1; i >= own; i--)
        if (has_name(rules, own, rules->rule[i].name))
            remove_at(rules, i);
}
