/* Rules: meaning of their keys, which one applies, its effect, and the notes about it. */
#include "cli/common/rule_text.h"
#include "config_fixture.h"
#include "decide/rule.h"
#include "random_problem.h"
#include "sample_problem.h"

enum {
    ROUNDS = 20000
};

static const char every_key[] = "[rule all]\n"
                                "direction = fwd, wgrad\n"
                                "dtype = bf16\n"
                                "layout = nhwc, strided\n"
                                "kernel = 1x*x3\n"
                                "n = 2..\n"
                                "c = ..64\n"
                                "k = 128..512\n"
                                "d = 1\n"
                                "h = 0..9\n"
                                "w = 7 .. 8\n"
                                "groups = 1\n"
                                "required = 1MiB..2 GiB\n"
                                "engine = 0\n"
                                "program = py*n3.?\n"
                                "script = main*.py\n"
                                "policy = fixed\n"
                                "workspace = 16MiB\n"
                                "threshold = auto\n"
                                "tiles = 8\n"
                                "lanes = 2\n"
                                "skip = no\n";

static void check_span(const struct cs_span *span, int64_t least, int64_t most)
{
    CHECK_INT(span->least, least);
    CHECK_INT(span->most, most);
}

static void check_required(const char *text, int64_t least, int64_t most)
{
    char ini[128];
    snprintf(ini, sizeof ini, "[rule r]\nrequired = %s\nskip = yes\n", text);
    load_text(ini);
    CHECK_INT(note_count, 0);
    CHECK_INT(config.rules.count, 1);
    check_span(&config.rules.rule[0].required, least, most);
}

static void bounds_of_sizes_have_decimals(void)
{
    check_required("1.5GiB..2GiB", INT64_C(3) << 29, INT64_C(2) << 30);
    check_required("..0.5 MiB", 0, 512 << 10);
    check_required("1.25M ..", 1310720, INT64_MAX);
    check_required("2.5KiB", 2560, 2560);
    load_text("[rule r]\nrequired = 1.5..2MiB\nskip = yes\n");
    CHECK_INT(note_count, 1);
}

static void every_key_is_read(void)
{
    load_text(every_key);
    const struct cs_rule *rule = &config.rules.rule[0];
    CHECK_INT(note_count, 0);
    CHECK_INT(config.rules.count, 1);
    CHECK_STR(rule->name, "all");
    CHECK_INT(rule->given, (INT64_C(1) << CS_RULE_KEYS) - 1);
    CHECK_INT(rule->direction, 1 << CS_FORWARD | 1 << CS_BACKWARD_FILTER);
    CHECK_INT(rule->dtype, 1 << CS_BF16);
    CHECK_INT(rule->layout, 1 << CS_LAYOUT_NHWC | 1 << CS_LAYOUT_STRIDED);
    CHECK(!rule->kernel.any && rule->kernel.extent[0] == 1 && rule->kernel.extent[1] == 0 &&
          rule->kernel.extent[2] == 3);
    check_span(&rule->n, 2, INT64_MAX);
    check_span(&rule->c, 0, 64);
    check_span(&rule->k, 128, 512);
    check_span(&rule->d, 1, 1);
    check_span(&rule->h, 0, 9);
    check_span(&rule->w, 7, 8);
    check_span(&rule->groups, 1, 1);
    check_span(&rule->required, 1 << 20, INT64_C(2) << 30);
    check_span(&rule->engine, 0, 0);
    CHECK_STR(rule->program.text, "py*n3.?");
    CHECK_STR(rule->script.text, "main*.py");
    CHECK_STR(rule->policy.text, "fixed");
    CHECK_INT(rule->workspace, 16 << 20);
    CHECK_INT(rule->threshold, CS_CONFIG_AUTO);
    CHECK_INT(rule->tiles, 8);
    CHECK_INT(rule->lanes, 2);
    CHECK(!rule->skip);
}

static void globs(void)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } rows[] = {
        {"python3", "python3", true},
        {"python3", "python", false},
        {"python", "python3", false},
        {"py*", "python3", true},
        {"*3", "python3", true},
        {"*", "", true},
        {"*", "x", true},
        {"**", "x", true},
        {"?", "", false},
        {"?", "x", true},
        {"py*n?", "python3", true},
        {"py*n?", "pythonnnn", true},
        {"*a*b*a", "xaxbxaxa", true},
        {"*a*b*a", "xaxbx", false},
        {"", "", true},
        {"", "x", false},
        {"a*a*a*a*b", "aaaaaaaa", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CHECK_INT(cs_rule_glob_match(rows[i].pattern, rows[i].name), rows[i].matches);
}

/* By its meaning: a * is nothing, or one character and a * again. */
static bool matches_by_meaning(const char *pattern, const char *name)
{
    if (*pattern == '*')
        return matches_by_meaning(pattern + 1, name) ||
               (*name && matches_by_meaning(pattern, name + 1));
    if (!*pattern || !*name)
        return *pattern == *name;
    return (*pattern == '?' || *pattern == *name) && matches_by_meaning(pattern + 1, name + 1);
}

/* Text number `number` of those of up to `most` letters. */
static void text_of(int number, const char *letters, char *text)
{
    int base = (int)strlen(letters);
    for (; number > 0; number = (number - 1) / base)
        *text++ = letters[(number - 1) % base];
    *text = '\0';
}

static void globs_of_up_to_six_letters(void)
{
    enum {
        PATTERNS = 4 + 16 + 64 + 256 + 1024 + 4096,
        NAMES = 2 + 4 + 8 + 16 + 32 + 64
    };
    char pattern[8], name[8];
    int wrong = 0;
    for (int i = 0; i <= PATTERNS; i++)
        for (int j = 0; j <= NAMES; j++) {
            text_of(i, "ab*?", pattern);
            text_of(j, "ab", name);
            wrong += cs_rule_glob_match(pattern, name) != matches_by_meaning(pattern, name);
        }
    CHECK_INT(wrong, 0);
}

/* 2x4x64x12 f16 nchw to 8 channels, 3x3, forward. */
static struct cs_subject subject(void)
{
    static struct cs_problem problem;
    problem = rows(CS_FORWARD, 1);
    return cs_rule_subject_of(&problem, 5 << 20, 7, "python3");
}

static bool applies(const char *line)
{
    char text[256];
    struct cs_subject asked = subject();
    snprintf(text, sizeof text, "[rule r]\nskip = yes\n%s\n", line);
    load_text(text);
    CHECK_INT(note_count, 0);
    CHECK_INT(config.rules.count, 1);
    return cs_rule_match(&config.rules, &asked) == 0;
}

static void each_key_by_itself(void)
{
    static const char *const yes[] = {"",
                                      "direction = fwd",
                                      "direction = wgrad, fwd",
                                      "dtype = f16",
                                      "layout = nchw",
                                      "layout = strided,nchw",
                                      "kernel = 3x3",
                                      "kernel = 1x3x3",
                                      "kernel = *",
                                      "kernel = *x3",
                                      "kernel = *x3x*",
                                      "n = 2",
                                      "n = ..2",
                                      "n = 2..",
                                      "c = 4",
                                      "k = 8",
                                      "d = 1",
                                      "h = 64",
                                      "w = 12",
                                      "groups = 1",
                                      "engine = 7",
                                      "required = 5MiB",
                                      "required = 4MiB..6MiB",
                                      "program = python*"};
    static const char *const no[] = {"direction = dgrad",
                                     "dtype = f32, bf16",
                                     "layout = nhwc, strided",
                                     "kernel = 1x3",
                                     "kernel = 1x1",
                                     "kernel = 3x3x3",
                                     "kernel = *x1",
                                     "n = 1",
                                     "n = ..1",
                                     "n = 3..",
                                     "c = 8",
                                     "k = 4",
                                     "d = 2..",
                                     "h = 12",
                                     "w = 64",
                                     "groups = 2..",
                                     "engine = 0..6",
                                     "required = ..4MiB",
                                     "program = python"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        CHECK(applies(yes[i]) || !printf("# %s\n", yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        CHECK(!applies(no[i]) || !printf("# %s\n", no[i]));
    /* Where the engine is not known, no engine is meant. */
    struct cs_subject unknown = subject();
    unknown.engine = -1;
    CHECK(applies("engine = 0.."));
    CHECK_INT(cs_rule_match(&config.rules, &unknown), -1);
}

static void layouts_of_any_dimensions(void)
{
    struct rng rng = {7};
    static const enum cs_layout want[] = {CS_LAYOUT_NCHW, CS_LAYOUT_NHWC};
    for (int spatial = 1; spatial <= 3; spatial++) {
        for (int layout = CHANNELS_FIRST; layout <= CHANNELS_LAST; layout++) {
            struct cs_problem problem = rows(CS_FORWARD, 1);
            problem.spatial = spatial;
            for (int i = 0; i < CS_OPERANDS; i++) {
                const int64_t dims[] = {2, 4, spatial > 2 ? 3 : 1, spatial > 1 ? 5 : 1, 6};
                memcpy(problem.tensor[i].dims, dims, sizeof dims);
                random_strides(&rng, (enum random_layout)layout, spatial, &problem.tensor[i]);
            }
            CHECK_INT(cs_rule_subject_of(&problem, 0, 0, "").layout, want[layout]);
        }
    }
}

static void limits_as_a_rule_changes_them(void)
{
    const struct cs_limits base = {.workspace = 64 << 20, .threshold = -1, .tiles = 4, .lanes = 3};
    load_text("[rule a]\nworkspace = 1MiB\n[rule b]\nthreshold = 0\ntiles = 9\nlanes = auto\n"
              "[rule c]\npolicy = off\n");
    struct cs_limits a = cs_rule_limits(&config.rules.rule[0], &base, INT64_MAX);
    CHECK_INT(a.workspace, 1 << 20);
    CHECK_INT(a.threshold, -1);
    CHECK_INT(a.tiles, 4);
    CHECK_INT(a.lanes, 3);
    CHECK_INT(cs_rule_limits(&config.rules.rule[0], &base, 4096).workspace, 4096);
    struct cs_limits b = cs_rule_limits(&config.rules.rule[1], &base, 4096);
    CHECK_INT(b.workspace, 64 << 20);
    CHECK_INT(b.threshold, 0);
    CHECK_INT(b.tiles, 9);
    CHECK_INT(b.lanes, 0);
    struct cs_limits c = cs_rule_limits(&config.rules.rule[2], &base, 4096);
    CHECK_INT(c.workspace, base.workspace);
    CHECK_INT(c.threshold, base.threshold);
    CHECK_INT(c.tiles, base.tiles);
    CHECK_INT(c.lanes, base.lanes);
}

static const char *explain(void)
{
    static char text[4096];
    struct cs_subject asked = subject();
    FILE *out = fmemopen(text, sizeof text, "w");
    cs_explain_rules(&config.rules, &asked, out);
    CHECK(fclose(out) == 0);
    return text;
}

static void why_a_rule_applies(void)
{
    load_text("");
    CHECK_STR(explain(), "no rule applies\n");
    load_text("[rule a]\ndirection = dgrad, wgrad\nskip = yes\n"
              "[rule b]\nkernel = 1x*\nskip = yes\n[rule c]\nn = 3..\nskip = yes\n"
              "[rule d]\nrequired = ..1048577\nskip = yes\n[rule e]\nprogram = a*\nskip = yes\n"
              "[rule f]\nengine = 0\nskip = yes\n");
    CHECK_STR(explain(), "rule a: does not match: direction = dgrad, wgrad\n"
                         "rule b: does not match: kernel = 1x*\n"
                         "rule c: does not match: n = 3..\n"
                         "rule d: does not match: required = ..1048577\n"
                         "rule e: does not match: program = a*\n"
                         "rule f: does not match: engine = 0\n"
                         "no rule applies\n");
    load_text("[rule a]\nn = 2\nkernel = *\nrequired = 1k..\nprogram = py*\nskip = yes\n");
    CHECK_STR(explain(), "rule a: applies; sets skip yes\n");
    load_text("[rule a]\nn = 1\nskip = no\n[rule b]\npolicy = fixed\nworkspace = 1536KiB\n"
              "threshold = auto\ntiles = 3\nlanes = auto\nskip = no\n[rule c]\nskip = yes\n");
    CHECK_STR(explain(),
              "rule a: does not match: n = 1\n"
              "rule b: applies; sets policy fixed, workspace 1536KiB, threshold auto, tiles "
              "3, lanes auto, skip no\n");
}

/* --- by property --- */

static void random_range(char *text, size_t size, const char *key, int64_t value)
{
    int64_t a = value - random_below(3), b = value + random_below(3);
    switch (random_below(4)) {
    case 0:
        snprintf(text, size, "%s = %lld\n", key, (long long)(random_below(2) ? value : b));
        break;
    case 1:
        snprintf(text, size, "%s = %lld..\n", key, (long long)(a > 0 && random_below(4) ? a : b));
        break;
    case 2:
        snprintf(text, size, "%s = ..%lld\n", key, (long long)(a > 0 ? a : 0));
        break;
    default:
        snprintf(text, size, "%s = %lld..%lld\n", key, (long long)(a > 0 ? a : 0), (long long)b);
    }
}

/* Rules of a few keys around one subject: each matches or not by itself. */
static int random_rules(const struct cs_subject *around, char *text, size_t size)
{
    int count = 1 + (int)random_below(8);
    size_t length = 0;
    for (int i = 0; i < count; i++) {
        char n[64] = "", h[64] = "";
        random_range(n, sizeof n, "n", around->n);
        random_range(h, sizeof h, "h", around->h);
        length += (size_t)snprintf(text + length, size - length, "[rule r%d]\ntiles = %d\n%s%s%s",
                                   i, i + 1, random_below(2) ? n : "", random_below(2) ? h : "",
                                   random_below(2) ? "" : "direction = dgrad, fwd\n");
    }
    return count;
}

static void first_matching_rule_applies(void)
{
    struct rng rng = {11};
    int matched = 0, later = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char text[4096];
        struct cs_problem problem = random_small(&rng);
        struct cs_subject asked = cs_rule_subject_of(&problem, rng_magnitude(&rng, 30), 1, "p");
        asked.n = 1 + (int64_t)random_below(5);
        static struct cs_rules rules;
        int count = random_rules(&asked, text, sizeof text);
        if (round % 20 == 0) { /* files are slow */
            load_text(text);
            CHECK_INT(note_count, 0);
            CHECK_INT(config.rules.count, count);
            rules = config.rules;
        }
        int found = cs_rule_match(&rules, &asked), want = -1;
        for (int i = rules.count - 1; i >= 0; i--) {
            struct cs_rules alone = {.count = 1, .rule = {rules.rule[i]}};
            if (cs_rule_match(&alone, &asked) == 0)
                want = i;
        }
        CHECK_INT(found, want);
        matched += found >= 0;
        later += found > 0;
    }
    CHECK(matched > ROUNDS / 4 && later > ROUNDS / 20 && matched < ROUNDS);
}

/* The first rule as text. */
static void write_rule(char *text, size_t size)
{
    FILE *out = fmemopen(text, size, "w");
    cs_explain_rule(&config.rules.rule[0], out);
    CHECK(fclose(out) == 0);
}

/* Written and read again, a rule is the same. */
static void rules_survive_writing_and_reading(void)
{
    static char text[4096], again[4096];
    load_text(every_key);
    write_rule(text, sizeof text);
    load_text(text);
    CHECK_INT(note_count, 0);
    CHECK_INT(config.rules.count, 1);
    write_rule(again, sizeof again);
    CHECK_STR(again, text);
    CHECK_STR(text, "[rule all]\ndirection = fwd, wgrad\ndtype = bf16\nlayout = nhwc, strided\n"
                    "kernel = *x3\nn = 2..\nc = ..64\nk = 128..512\nd = 1\nh = ..9\nw = 7..8\n"
                    "groups = 1\nrequired = 1MiB..2GiB\nengine = 0\nprogram = py*n3.?\n"
                    "script = main*.py\n"
                    "policy = fixed\nworkspace = 16MiB\nthreshold = auto\ntiles = "
                    "8\nlanes = 2\n"
                    "skip = no\n");
    load_text("[rule r]\nskip = yes\nn = 0..\nrequired = 0..0\n");
    write_rule(text, sizeof text);
    CHECK_STR(text, "[rule r]\nn = 0..\nrequired = 0\nskip = yes\n");
}

/* The requested shape in an explanation is written as a rule could contain it. */
static void explanation_can_be_read_back_as_a_rule(void)
{
    static const char *const lines[] = {"direction = dgrad, wgrad",
                                        "dtype = bf16",
                                        "layout = nhwc, strided",
                                        "kernel = 5x*x1",
                                        "n = 77..99",
                                        "c = ..3",
                                        "h = 1000..",
                                        "required = 3KiB..5KiB",
                                        "required = 0",
                                        "program = *x?"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char again[256], first[256];
        CHECK(!applies(lines[i]));
        snprintf(first, sizeof first, "%s", explain());
        static const char before[] = "does not match: ";
        const char *said = strstr(first, before);
        CHECK(said != NULL);
        if (!said)
            continue;
        said += strlen(before);
        snprintf(again, sizeof again, "%.*s", (int)strcspn(said, "\n"), said);
        CHECK(!applies(again));
        CHECK_STR(explain(), first);
    }
}

/* All that is printed but the semicolon, which begins a comment where the rule is written down. */
static void patterns_of_any_printable_letter(void)
{
    for (int letter = 1; letter < 256; letter++) {
        bool taken = letter >= ' ' && letter <= '~' && letter != ';';
        char ini[64];
        if (letter == '\n' || letter == '\r') /* another line */
            continue;
        snprintf(ini, sizeof ini, "[rule r]\nskip = yes\nprogram = a%cb\n", letter);
        load_text(ini);
        CHECK_INT(config.rules.count, taken);
        if (taken && config.rules.count == 1)
            CHECK(config.rules.rule[0].program.text[1] == letter);
    }
}

int main(void)
{
    if (!make_folder())
        return 1;
    TEST(every_key_is_read);
    TEST(bounds_of_sizes_have_decimals);
    TEST(globs);
    TEST(globs_of_up_to_six_letters);
    TEST(patterns_of_any_printable_letter);
    TEST(each_key_by_itself);
    TEST(layouts_of_any_dimensions);
    TEST(limits_as_a_rule_changes_them);
    TEST(why_a_rule_applies);
    TEST(first_matching_rule_applies);
    TEST(rules_survive_writing_and_reading);
    TEST(explanation_can_be_read_back_as_a_rule);
    return !remove_folder() || REPORT();
}
