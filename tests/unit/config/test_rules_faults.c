/* Rules that cannot be understood, are too many or come from two places. */
#include "config_fixture.h"
#include "decide/rule.h"

/* Each fault: one note, the rule is dropped, and the rules around it stay. */
static void a_fault_drops_its_rule_whole(void)
{
    static const char *const faults[] = {
        "layuot = nchw",
        "backing = own",
        "direction = forward",
        "direction =",
        "dtype = f32, f64",
        "dtype = f32,",
        "dtype = f32,,f16",
        "dtype = f",
        "layout = ,",
        "kernel = 3x",
        "kernel = x3",
        "kernel = 0x3",
        "kernel = 1x1x1x1",
        "kernel = 3k",
        "n = ..",
        "n = 5..4",
        "n = 1...4",
        "n = 1..4..5",
        "n = 1.4",
        "n = -4",
        "n = 4k",
        "n = auto",
        "n = 4, 5",
        "n = 99999999999999999999",
        "required = auto",
        "required = 1MiB..1KiB",
        "program =",
        "program =;x",
        "program = caf\xc3\xa9",
        "policy = fastest",
        "workspace = 0",
        "threshold = -1",
        "tiles = 0",
        "lanes = 9",
        "skip = maybe",
        "skip = no",
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char text[512], want[256];
        snprintf(text, sizeof text,
                 "[rule first]\nskip = yes\n[rule bad]\nskip = yes\n%s\nlanes = 0\n"
                 "[rule last]\nlanes = 1\n",
                 faults[i]);
        load_text(text);
        CHECK_INT(note_count, 2);
        CHECK(note_is(1, "FILE/test.ini:6: rule bad: lanes: \"0\""));
        CHECK_INT(config.rules.count, 2);
        CHECK_STR(config.rules.rule[0].name, "first");
        CHECK_STR(config.rules.rule[1].name, "last");
        snprintf(want, sizeof want,
                 "FILE/test.ini:5: rule bad: %.*s: ", (int)strcspn(faults[i], " "), faults[i]);
        CHECK(note_is(0, want));
    }
}

/* Allowed values that are probably mistakes: one note, and the value counts. */
static void doubtful_values_are_noted(void)
{
    load_text("threshold = 64\narena = 4096\n[rule a]\nkernel = 3\nrequired = 256..\n"
              "skip = yes\n[rule b]\nkernel = 1x3\nrequired = 0..1MiB\nthreshold = 0\n");
    CHECK_INT(note_count, 3);
    CHECK(note_is(0, "FILE/test.ini:1: threshold: \"64\""));
    CHECK(note_is(1, "FILE/test.ini:4: rule a: kernel: \"3\""));
    CHECK(note_is(2, "FILE/test.ini:5: rule a: required: \"256..\""));
    CHECK_INT(config.threshold, 64);
    CHECK_INT(config.rules.count, 2);
    CHECK_INT(config.rules.rule[0].kernel.extent[2], 3);
}

/* Each fault gets its line; correct lines between them get none. */
static void every_fault_of_a_rule_is_named(void)
{
    load_text("[rule a]\nh = 10..2\nkernel = 3x\nn = 1\ncolour = red\nskip = yes\nn = 2\n"
              "[rule b]\nskip = yes\n");
    CHECK_INT(note_count, 4);
    CHECK(note_is(0, "FILE/test.ini:2: rule a: h: \"10..2\""));
    CHECK(note_is(1, "FILE/test.ini:3: rule a: kernel: \"3x\""));
    CHECK(note_is(2, "FILE/test.ini:5: rule a: colour: "));
    CHECK(note_is(3, "FILE/test.ini:7: rule a: n: "));
    CHECK_INT(config.rules.count, 1);
    CHECK_STR(config.rules.rule[0].name, "b");
}

/* A line that is not an option drops its rule; the line is not skipped silently. */
static void lines_that_cannot_be_read(void)
{
    static const char *const lines[] = {"n 5", "just words", "=", "= 5", "n \0= 5"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char text[256] = "[rule a]\nskip = yes\n";
        size_t length = strlen(text), bytes = i == 4 ? 6 : strlen(lines[i]);
        memcpy(text + length, lines[i], bytes);
        memcpy(text + length + bytes, "\n[rule b]\ntiles = 1\n", 20);
        load_bytes(text, length + bytes + 20);
        CHECK_INT(note_count, 1);
        CHECK(note_is(0, "FILE/test.ini:3: "));
        CHECK_INT(config.rules.count, 1);
        CHECK_STR(config.rules.rule[0].name, "b");
    }
    char line[600] = "[rule a]\nskip = yes\nprogram = ";
    memset(line + strlen(line), 'x', 400);
    load_text(line);
    CHECK_INT(note_count, 1);
    CHECK_INT(config.rules.count, 0);
    load_items("rule.a.skip=yes;rule.a.n;rule.b.n;rule.b.skip=yes;rule.c.skip=yes");
    CHECK_INT(note_count, 2);
    CHECK(note_is(0, "CONVSHIM_CONFIG:2: \"rule.a.n\""));
    CHECK_INT(config.rules.count, 1);
    CHECK_STR(config.rules.rule[0].name, "c");
}

/* A rule cut off at the end of the input is dropped, because the rest of it is unknown. */
static void cut_off_rule_is_dropped(void)
{
    static char text[(1 << 20) + 64] = "[rule a]\nskip = yes\n[rule b]\nskip = yes\n";
    memset(text + strlen(text), '\n', sizeof text - 64 - strlen(text));
    strcat(text, "n = 7\n");
    load_bytes(text, strlen(text));
    CHECK_INT(note_count, 1);
    CHECK_INT(config.rules.count, 1);
    CHECK_STR(config.rules.rule[0].name, "a");
}

static void rules_that_cannot_begin(void)
{
    load_text("[rule a]\nlanes = 1\n[rule a]\nskip = yes\n[rule b]\nskip = yes\n");
    CHECK_INT(note_count, 1);
    CHECK(note_is(0, "FILE/test.ini:3: rule a: "));
    CHECK_INT(config.rules.count, 2);
    CHECK(!cs_rule_has(&config.rules.rule[0], CS_RULE_skip));

    static const char *const names[] = {"rule",
                                        "rule ",
                                        "rule a b",
                                        "rule a.b",
                                        "rule a,b",
                                        "rule \xff",
                                        "rule twenty-four-letters-long"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "[%s]\nskip = yes\n[rule b]\nskip = yes\n", names[i]);
        load_text(text);
        CHECK_INT(note_count, 1);
        CHECK(note_is(0, "FILE/test.ini:1: rule \""));
        CHECK_INT(config.rules.count, 1);
    }

    load_text("[rule empty]\n\n[rule matches]\nn = 1\n[rule b]\nskip = no\n");
    CHECK_INT(note_count, 2);
    CHECK(note_is(0, "FILE/test.ini:1: rule empty: "));
    CHECK(note_is(1, "FILE/test.ini:3: rule matches: "));
    CHECK_INT(config.rules.count, 1);
}

static void there_are_64_at_most(void)
{
    char text[8192] = "";
    for (int i = 0; i < 70; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "[rule r%d]\nskip = yes\n", i);
    load_text(text);
    CHECK_INT(config.rules.count, CS_MAX_RULES);
    CHECK_STR(config.rules.rule[63].name, "r63");
    CHECK_INT(note_count, 1);
    CHECK(note_is(0, "FILE/test.ini:129: rule r64: "));
}

static void environment_overrides_the_file(void)
{
    clear_environment();
    const char file[] = "[rule a]\nlanes = 1\n[rule b]\nlanes = 2\n[rule c]\nlanes = 3\n";
    write_file("test.ini", file, strlen(file));
    setenv("CONVSHIM_CONFIGFILE", path_of("test.ini"), 1);
    setenv("CONVSHIM_CONFIG", "rule.z.n=4;rule.b.tiles=5;rule.z.skip=yes;rule.c.skip=maybe", 1);
    load();
    CHECK_INT(note_count, 1);
    CHECK(note_is(0, "CONVSHIM_CONFIG:4: rule c: skip: \"maybe\""));
    CHECK_INT(config.rules.count, 4);
    const struct cs_rule *rules = config.rules.rule;
    CHECK_STR(rules[0].name, "z");
    CHECK_INT(rules[0].given, 1 << CS_RULE_n | 1 << CS_RULE_skip);
    CHECK_STR(rules[1].name, "b");
    CHECK_INT(rules[1].given, 1 << CS_RULE_tiles);
    CHECK_STR(rules[2].name, "a");
    CHECK_STR(rules[3].name, "c");
    CHECK_INT(rules[3].lanes, 3);
    load_items("rule.skip=yes;rule..skip=yes;rule.a.b.skip=yes;rule.ok.skip=yes");
    CHECK_INT(note_count, 3);
    CHECK_INT(config.rules.count, 1);
}

static void long_names_of_sections(void)
{
    char text[400];
    for (int length = 25; length < 100; length++) {
        char name[101];
        memset(name, 'n', sizeof name);
        snprintf(text, sizeof text, "%.*s = 1\narena = 7M\n[%.*s]\n%.*s = 1\n", length, name,
                 length, name, length, name);
        load_text(text);
        CHECK_INT(note_count, 2);
        CHECK(note_is(0, "FILE/test.ini:1: nnn"));
        CHECK(note_is(1, "FILE/test.ini:3: [nnn"));
        CHECK_INT(config.arena, 7 << 20);
    }
}

int main(void)
{
    if (!make_folder())
        return 1;
    TEST(a_fault_drops_its_rule_whole);
    TEST(doubtful_values_are_noted);
    TEST(every_fault_of_a_rule_is_named);
    TEST(lines_that_cannot_be_read);
    TEST(cut_off_rule_is_dropped);
    TEST(rules_that_cannot_begin);
    TEST(there_are_64_at_most);
    TEST(long_names_of_sections);
    TEST(environment_overrides_the_file);
    return !remove_folder() || REPORT();
}
