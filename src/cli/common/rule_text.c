/* Explains which rule matches a convolution, and which condition failed in the others. */
#include "cli/common/rule_text.h"

#include "base/text.h"

static void append_word(struct cs_text *text, enum cs_rule_key key, int place)
{
    int length;
    const char *word = cs_rule_word(key, place, &length);
    cs_text_put(text, "%.*s", length, word);
}

/* Exact, so that it can be used in a rule. */
static void append_bytes(struct cs_text *text, int64_t bytes)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    for (; unit < 4 && bytes > 0 && bytes % 1024 == 0; unit++)
        bytes /= 1024;
    cs_text_put(text, "%lld%s", (long long)bytes, units[unit]);
}

static void append_number(struct cs_text *text, int64_t number)
{
    cs_text_put(text, "%lld", (long long)number);
}

/* "3", "3..", "..7" or "3..7". */
static void append_span(struct cs_text *text, const struct cs_span *span,
                        void (*write)(struct cs_text *text, int64_t value))
{
    if (span->least > 0 || span->most == 0 || span->most == INT64_MAX)
        write(text, span->least);
    if (span->least == span->most)
        return;
    cs_text_put(text, "..");
    if (span->most < INT64_MAX)
        write(text, span->most);
}

/* A value of each type, in the form of a rule, and below in that of a convolution. */
#define RULE_VALUE(type)                                                                           \
    static void rule_##type(struct cs_text *text, __attribute__((unused)) enum cs_rule_key key,    \
                            const cs_rule_##type *value)
#define SUBJECT_VALUE(type)                                                                        \
    static void subject_##type(struct cs_text *text, __attribute__((unused)) enum cs_rule_key key, \
                               const cs_subject_##type *value)

RULE_VALUE(WORDS)
{
    const char *comma = "";
    for (int i = 0; i < 32; i++) {
        if (!(*value >> i & 1))
            continue;
        cs_text_put(text, "%s", comma);
        append_word(text, key, i);
        comma = ", ";
    }
}

RULE_VALUE(RANGE)
{
    append_span(text, value, append_number);
}

RULE_VALUE(BYTES)
{
    append_span(text, value, append_bytes);
}

/* Without the 1 of a depth, as for two dimensions. */
RULE_VALUE(KERNEL)
{
    const int first = value->extent[0] == 1 ? 1 : 0;
    if (value->any)
        cs_text_put(text, "*");
    for (int i = first; !value->any && i < CS_SPATIAL; i++) {
        cs_text_put(text, "%s", i > first ? "x" : "");
        if (value->extent[i] > 0)
            append_number(text, value->extent[i]);
        else
            cs_text_put(text, "*");
    }
}

RULE_VALUE(GLOB)
{
    cs_text_put(text, "%s", value->text);
}

RULE_VALUE(SIZE)
{
    if (*value < 0)
        cs_text_put(text, "auto");
    else
        append_bytes(text, *value);
}

RULE_VALUE(COUNT)
{
    if (*value < 0)
        cs_text_put(text, "auto");
    else
        append_number(text, *value);
}

RULE_VALUE(SWITCH)
{
    append_word(text, key, *value ? 0 : 1);
}

RULE_VALUE(POLICY)
{
    cs_text_put(text, "%s", value->text);
}

SUBJECT_VALUE(WORDS)
{
    append_word(text, key, *value);
}

SUBJECT_VALUE(RANGE)
{
    if (*value < 0)
        cs_text_put(text, "unknown");
    else
        append_number(text, *value);
}

SUBJECT_VALUE(BYTES)
{
    append_bytes(text, *value);
}

SUBJECT_VALUE(KERNEL)
{
    for (int i = 0; i < CS_SPATIAL; i++)
        cs_text_put(text, "%s%lld", i > 0 ? "x" : "", (long long)value->extent[i]);
}

SUBJECT_VALUE(GLOB)
{
    cs_text_put(text, "%s", *value);
}

static void append_rule_value(struct cs_text *text, const struct cs_rule *rule,
                              enum cs_rule_key key)
{
    switch (key) {
#define CS_RULE(name, type, allowed, help)                                                         \
    case CS_RULE_##name:                                                                           \
        rule_##type(text, key, &rule->name);                                                       \
        break;
#include "convshim/rules.def"
#undef CS_RULE
    case CS_RULE_KEYS:
        break;
    }
}

/* The keys that match. */
static void append_subject_value(struct cs_text *text, const struct cs_subject *subject,
                                 enum cs_rule_key key)
{
    switch (key) {
#define CS_RULE_WHEN(name, type, allowed, help)                                                    \
    case CS_RULE_##name:                                                                           \
        subject_##type(text, key, &subject->name);                                                 \
        break;
#define CS_RULE_SET(name, type, allowed, help) case CS_RULE_##name:
#include "convshim/rules.def"
    case CS_RULE_KEYS:
        break;
    }
}

static void append_miss(struct cs_text *text, const struct cs_rule *rule,
                        const struct cs_subject *subject, enum cs_rule_key key)
{
    cs_text_put(text, "rule %s: %s is ", rule->name, cs_rule_key_name(key));
    append_subject_value(text, subject, key);
    cs_text_put(text, ", the rule requires ");
    append_rule_value(text, rule, key);
    cs_text_put(text, "\n");
}

static void append_match(struct cs_text *text, const struct cs_rule *rule,
                         const struct cs_subject *subject)
{
    const char *before = "; sets ";
    cs_text_put(text, "rule %s: applies", rule->name);
    for (int i = 0; i < CS_RULE_KEYS; i++) {
        enum cs_rule_key key = (enum cs_rule_key)i;
        if (!cs_rule_has(rule, key))
            continue;
        bool sets = cs_rule_key_sets(key);
        cs_text_put(text, "%s%s %s", sets ? before : ", ", cs_rule_key_name(key),
                    sets ? "" : "is ");
        if (sets)
            append_rule_value(text, rule, key);
        else
            append_subject_value(text, subject, key);
        before = sets ? ", " : before;
    }
    cs_text_put(text, "\n");
}

static struct cs_text begin_text(char *text, size_t size)
{
    if (size > 0)
        text[0] = '\0';
    return (struct cs_text){.at = text, .size = size};
}

int cs_explain_rules(const struct cs_rules *rules, const struct cs_subject *subject, char *text,
                     size_t size)
{
    struct cs_text out = begin_text(text, size);
    for (int i = 0; i < rules->count; i++) {
        enum cs_rule_key key = cs_rule_miss(&rules->rule[i], subject);
        if (key == CS_RULE_KEYS) {
            append_match(&out, &rules->rule[i], subject);
            return out.length;
        }
        append_miss(&out, &rules->rule[i], subject, key);
    }
    cs_text_put(&out, "no rule applies\n");
    return out.length;
}

int cs_explain_rule(const struct cs_rule *rule, char *text, size_t size)
{
    struct cs_text out = begin_text(text, size);
    cs_text_put(&out, "[rule %s]\n", rule->name);
    for (int i = 0; i < CS_RULE_KEYS; i++) {
        enum cs_rule_key key = (enum cs_rule_key)i;
        if (!cs_rule_has(rule, key))
            continue;
        cs_text_put(&out, "%s = ", cs_rule_key_name(key));
        append_rule_value(&out, rule, key);
        cs_text_put(&out, "\n");
    }
    return out.length;
}
