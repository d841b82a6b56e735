/* Rules: other limits, another policy or no tiling for some convolutions. A rule has keys that
 * match and keys that set, the rows of rules.def. Of a list of rules only the first that matches
 * applies. Values of fixed size. All functions are pure and thread-safe. src/config parses rules.
 */
#ifndef CS_DECIDE_RULE_H
#define CS_DECIDE_RULE_H

#include "convshim/policy.h"
#include <stddef.h>

enum {
    CS_MAX_RULES = 64,
    CS_RULE_NAME = 24, /* bytes, NUL included */
    CS_RULE_TEXT = 64  /* bytes of a pattern, NUL included */
};

/* The C type of a rule's member for each type of rules.def. */
struct cs_span {
    int64_t least, most; /* both included */
};
typedef uint32_t cs_rule_WORDS; /* bit i: the word at place i */
typedef struct cs_span cs_rule_RANGE;
typedef struct cs_span cs_rule_BYTES;
typedef struct {
    bool any;
    int64_t extent[CS_SPATIAL]; /* D H W; 0: any */
} cs_rule_KERNEL;
typedef struct {
    char text[CS_RULE_TEXT];
} cs_rule_GLOB;
typedef int64_t cs_rule_SIZE;
typedef int64_t cs_rule_COUNT; /* both < 0: auto */
typedef bool cs_rule_SWITCH;
typedef struct {
    char text[32];
} cs_rule_POLICY;

enum cs_rule_key {
#define CS_RULE(name, type, allowed, help) CS_RULE_##name,
#include "convshim/rules.def"
#undef CS_RULE
    CS_RULE_KEYS
};

struct cs_rule {
    char name[CS_RULE_NAME];
    int line; /* the line or item where it begins, for notes; 0: it was not read from a text */
    uint32_t given; /* bit i: the rule has key i; other keys are undefined */
#define CS_RULE(name, type, allowed, help) cs_rule_##type name;
#include "convshim/rules.def"
#undef CS_RULE
};

struct cs_rules {
    int count;
    struct cs_rule rule[CS_MAX_RULES];
};

/* The indexes of layout's words. */
enum cs_layout {
    CS_LAYOUT_NCHW,
    CS_LAYOUT_NHWC,
    CS_LAYOUT_STRIDED
};

/* The values that rules are matched against: a convolution's value for every key. */
typedef int cs_subject_WORDS; /* the place of a word */
typedef int64_t cs_subject_RANGE;
typedef int64_t cs_subject_BYTES;
typedef struct {
    int64_t extent[CS_SPATIAL];
} cs_subject_KERNEL;
typedef const char *cs_subject_GLOB;

struct cs_subject {
#define CS_RULE_WHEN(name, type, allowed, help) cs_subject_##type name;
#define CS_RULE_SET(name, type, allowed, help)
#include "convshim/rules.def"
};

/* The values of a problem that rules are matched against. `engine` (< 0: unknown) and `required`
 * bytes are those of the application's plan. The program's file name is borrowed. The script is
 * empty. */
struct cs_subject cs_rule_subject_of(const struct cs_problem *problem, int64_t required,
                                     int64_t engine, const char *program);

/* The name of a key. */
const char *cs_rule_key_name(enum cs_rule_key key);

/* True for keys that set, false for keys that match. */
bool cs_rule_key_sets(enum cs_rule_key key);

/* Word `place` of a key of type WORDS. *length_p becomes its length, 0 after the last one. */
const char *cs_rule_word(enum cs_rule_key key, int place, int *length_p);

/* True if the rule has that key. */
bool cs_rule_has(const struct cs_rule *rule, enum cs_rule_key key);

/* True if the rule has a key that sets. */
bool cs_rule_sets(const struct cs_rule *rule);

/* True if `name` matches `pattern`: * matches any text, ? any character. */
bool cs_rule_glob_match(const char *pattern, const char *name);

/* The first key by which the rule does not match, or CS_RULE_KEYS if it matches. */
enum cs_rule_key cs_rule_miss(const struct cs_rule *rule, const struct cs_subject *subject);

/* The index of the first rule that matches, or -1. */
int cs_rule_match(const struct cs_rules *rules, const struct cs_subject *subject);

/* `limits` with the changes of a rule. `most`: the most bytes that a rule may allow. Policy and
 * skip are not limits. */
struct cs_limits cs_rule_limits(const struct cs_rule *rule, const struct cs_limits *limits,
                                int64_t most);

#endif
