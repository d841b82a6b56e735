#include "decide/rule.h"

#include <stdarg.h>
#include <stdio.h>

struct text {
    char *to;
    size_t size;
    int length; /* needed, like snprintf's */
};

static void append(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(struct text *text, const char *format, ...)
{
    va_list arguments;
    size_t used = (size_t)text->length < text->size ? (size_t)text->length : text->size;
    va_start(arguments, format);
    text->length +=
        vsnprintf(used < text->size ? text->to + used : NULL, text->size - used, format, arguments);
    va_end(arguments);
}

static void append_word(struct text *text, enum cs_rule_key key, int place)
{
    int length;
    const char *word = cs_rule_word(key, place, &length);
    append(text, "%.*s", length, word);
}

/* Exact, so that it can be written into a rule. */
static void append_bytes(struct text *text, int64_t bytes)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    for (; unit < 4 && bytes > 0 && bytes % 1024 == 0; unit++)
        bytes /= 1024;
    append(text, "%lld%s", (long long)bytes, units[unit]);
}

static void append_number(struct text *text, int64_t number)
{
    append(text, "%lld", (long long)number);
}

/* As a rule has it, and below as a convolution has it. */
static void rule_WORDS(struct text *text, enum cs_rule_key key, const cs_rule_WORDS *words)
{
    const char *comma = "";
    for (int i = 0; i < 32; i++) {
        if (!(*words >> i & 1))
            continue;
        append(text, "%s", comma);
        append_word(text, key, i);
        comma = ", ";
    }
}

static void append_span(struct text *text, const struct cs_span *span,
                        void (*write)(struct text *text, int64_t value))
{
    if (span->least > 0 || span->most == 0 || span->most == INT64_MAX)
        write(text, span->least);
    if (span->least == span->most)
        return;
    append(text, "..");
    if (span->most < INT64_MAX)
        write(text, span->most);
}

static void rule_RANGE(struct text *text, enum cs_rule_key key, const cs_rule_RANGE *span)
{
    (void)key;
    append_span(text, span, append_number);
}

static void rule_BYTES(struct text *text, enum cs_rule_key key, const cs_rule_BYTES *span)
{
    (void)key;
    append_span(text, span, append_bytes);
}

static void rule_KERNEL(struct text *text, enum cs_rule_key key, const cs_rule_KERNEL *kernel)
{
    (void)key;
    if (kernel->any)
        append(text, "*");
    for (int i = 0; !kernel->any && i < CS_SPATIAL; i++) {
        append(text, "%s", i > 0 ? "x" : "");
        if (kernel->extent[i] > 0)
            append_number(text, kernel->extent[i]);
        else
            append(text, "*");
    }
}

static void rule_GLOB(struct text *text, enum cs_rule_key key, const cs_rule_GLOB *glob)
{
    (void)key;
    append(text, "%s", glob->text);
}

static void rule_SIZE(struct text *text, enum cs_rule_key key, const cs_rule_SIZE *bytes)
{
    (void)key;
    if (*bytes < 0)
        append(text, "auto");
    else
        append_bytes(text, *bytes);
}

static void rule_COUNT(struct text *text, enum cs_rule_key key, const cs_rule_COUNT *count)
{
    (void)key;
    if (*count < 0)
        append(text, "auto");
    else
        append_number(text, *count);
}

static void rule_SWITCH(struct text *text, enum cs_rule_key key, const cs_rule_SWITCH *on)
{
    append_word(text, key, *on ? 0 : 1);
}

static void rule_POLICY(struct text *text, enum cs_rule_key key, const cs_rule_POLICY *policy)
{
    (void)key;
    append(text, "%s", policy->text);
}

static void subject_WORDS(struct text *text, enum cs_rule_key key, const cs_subject_WORDS *place)
{
    append_word(text, key, *place);
}

static void subject_RANGE(struct text *text, enum cs_rule_key key, const cs_subject_RANGE *number)
{
    (void)key;
    if (*number < 0)
        append(text, "unknown");
    else
        append_number(text, *number);
}

static void subject_BYTES(struct text *text, enum cs_rule_key key, const cs_subject_BYTES *bytes)
{
    (void)key;
    append_bytes(text, *bytes);
}

static void subject_KERNEL(struct text *text, enum cs_rule_key key, const cs_subject_KERNEL *kernel)
{
    (void)key;
    for (int i = 0; i < CS_SPATIAL; i++)
        append(text, "%s%lld", i > 0 ? "x" : "", (long long)kernel->extent[i]);
}

static void subject_GLOB(struct text *text, enum cs_rule_key key, const cs_subject_GLOB *name)
{
    (void)key;
    append(text, "%s", *name);
}

static void append_rule_value(struct text *text, const struct cs_rule *rule, enum cs_rule_key key)
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

/* Of keys that match. */
static void append_subject_value(struct text *text, const struct cs_subject *subject,
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

static void append_miss(struct text *text, const struct cs_rule *rule,
                        const struct cs_subject *subject, enum cs_rule_key key)
{
    append(text, "rule %s: %s is ", rule->name, cs_rule_key_name(key));
    append_subject_value(text, subject, key);
    append(text, ", asked for ");
    append_rule_value(text, rule, key);
    append(text, "\n");
}

static void append_match(struct text *text, const struct cs_rule *rule,
                         const struct cs_subject *subject)
{
    const char *before = "; sets ";
    append(text, "rule %s: applies", rule->name);
    for (int i = 0; i < CS_RULE_KEYS; i++) {
        enum cs_rule_key key = (enum cs_rule_key)i;
        if (!cs_rule_has(rule, key))
            continue;
        bool sets = cs_rule_key_sets(key);
        append(text, "%s%s %s", sets ? before : ", ", cs_rule_key_name(key), sets ? "" : "is ");
        if (sets)
            append_rule_value(text, rule, key);
        else
            append_subject_value(text, subject, key);
        before = sets ? ", " : before;
    }
    append(text, "\n");
}

static struct text start(char *text, size_t size)
{
    if (size > 0)
        text[0] = '\0';
    return (struct text){.to = text, .size = size};
}

int cs_rules_explain(const struct cs_rules *rules, const struct cs_subject *subject, char *text,
                     size_t size)
{
    struct text out = start(text, size);
    for (int i = 0; i < rules->count; i++) {
        enum cs_rule_key key = cs_rule_miss(&rules->rule[i], subject);
        if (key == CS_RULE_KEYS) {
            append_match(&out, &rules->rule[i], subject);
            return out.length;
        }
        append_miss(&out, &rules->rule[i], subject, key);
    }
    append(&out, "no rule applies\n");
    return out.length;
}

int cs_rule_write(const struct cs_rule *rule, char *text, size_t size)
{
    struct text out = start(text, size);
    append(&out, "[rule %s]\n", rule->name);
    for (int i = 0; i < CS_RULE_KEYS; i++) {
        enum cs_rule_key key = (enum cs_rule_key)i;
        if (!cs_rule_has(rule, key))
            continue;
        append(&out, "%s = ", cs_rule_key_name(key));
        append_rule_value(&out, rule, key);
        append(&out, "\n");
    }
    return out.length;
}
