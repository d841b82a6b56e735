/* Matches a convolution against a rule, and applies the keys that the rule sets. */
#include "decide/rule.h"

#include <string.h>

static const struct {
    const char *name, *allowed;
    bool sets;
} keys[CS_RULE_KEYS] = {
#define CS_RULE_WHEN(name, type, allowed, help) {#name, allowed, false},
#define CS_RULE_SET(name, type, allowed, help) {#name, allowed, true},
#include "convshim/rules.def"
};

_Static_assert(CS_RULE_KEYS <= 32, "cs_rule.given has no bit for every key");

const char *cs_rule_key_name(enum cs_rule_key key)
{
    return keys[key].name;
}

const char *cs_rule_word(enum cs_rule_key key, int place, int *length_p)
{
    const char *word = keys[key].allowed;
    int length = 0;
    for (;; place--) {
        for (length = 0; word[length] && word[length] != ','; length++)
            continue;
        if (place == 0 || length == 0)
            break;
        word += length;
        while (*word == ',' || *word == ' ')
            word++;
    }
    *length_p = length;
    return word;
}

bool cs_rule_has(const struct cs_rule *rule, enum cs_rule_key key)
{
    return rule->given >> key & 1;
}

bool cs_rule_key_sets(enum cs_rule_key key)
{
    return keys[key].sets;
}

bool cs_rule_sets(const struct cs_rule *rule)
{
    for (int i = 0; i < CS_RULE_KEYS; i++)
        if (keys[i].sets && cs_rule_has(rule, (enum cs_rule_key)i))
            return true;
    return false;
}

/* If the rest does not match, the last * takes one more character. */
bool cs_rule_glob_match(const char *pattern, const char *name)
{
    const char *star = NULL, *taken = name;
    while (*name) {
        if (*pattern == '*') {
            star = ++pattern;
            taken = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star;
            name = ++taken;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static bool match_WORDS(const cs_rule_WORDS *rule, const cs_subject_WORDS *subject)
{
    return *rule >> *subject & 1;
}

static bool match_RANGE(const struct cs_span *rule, const int64_t *subject)
{
    return *subject >= rule->least && *subject <= rule->most;
}

static bool match_BYTES(const cs_rule_BYTES *rule, const cs_subject_BYTES *subject)
{
    return match_RANGE(rule, subject);
}

static bool match_KERNEL(const cs_rule_KERNEL *rule, const cs_subject_KERNEL *subject)
{
    for (int i = 0; !rule->any && i < CS_SPATIAL; i++)
        if (rule->extent[i] != 0 && rule->extent[i] != subject->extent[i])
            return false;
    return true;
}

static bool match_GLOB(const cs_rule_GLOB *rule, const cs_subject_GLOB *subject)
{
    return cs_rule_glob_match(rule->text, *subject);
}

enum cs_rule_key cs_rule_miss(const struct cs_rule *rule, const struct cs_subject *subject)
{
#define CS_RULE_WHEN(name, type, allowed, help)                                                    \
    if (cs_rule_has(rule, CS_RULE_##name) && !match_##type(&rule->name, &subject->name))           \
        return CS_RULE_##name;
#define CS_RULE_SET(name, type, allowed, help)
#include "convshim/rules.def"
    return CS_RULE_KEYS;
}

int cs_rule_match(const struct cs_rules *rules, const struct cs_subject *subject)
{
    for (int i = 0; i < rules->count; i++)
        if (cs_rule_miss(&rules->rule[i], subject) == CS_RULE_KEYS)
            return i;
    return -1;
}

/* The layout by its usual name: n...c is channels last, nc... channels first. */
static enum cs_layout layout_of(const struct cs_problem *problem)
{
    const char *name = cs_problem_layout(problem);
    if (name[0] != 'n')
        return CS_LAYOUT_STRIDED;
    return name[1] == 'c' ? CS_LAYOUT_NCHW : CS_LAYOUT_NHWC;
}

struct cs_subject cs_rule_subject_of(const struct cs_problem *problem, int64_t required,
                                     int64_t engine, const char *program)
{
    const struct cs_tensor *x = &problem->tensor[CS_X];
    struct cs_subject subject = {
        .direction = (int)problem->direction,
        .dtype = (int)x->dtype,
        .layout = (int)layout_of(problem),
        .n = x->dims[CS_N],
        .c = x->dims[CS_C],
        .k = problem->tensor[CS_Y].dims[CS_C],
        .d = x->dims[CS_D],
        .h = x->dims[CS_H],
        .w = x->dims[CS_W],
        .groups = problem->groups,
        .required = required,
        .engine = engine,
        .program = program,
        .script = "",
    };
    memcpy(subject.kernel.extent, problem->tensor[CS_FILTER].dims + CS_D,
           sizeof subject.kernel.extent);
    return subject;
}

struct cs_limits cs_rule_limits(const struct cs_rule *rule, const struct cs_limits *limits,
                                int64_t most)
{
    struct cs_limits changed = *limits;
    if (cs_rule_has(rule, CS_RULE_workspace))
        changed.workspace = rule->workspace < most ? rule->workspace : most;
    if (cs_rule_has(rule, CS_RULE_threshold))
        changed.threshold = rule->threshold;
    if (cs_rule_has(rule, CS_RULE_tiles))
        changed.tiles = rule->tiles;
    if (cs_rule_has(rule, CS_RULE_lanes))
        changed.lanes = rule->lanes > 0 ? (int)rule->lanes : 0;
    return changed;
}
