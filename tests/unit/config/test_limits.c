/* src/config/limits.c, session.c and diagnostics.c: the meaning of each option's values. */
#include "config/limits.h"

#include "check.h"
#include "config/diagnostics.h"
#include "config/session.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static struct cs_rule rule_with(int64_t workspace)
{
    return (struct cs_rule){.workspace = workspace, .given = 1U << CS_RULE_workspace};
}

/* The arena: as written; else twice the largest workspace of options and rules. */
static void the_arena(void)
{
    static const struct {
        int64_t arena, workspace, rule, other, want;
    } rows[] = {
        {CS_CONFIG_AUTO, 10, 0, 0, 20},
        {CS_CONFIG_AUTO, 10, 9, 10, 20},
        {CS_CONFIG_AUTO, 10, 11, 9, 22},
        {CS_CONFIG_AUTO, 10, 9, 13, 26},
        {CS_CONFIG_AUTO, 10, 9, CS_CONFIG_AUTO, 2 * (64 << 20)},
        {CS_CONFIG_AUTO, (64 << 20) + 1, CS_CONFIG_AUTO, 9, 2 * (64 << 20) + 2},
        {CS_CONFIG_AUTO, CS_CONFIG_AUTO, 0, 0, 2 * (64 << 20)},
        {CS_CONFIG_AUTO, INT64_MAX / 2, 0, 0, INT64_MAX - 1},
        {CS_CONFIG_AUTO, INT64_MAX / 2 + 1, 0, 0, INT64_MAX},
        {0, 10, 50, 0, 0},
        {7, 10, 50, 0, 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_config config = {.arena = rows[i].arena, .workspace = rows[i].workspace};
        struct cs_rules rules = {.count = 2};
        rules.rule[0] = rule_with(rows[i].rule);
        rules.rule[1] = rule_with(rows[i].other);
        rules.rule[2] = rule_with(INT64_MAX); /* none of them */
        CHECK_INT(cs_limits_arena(&config, &rules), rows[i].want);
        rules.rule[0].given = rules.rule[1].given = 0;
        if (rows[i].arena == CS_CONFIG_AUTO && rows[i].workspace == 10)
            CHECK_INT(cs_limits_arena(&config, &rules), 20);
    }
}

/* A limit of the library's scratch also limits the workspace of one convolution; a limit of the
 * caller's does not. */
static void workspace_and_own_scratch(void)
{
    static const struct {
        int64_t arena, workspace;
        bool own;
        int64_t want, most;
    } rows[] = {
        {5, 10, true, 5, 5},
        {10, 10, true, 10, 10},
        {11, 10, true, 10, 11},
        {1, 10, true, 1, 1},
        {0, 10, true, 10, 0},
        {5, 10, false, 10, 0},
        {CS_CONFIG_AUTO, 10, true, 10, 20},
        {9, CS_CONFIG_AUTO, true, CS_CONFIG_AUTO, 9},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct cs_rules none = {.count = 0};
        struct cs_config config = {.arena = rows[i].arena,
                                   .workspace = rows[i].workspace,
                                   .backing = rows[i].own ? CS_CONFIG_BACKING_OWN
                                                          : CS_CONFIG_BACKING_OWN + 1,
                                   .max_slowdown = 1234,
                                   .threshold = 77,
                                   .tiles = 3,
                                   .price = 55,
                                   .lanes = 2,
                                   .staged = 1};
        struct cs_limits limits = cs_limits_of(&config, &none);
        CHECK_INT(limits.workspace, rows[i].want);
        CHECK_INT(limits.most, rows[i].most);
        CHECK_INT(limits.lent, rows[i].own);
        CHECK_INT(limits.max_slowdown, 1234);
        CHECK_INT(limits.threshold, 77);
        CHECK_INT(limits.tiles, 3);
        CHECK_INT(limits.price, 55);
        CHECK_INT(limits.lanes, 2);
        CHECK_INT(limits.staging, 1);
        CHECK(!limits.provided && limits.free == 0);
        config.lanes = CS_CONFIG_AUTO;
        CHECK_INT(cs_limits_of(&config, &none).lanes, 0);
    }
}

static void rules_of_programs_and_scripts(void)
{
    static const struct {
        const char *program, *script; /* NULL: any */
        bool applies;
    } rows[] = {{NULL, NULL, true},     {"py*", NULL, true},   {"pz*", NULL, false},
                {NULL, "a.py", true},   {NULL, "b.py", false}, {"py*", "a.py", true},
                {"py*", "b.py", false}, {"pz*", "a.py", false}};
    struct cs_config config = {.rules = {.count = sizeof rows / sizeof *rows}};
    struct cs_rules rules;
    int want = 0;
    for (int i = 0; i < config.rules.count; i++) {
        struct cs_rule *rule = &config.rules.rule[i];
        rule->workspace = i;
        snprintf(rule->program.text, sizeof rule->program.text, "%s",
                 rows[i].program ? rows[i].program : "");
        snprintf(rule->script.text, sizeof rule->script.text, "%s",
                 rows[i].script ? rows[i].script : "");
        rule->given = (rows[i].program ? 1U << CS_RULE_program : 0) |
                      (rows[i].script ? 1U << CS_RULE_script : 0);
    }
    cs_limits_rules(&config, "python3", "a.py", &rules);
    for (int i = 0; i < config.rules.count; i++)
        if (rows[i].applies)
            CHECK_INT(rules.rule[want++].workspace, i);
    CHECK_INT(rules.count, want);
}

/* --- session --- */

static void the_run_of_the_environment(void)
{
    static const struct {
        const char *value;
        int64_t want;
    } rows[] = {{NULL, 0},  {"", 0},   {"7", 7},  {"0", 0},        {"12345678901", 12345678901},
                {"x", 0},   {"7x", 0}, {"-7", 0}, {" 7", 0},       {"123456789012", 0},
                {"007", 7}, {"7 ", 0}, {"+7", 0}, {"99999", 99999}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].value)
            setenv("CONVSHIM_RUN", rows[i].value, 1);
        else
            unsetenv("CONVSHIM_RUN");
        CHECK_INT(cs_session_run(), rows[i].want);
    }
}

static void preloaded_library_is_recognized(void)
{
    static const struct {
        const char *list;
        bool want;
    } rows[] = {{NULL, false},
                {"", false},
                {"libconvshim.so", true},
                {"/a/libconvshim.so", true},
                {"other.so:libconvshim.so", true},
                {"other.so libconvshim.so", true},
                {"/a/notlibconvshim.so", false},
                {"libconvshim", false},
                {"other.so", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].list)
            setenv("LD_PRELOAD", rows[i].list, 1);
        else
            unsetenv("LD_PRELOAD");
        CHECK_INT(cs_session_preloads(), rows[i].want);
    }
    unsetenv("LD_PRELOAD");
}

static void the_folder_of_running_processes(void)
{
    static char base[2 * CS_SESSION_PATH];
    char path[CS_SESSION_PATH], own[64], folder[] = "/tmp/convshim-session-XXXXXX", want[64];
    CHECK(mkdtemp(folder));
    snprintf(own, sizeof own, "/tmp/convshim-%lld", (long long)geteuid());
    snprintf(want, sizeof want, "%s/convshim", folder);
    setenv("XDG_RUNTIME_DIR", folder, 1);
    errno = 77;
    cs_session_folder(path);
    CHECK_STR(path, want);
    setenv("XDG_RUNTIME_DIR", folder + 1, 1); /* not from the root */
    cs_session_folder(path);
    CHECK_STR(path, own);
    unsetenv("XDG_RUNTIME_DIR");
    cs_session_folder(path);
    CHECK_STR(path, own);
    CHECK(rmdir(folder) == 0);
    setenv("XDG_RUNTIME_DIR", folder, 1); /* not there any more */
    cs_session_folder(path);
    CHECK_STR(path, own);
    CHECK_INT(errno, 77);
    /* As long as a path may be, and one more: "/" many times is the root. */
    for (size_t length = CS_SESSION_PATH - 11; length < CS_SESSION_PATH - 7; length++) {
        memset(base, '/', length);
        base[length] = '\0';
        setenv("XDG_RUNTIME_DIR", base, 1);
        cs_session_folder(path);
        CHECK_INT(strlen(path), access("/", W_OK | X_OK) != 0  ? strlen(own)
                                : length + 9 < CS_SESSION_PATH ? length + 9
                                                               : 0);
    }
    unsetenv("XDG_RUNTIME_DIR");
}

/* --- diagnostics --- */

static char noted[1024];
static int notes;

static void take_note(void *ctx, const char *note)
{
    CHECK(ctx == &notes);
    snprintf(noted, sizeof noted, "%s", note);
    notes++;
}

static void unprintable_bytes_are_shown_as_question_marks(void)
{
    char shown[CS_SHOWN_BYTES], text[100];
    CHECK_STR(cs_diagnostics_show(shown, "a\x1f\x20~\x7f\x80\n"), "a? ~???");
    for (size_t length = 40; length < 60; length++) {
        memset(text, 'x', length);
        text[length] = '\0';
        cs_diagnostics_show(shown, text);
        CHECK_INT(strlen(shown), length < CS_SHOWN_BYTES ? length : CS_SHOWN_BYTES - 1);
        CHECK_INT(strchr(shown, '.') != NULL, length >= CS_SHOWN_BYTES);
    }
}

static void number_of_notes_is_limited(void)
{
    struct cs_load load = {.note = take_note, .ctx = &notes, .source = "s"};
    for (int i = 1; i < 30; i++) {
        cs_diagnostics_note(&load, "note %d", i);
        CHECK_INT(notes, i < 17 ? i : 17);
    }
    CHECK_STR(noted, "s: further mistakes are not listed");
}

static void notes_name_their_place(void)
{
    char source[400], want[440];
    for (size_t length = 235; length < 260; length++) {
        struct cs_load load = {.note = take_note, .ctx = &notes, .source = source, .line = 7};
        memset(source, 'p', length);
        source[length] = '\0';
        source[0] = 'q';
        snprintf(want, sizeof want, "%s%s:7: word", length > 240 ? "..." : "",
                 source + (length > 240 ? length - 240 : 0));
        cs_diagnostics_note(&load, "%s", "word");
        CHECK_STR(noted, want);
    }
    static const struct {
        const char *value, *want;
        int line;
        bool file;
    } rows[] = {{"1,b=2", "; separate options with ;", 1, false},
                {"1,b=2", "; write one option per line", 1, true},
                {"1,b=2", "", 0, true},
                {"1=b,2", "", 1, true},
                {"1", "", 1, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_load load = {.line = rows[i].line, .file = rows[i].file};
        CHECK_STR(cs_diagnostics_comma(&load, rows[i].value), rows[i].want);
    }
}

/* A note of more than 767 bytes ends there, wherever its place ends. */
static void long_notes_are_cut(void)
{
    char word[1200], want[1300];
    for (int line = 0; line < 2; line++)
        for (size_t length = 755; length < 775; length++) {
            struct cs_load load = {.note = take_note, .ctx = &notes, .source = "s", .line = line};
            memset(word, 'w', sizeof word);
            word[0] = 'v';
            word[length] = '\0';
            snprintf(want, sizeof want, "s:%s %s", line ? "1:" : "", word);
            want[767] = '\0';
            cs_diagnostics_note(&load, "%s", word);
            CHECK_STR(noted, want);
        }
}

int main(void)
{
    TEST(the_arena);
    TEST(workspace_and_own_scratch);
    TEST(rules_of_programs_and_scripts);
    TEST(the_run_of_the_environment);
    TEST(preloaded_library_is_recognized);
    TEST(the_folder_of_running_processes);
    TEST(unprintable_bytes_are_shown_as_question_marks);
    TEST(number_of_notes_is_limited);
    TEST(notes_name_their_place);
    TEST(long_notes_are_cut);
    return REPORT();
}
