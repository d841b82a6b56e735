/* Explains which rule matches a convolution, and which condition failed in the others. */
#include "cli/common/rule_text.h"

#include <inttypes.h>

static void put_word(enum cs_rule_key key, int place, FILE *out)
{
    int length;
    const char *word = cs_rule_word(key, place, &length);
    fprintf(out, "%.*s", length, word);
}

static void put_number(int64_t number, FILE *out)
{
    fprintf(out, "%" PRId64, number);
}

/* Writes bytes exactly, so that they can be used in a rule. */
static void put_bytes(int64_t bytes, FILE *out)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    for (; unit < 4 && bytes > 0 && bytes % 1024 == 0; unit++)
        bytes /= 1024;
    fprintf(out, "%" PRId64 "%s", bytes, units[unit]);
}

/* Writes a range: "3", "3..", "..7" or "3..7". */
static void put_span(const struct cs_span *span, void (*put)(int64_t value, FILE *out), FILE *out)
{
    if (span->least > 0 || span->most == 0 || span->most == INT64_MAX)
        put(span->least, out);
    if (span->least == span->most)
        return;
    fputs("..", out);
    if (span->most < INT64_MAX)
        put(span->most, out);
}

/* Writes a value, or "auto" if it is negative. */
static void put_automatic(int64_t value, void (*put)(int64_t value, FILE *out), FILE *out)
{
    if (value < 0)
        fputs("auto", out);
    else
        put(value, out);
}

/* The functions that write a value of each type in the form of a rule: put_rule_TYPE. */
#define RULE_VALUE(type)                                                                           \
    static void put_rule_##type(__attribute__((unused)) enum cs_rule_key key,                      \
                                const cs_rule_##type *value, FILE *out)

RULE_VALUE(WORDS)
{
    const char *comma = "";
    for (int i = 0; i < 32; i++) {
        if (!(*value >> i & 1))
            continue;
        fputs(comma, out);
        put_word(key, i, out);
        comma = ", ";
    }
}

RULE_VALUE(RANGE)
{
    put_span(value, put_number, out);
}

RULE_VALUE(BYTES)
{
    put_span(value, put_bytes, out);
}

/* Writes a kernel, without a depth of 1, as for two dimensions. */
RULE_VALUE(KERNEL)
{
    const int first = value->extent[0] == 1 ? 1 : 0;
    if (value->any)
        fputc('*', out);
    for (int i = first; !value->any && i < CS_SPATIAL; i++) {
        fputs(i > first ? "x" : "", out);
        if (value->extent[i] > 0)
            put_number(value->extent[i], out);
        else
            fputc('*', out);
    }
}

RULE_VALUE(GLOB)
{
    fputs(value->text, out);
}

RULE_VALUE(SIZE)
{
    put_automatic(*value, put_bytes, out);
}

RULE_VALUE(COUNT)
{
    put_automatic(*value, put_number, out);
}

RULE_VALUE(SWITCH)
{
    put_word(key, *value ? 0 : 1, out);
}

RULE_VALUE(POLICY)
{
    fputs(value->text, out);
}

static void put_rule_value(const struct cs_rule *rule, enum cs_rule_key key, FILE *out)
{
    switch (key) {
#define CS_RULE(name, type, allowed, help)                                                         \
    case CS_RULE_##name:                                                                           \
        put_rule_##type(key, &rule->name, out);                                                    \
        break;
#include "convshim/rules.def"
#undef CS_RULE
    case CS_RULE_KEYS:
        break;
    }
}

/* Names the settings of the rule that applies. */
static void put_match(const struct cs_rule *rule, FILE *out)
{
    const char *between = "; sets ";
    fprintf(out, "rule %s: applies", rule->name);
    for (enum cs_rule_key key = 0; key < CS_RULE_KEYS; key++) {
        if (!cs_rule_has(rule, key) || !cs_rule_key_sets(key))
            continue;
        fprintf(out, "%s%s ", between, cs_rule_key_name(key));
        put_rule_value(rule, key, out);
        between = ", ";
    }
    fputc('\n', out);
}

void cs_explain_rules(const struct cs_rules *rules, const struct cs_subject *subject, FILE *out)
{
    for (int i = 0; i < rules->count; i++) {
        const struct cs_rule *rule = &rules->rule[i];
        enum cs_rule_key key = cs_rule_miss(rule, subject);
        if (key == CS_RULE_KEYS) {
            put_match(rule, out);
            return;
        }
        fprintf(out, "rule %s: does not match: %s = ", rule->name, cs_rule_key_name(key));
        put_rule_value(rule, key, out);
        fputc('\n', out);
    }
    fputs("no rule applies\n", out);
}

void cs_explain_rule(const struct cs_rule *rule, FILE *out)
{
    fprintf(out, "[rule %s]\n", rule->name);
    for (enum cs_rule_key key = 0; key < CS_RULE_KEYS; key++) {
        if (!cs_rule_has(rule, key))
            continue;
        fprintf(out, "%s = ", cs_rule_key_name(key));
        put_rule_value(rule, key, out);
        fputc('\n', out);
    }
}
