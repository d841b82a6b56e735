/* src/config: syntax of options, allowed values, and the notes about other input. */
#include "base/text.h"
#include "config_fixture.h"
#include "descriptors.h"
#include "golden_file.h"

static char root[PATH_MAX]; /* of the sources */

static void defaults_are_those_of_the_list(void)
{
    memset(&config, 0x55, sizeof config);
    cs_config_default(&config);
    CHECK(config.enabled);
    CHECK_STR(config.source, "");
    check_defaults();
}

static void sizes_as_written(void)
{
    static const struct {
        const char *text;
        int64_t bytes; /* -2: refused */
    } rows[] = {
        {"0", 0},
        {"4096", 4096},
        {"4096B", 4096},
        {"1023b", 1023},
        {"64MiB", 64 << 20},
        {"64mib", 64 << 20},
        {"64M", 64 << 20},
        {"64 MB", 64000000},
        {"7GB", INT64_C(7000000000)},
        {"1.5kb", 1500},
        {"1g", 1 << 30},
        {"512KiB", 512 << 10},
        {"2t", INT64_C(2) << 40},
        {"8388607T", INT64_C(8388607) << 40},
        {"9223372036854775807", INT64_MAX},
        {"007k", 7168},
        {"auto", CS_CONFIG_AUTO},
        {"Auto", CS_CONFIG_AUTO},
        {"9223372036854775808", -2},
        {"8388608T", -2},
        {"99999999999999999999", -2},
        {"", -2},
        {" 1", -2},
        {"-1", -2},
        {"+1", -2},
        {"1.5G", 1610612736},
        {"0.001k", 1},
        {"2.125 MiB", 2228224},
        {"0.999T", 1098412116148},
        {"8388607.999T", 9223372035755264180},
        {"1.5", -2}, /* of a byte */
        {"1.0", 1},
        {"1.5B", -2},
        {"1.G", -2},
        {".5G", -2},
        {"1.2345G", -2},
        {"1.5.5G", -2},
        {"1,5G", -2},
        {"0x10", -2},
        {"64 parsecs", -2},
        {"64 M iB", -2},
        {"64iB", -2},
        {"64MiBi", -2},
        {"64MM", -2},
        {"64E", -2},
        {"MiB", -2},
        {"64MiB ", -2},
        {"automatic", -2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t bytes = 42;
        bool taken = cs_config_size(rows[i].text, &bytes);
        if (taken != (rows[i].bytes != -2) || bytes != (taken ? rows[i].bytes : 42))
            printf("# size \"%s\" gives %lld\n", rows[i].text, (long long)bytes);
        CHECK(taken == (rows[i].bytes != -2));
        CHECK_INT(bytes, taken ? rows[i].bytes : 42);
    }
}

static void sizes_survive_writing_and_reading(void)
{
    static const char *const units[] = {"", "k", "m", "g", "t"};
    static const char *const ends[] = {"", "B", "iB", "ib", "b"};
    for (int i = 0; i < 50000; i++) {
        unsigned unit = random_below(5), end = random_below(unit ? 5 : 1);
        int64_t number = (int64_t)(random_state >> (random_below(62) + 2)), bytes = -7;
        char text[64];
        snprintf(text, sizeof text, "%lld%s%s%s", (long long)number, random_below(2) ? " " : "",
                 units[unit], ends[end]);
        int64_t each = 1;
        for (unsigned j = 0; j < unit; j++)
            each *= ends[end][0] && !ends[end][1] ? 1000 : 1024; /* MB and MiB */
        bool fits = number <= INT64_MAX / each;
        CHECK(cs_config_size(text, &bytes) == fits);
        CHECK_INT(bytes, fits ? number * each : -7);
    }
}

static void options_are_read(void)
{
    load_text("# comment\n"
              "; comment\n"
              "\n"
              "workspace = 128 MiB\n"
              "threshold:1g\n"
              "policy=fixed ; inline comment\n"
              "  tiles\t=  16  \n"
              "\tlog = debug\n"
              "log_file = a b;c#%p.log\n"
              "summary = off");
    CHECK_INT(note_count, 0);
    CHECK_INT(config.workspace, 128 << 20);
    CHECK_INT(config.threshold, 1 << 30);
    CHECK_STR(config.policy.text, "fixed");
    CHECK_INT(config.tiles, 16);
    CHECK_INT(config.log, CS_LOG_DEBUG);
    CHECK_STR(config.log_file.text, "a b;c#%p.log");
    CHECK_INT(config.summary.form, CS_SUMMARY_OFF);
    CHECK_STR(config.source, path_of("test.ini"));
}

static void indented_line_is_a_separate_option(void)
{
    load_text("workspace = 1MiB\n    tiles = 7\n\t policy = off\n   oops\n");
    CHECK_INT(config.workspace, 1 << 20);
    CHECK_INT(config.tiles, 7);
    CHECK_STR(config.policy.text, "off");
    CHECK_INT(note_count, 1);
    CHECK(note_is(0, "FILE/test.ini:4: \"oops\""));
}

/* The least and the largest number of an option's text are allowed, and none beyond them. */
static void bounds_are_those_of_the_text(void)
{
    int bounded = 0;
    for (int i = 0; i < CS_OPTIONS; i++) {
        const char *to = strstr(cs_options[i].allowed, " to "), *from = to;
        if (!to)
            continue;
        while (from > cs_options[i].allowed && from[-1] != ' ')
            from--;
        char text[64];
        int64_t least, most;
        snprintf(text, sizeof text, "%.*s", (int)(to - from), from);
        CHECK(cs_config_size(text, &least) && cs_option_set(&config, i, text, policies));
        CHECK(cs_config_size(to + 4, &most) && cs_option_set(&config, i, to + 4, policies));
        snprintf(text, sizeof text, "%lld", (long long)least - 1);
        CHECK(!cs_option_set(&config, i, text, policies));
        snprintf(text, sizeof text, "%lld", (long long)most + 1);
        CHECK(!cs_option_set(&config, i, text, policies));
        bounded++;
    }
    CHECK(bounded > 5);
}

/* Each alone in a file and in CONVSHIM_CONFIG. The words of all notes are in
 * tests/golden/mistakes.txt; no other test repeats them. */
static const char *const mistakes[] = {
    "workspace=0",
    "workspace=-1",
    "workspace=99999999999999999999",
    "workspace=64 parsecs",
    "workspace=",
    "workspace=64MiB # mine",
    "threshold=-1",
    "tiles=4.5",
    "policy=best",
    "log=loud",
    "summary=json:",
    "workspace=\x1b[31mred\x07",
    "tiles=1111111111222222222233333333334444444444555555555566666666667777",
    "lanes=0",
    "lanes=off",
    "backing=ow",
    "backing=auto, client",
    "arena=off",
    "wrkspace=1M",
    "Log-File=x",
    "=3",
    "general.lanes=2",
    "workspace",
    "arna=5M",
    "general.tiles=5",
    "[general]",
    "[]",
    "[Interleaf]",
    "[rule x",
    "[arena]",
    "[Rule X]",
    "[rules e]",
    "[Rule]",
    "[rule a]\tskip = yes",
    "[general] x",
};

/* Each in a file, of which the number of mistakes is known. */
static const struct {
    int count;
    const char *text;
} files[] = {
    {1, "tiles = 3, lanes = 2\n"},
    {1, "tiles = 2\ntiles = 3\n"},
    {3, "threshold = 64\narena = 4096\n[rule a]\nkernel = 3\nrequired = 256..\nskip = yes\n"},
    {1, "[rule a]\nlayuot = nchw\nskip = yes\n"},
    {1, "[rule a]\nbacking = own\nskip = yes\n"},
    {1, "[rule a]\ndirection = forward\nskip = yes\n"},
    {1, "[rule a]\nworkspace = 0\nskip = yes\n"},
    {1, "[rule a]\nprogram = caf\xc3\xa9\nskip = yes\n"},
    {1, "[rule a]\nskip = yes\nskip = no\n"},
    {2, "[rule a]\nskip = yes\njust words\n= 5\n"},
    {1, "[rule a]\nskip = yes\n[rule a]\nlanes = 1\n"},
    {1, "[rule twenty-four-letters-long]\nskip = yes\n"},
    {2, "[rule empty]\n[rule matches]\nn = 1\n"},
};

static void keep_text(struct cs_text *golden, const char *text)
{
    for (; *text; text++)
        if (*text == '\n')
            cs_text_put(golden, "\n");
        else if (*text < ' ' || *text > '~')
            cs_text_put(golden, "\\x%02x", (unsigned char)*text);
        else
            cs_text_put(golden, "%c", *text);
}

static void a_mistake_makes_one_note_and_keeps_the_defaults(void)
{
    static char kept[1 << 15];
    struct cs_text golden = {.at = kept, .size = sizeof kept};
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        static const char place[] = "CONVSHIM_CONFIG:2: ", line[] = "FILE/test.ini:2: ";
        char text[256], of_file[1024];
        snprintf(text, sizeof text, "\n%s\n", mistakes[i]);
        load_text(text);
        CHECK_INT(note_count, 1);
        CHECK(note_is(0, line));
        snprintf(of_file, sizeof of_file, "%s", note(0) + strlen(line));
        check_defaults();

        snprintf(text, sizeof text, " ;%s;", mistakes[i]);
        load_items(text);
        CHECK_INT(note_count, 1);
        CHECK(note_is(0, place));
        CHECK_STR(note(0) + strlen(place), of_file);
        check_defaults();
        keep_text(&golden, mistakes[i]);
        cs_text_put(&golden, "\n    %s\n", of_file);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        load_text(files[i].text);
        CHECK_INT(note_count, files[i].count);
        cs_text_put(&golden, "---\n");
        keep_text(&golden, files[i].text);
        for (int j = 0; j < note_count; j++)
            cs_text_put(&golden, "    %s\n", note(j));
    }
    golden_file(root, "mistakes.txt", kept);
}

static void the_note_about_an_unknown_option_lists_all(void)
{
    load_text("colour = red\n");
    CHECK_INT(note_count, 1);
    for (int i = 0; i < CS_OPTIONS; i++)
        CHECK(strstr(note(0), cs_options[i].name));
}

static void sections(void)
{
    load_text("lanes = 3\nbacking = own\narena = 1G\n");
    CHECK_INT(note_count, 0);
    CHECK_INT(config.lanes, 3);
    CHECK_INT(config.backing, CS_CONFIG_BACKING_OWN);
    CHECK_INT(config.arena, 1 << 30);
    load_items("lanes=auto;arena=auto");
    CHECK_INT(note_count, 0);
    CHECK_INT(config.lanes, CS_CONFIG_AUTO);
    CHECK_INT(config.arena, CS_CONFIG_AUTO);
    load_text("arena = 3M\n[rule a]# b\nskip = yes\n");
    CHECK_INT(note_count, 0);
    CHECK_INT(config.arena, 3 << 20);
    CHECK_INT(config.rules.count, 1);
    load_text("arena = 9M\n[no]\narena = 8M\nlanes = x\n");
    CHECK_INT(note_count, 1);
    CHECK_INT(config.arena, 9 << 20);
    CHECK_INT(config.lanes, CS_CONFIG_AUTO);
}

/* MangoHud's users write so. The note says how options are separated. */
static void commas_between_options(void)
{
    load_items("workspace=1MiB,policy=off");
    CHECK_INT(note_count, 1);
    CHECK(note_is(0, "CONVSHIM_CONFIG:1: workspace: \"1MiB,policy=off\""));
    load_text("tiles = 3, lanes = 2\n");
    CHECK_INT(note_count, 1);
    CHECK(note_is(0, "FILE/test.ini:1: tiles: \"3, lanes = 2\""));
    load_items("rule.a.h=1,rule.a.skip=yes");
    CHECK_INT(note_count, 1);
    CHECK(strstr(note(0), " with ;") != NULL);
    load_items("tiles=3,4");
    CHECK_INT(note_count, 1);
    CHECK(strstr(note(0), " with ;") == NULL);
}

static void earlier_valid_value_is_kept(void)
{
    load_text("workspace = 1M\nworkspace = huge\ntiles = x\ntiles = 9\n");
    CHECK_INT(note_count, 2);
    CHECK_INT(config.workspace, 1 << 20);
    CHECK_INT(config.tiles, 9);
}

static void the_last_of_two_values_counts(void)
{
    load_text("tiles = 2\n\ntiles = 3\ntiles = 5\n");
    CHECK_INT(note_count, 2);
    CHECK(note_is(0, "FILE/test.ini:3: tiles: "));
    CHECK(note_is(1, "FILE/test.ini:4: tiles: "));
    CHECK_INT(config.tiles, 5);
}

static void options_of_an_unknown_section_are_ignored(void)
{
    load_text("tiles = 2\n[a ;b]\ntiles = 3\nnonsense = 1\n[c\nworkspace = 1M\n");
    CHECK_INT(note_count, 2);
    CHECK(note_is(0, "FILE/test.ini:2: [a ;b]: "));
    CHECK(note_is(1, "FILE/test.ini:5: [c: "));
    CHECK_INT(config.tiles, 2);
    CHECK_INT(config.workspace, CS_CONFIG_AUTO);
}

static void foreign_line_ends_and_marks(void)
{
    load_text("\xEF\xBB\xBFtiles = 3\r\n\r\npolicy = off\r\n  log = info\r\n");
    CHECK_INT(note_count, 0);
    CHECK_INT(config.tiles, 3);
    CHECK_STR(config.policy.text, "off");
    CHECK_INT(config.log, CS_LOG_INFO);
    load_text("\xEF\xBB\xBF  # comment\n");
    CHECK_INT(note_count, 0);
    load_text("\xEF\xBB\xBF[section]\ntiles = 3\n");
    CHECK_INT(note_count, 1);
    check_defaults();
}

static void garbage_is_noted_and_capped(void)
{
    static const char nul[] = "tiles = 3\nlog\0 = info\n\0\npolicy = off\n";
    load_bytes(nul, sizeof nul - 1);
    CHECK_INT(note_count, 2);
    CHECK(note_is(0, "FILE/test.ini:2: \"log\""));
    CHECK(note_is(1, "FILE/test.ini:3: \"\""));
    CHECK_INT(config.tiles, 3);
    CHECK_STR(config.policy.text, "off");

    static char garbage[1 << 16];
    for (size_t i = 0; i < sizeof garbage; i++)
        garbage[i] = (char)random_below(256);
    load_bytes(garbage, sizeof garbage);
    CHECK_INT(note_count, 17);
    CHECK(strstr(note(16), "further mistakes are not listed") != NULL);
    check_defaults();
    for (int i = 0; i < note_count && i < MAX_NOTES; i++) {
        for (const char *c = notes[i]; *c; c++)
            CHECK(*c >= ' ' && *c <= '~');
    }
}

static void a_huge_file_is_read_to_its_limit(void)
{
    const size_t size = 10 << 20;
    char *text = malloc(size + 1);
    if (!text) {
        CHECK(!"memory");
        return;
    }
    for (size_t i = 0; i < size; i += 16)
        memcpy(text + i, "# 3456789012345\n", 16);
    memcpy(text, "tiles = 3 ;6789\n", 16);
    memcpy(text + (1 << 20) - 16, "policy = off  \n\n", 16);
    memcpy(text + (1 << 20), "log = debug    \n", 16);
    load_bytes(text, size);
    CHECK_INT(note_count, 1);
    CHECK_STR(note(0), "FILE/test.ini:65538: larger than 1 MiB, the rest is ignored");
    CHECK_INT(config.tiles, 3);
    CHECK_STR(config.policy.text, "off");
    CHECK_INT(config.log, CS_LOG_WARN);
    memset(text, 'x', size);
    load_bytes(text, size);
    CHECK_INT(note_count, 2);
    check_defaults();
    free(text);
}

/* The generated file sets no option, and the defaults if its semicolons are removed. */
static void the_shipped_file_holds_the_defaults(void)
{
    static char text[1 << 16], active[1 << 16];
    FILE *file = fopen("conf/convshim.ini", "r");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0, used = 0;
    CHECK(size > 0);
    if (file)
        fclose(file);
    load_bytes(text, size);
    CHECK_INT(note_count, 0);
    check_defaults();
    CHECK_INT(config.rules.count, 0);
    const char *rules = strstr(text, "\n;[rule ");
    CHECK(rules != NULL);
    int options = 0;
    for (size_t i = 0; i < size; i++) {
        bool starts = text[i] == ';' && (i == 0 || text[i - 1] == '\n');
        options += starts && text + i < rules;
        if (!starts)
            active[used++] = text[i];
    }
    CHECK_INT(options, CS_OPTIONS);
    load_bytes(active, used);
    CHECK_INT(note_count, 0);
    check_defaults();
    CHECK_INT(config.rules.count, 1);
}

int main(void)
{
    if (!getcwd(root, sizeof root) || !make_folder())
        return 1;
    descriptors_begin();
    TEST(defaults_are_those_of_the_list);
    TEST(sizes_as_written);
    TEST(sizes_survive_writing_and_reading);
    TEST(options_are_read);
    TEST(indented_line_is_a_separate_option);
    TEST(bounds_are_those_of_the_text);
    TEST(a_mistake_makes_one_note_and_keeps_the_defaults);
    TEST(the_note_about_an_unknown_option_lists_all);
    TEST(sections);
    TEST(commas_between_options);
    TEST(earlier_valid_value_is_kept);
    TEST(the_last_of_two_values_counts);
    TEST(options_of_an_unknown_section_are_ignored);
    TEST(foreign_line_ends_and_marks);
    TEST(garbage_is_noted_and_capped);
    TEST(a_huge_file_is_read_to_its_limit);
    TEST(the_shipped_file_holds_the_defaults);
    TEST(no_descriptor_is_left_open);
    return !remove_folder() || REPORT();
}
