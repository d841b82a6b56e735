/* src/config: which files and variables options come from, and which of them counts. */
#include "config_fixture.h"
#include "descriptors.h"

#include <errno.h>

static void check_unreadable(const char *path, const char *why)
{
    char want[700];
    clear_environment();
    setenv("CONVSHIM_CONFIGFILE", path, 1);
    load();
    snprintf(want, sizeof want, "%s: cannot be read: %s; its options are ignored", path, why);
    CHECK_INT(note_count, 1);
    CHECK_STR(notes[0], want);
    CHECK_STR(config.source, "");
    check_defaults();
}

static void files_that_cannot_be_read(void)
{
    check_unreadable(path_of("missing.ini"), "No such file or directory");
    check_unreadable(folder, "Is a directory");
    write_file("secret.ini", "tiles = 3\n", 10);
    check_unreadable(path_of("secret.ini/x"), "Not a directory");
    chmod(path_of("secret.ini"), 0);
    bool root = geteuid() == 0;
    if (root && seteuid(65534) != 0)
        CHECK(!"seteuid");
    check_unreadable(path_of("secret.ini"), "Permission denied");
    if (root && seteuid(0) != 0)
        CHECK(!"seteuid");
}

static void odd_files_do_not_hold_the_program(void)
{
    CHECK(mkfifo(path_of("fifo"), 0600) == 0);
    clear_environment();
    setenv("CONVSHIM_CONFIGFILE", path_of("fifo"), 1);
    load();
    check_defaults();
    setenv("CONVSHIM_CONFIGFILE", "/dev/zero", 1);
    load();
    CHECK(note_count > 0);
    check_defaults();
    setenv("CONVSHIM_CONFIGFILE", "/dev/null", 1);
    load();
    CHECK_INT(note_count, 0);
    CHECK_STR(config.source, "/dev/null");
}

static void set_paths(const char *xdg, const char *home)
{
    clear_environment();
    unsetenv("CONVSHIM_CONFIGFILE");
    if (xdg)
        setenv("XDG_CONFIG_HOME", xdg, 1);
    if (home)
        setenv("HOME", home, 1);
}

/* An earlier value of errno has no effect. */
static void the_end_of_a_file_ends_it(void)
{
    for (int error = EINTR; error != 0; error = error == EINTR ? EIO : 0) {
        errno = error;
        load_text("tiles = 3\n");
        CHECK_INT(config.tiles, 3);
        CHECK_INT(note_count, 0);
    }
}

static void make_folders(void)
{
    static const char *const names[] = {"xdg",          "xdg/convshim",          "home",
                                        "home/.config", "home/.config/convshim", "convshim"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        CHECK(mkdir(path_of(names[i]), 0755) == 0);
}

static void the_first_file_found_is_read(void)
{
    char xdg[300], home[300], before[4096];
    snprintf(xdg, sizeof xdg, "%s/xdg", folder);
    snprintf(home, sizeof home, "%s/home", folder);
    make_folders();
    write_file("home/.config/convshim/convshim.ini", "tiles = 11\n", 11);
    set_paths(NULL, home);
    load();
    CHECK_INT(config.tiles, 11);
    CHECK_STR(config.source, path_of("home/.config/convshim/convshim.ini"));
    write_file("home/.config/convshim/program.ini", "tiles = 12\n", 11);
    load();
    CHECK_INT(config.tiles, 12);
    cs_config_load(&config, NULL, policies, take_note, &note_count);
    CHECK_INT(config.tiles, 11);
    cs_config_load(&config, "../convshim/program", policies, take_note, &note_count);
    CHECK_INT(config.tiles, 11);

    write_file("xdg/convshim/convshim.ini", "tiles = 13\n", 11);
    set_paths(xdg, home);
    load();
    CHECK_INT(config.tiles, 13);
    write_file("xdg/convshim/program.ini", "tiles = 14\n", 11);
    load();
    CHECK_INT(config.tiles, 14);
    CHECK_INT(note_count, 0);
    write_file("test.ini", "tiles = 15\n", 11);
    setenv("CONVSHIM_CONFIGFILE", path_of("test.ini"), 1);
    load();
    CHECK_INT(config.tiles, 15);
    setenv("CONVSHIM_CONFIGFILE", path_of("missing.ini"), 1);
    load();
    check_defaults();

    write_file("convshim/convshim.ini", "tiles = 99\n", 11);
    CHECK(getcwd(before, sizeof before) != NULL && chdir(folder) == 0);
    set_paths(".", home);
    load();
    CHECK_INT(config.tiles, 12);
    set_paths("", ".");
    load();
    CHECK(config.tiles != 99 && config.tiles != 12);
    set_paths(NULL, NULL);
    load();
    CHECK(!*config.source || strcmp(config.source, "/etc/convshim.ini") == 0);
    CHECK(chdir(before) == 0);
}

static void an_unreadable_file_ends_the_search(void)
{
    char xdg[300];
    snprintf(xdg, sizeof xdg, "%s/xdg", folder);
    CHECK(unlink(path_of("xdg/convshim/program.ini")) == 0);
    CHECK(mkdir(path_of("xdg/convshim/program.ini"), 0755) == 0);
    set_paths(xdg, NULL);
    load();
    CHECK_INT(note_count, 1);
    CHECK(strstr(note(0), "FILE/xdg/convshim/program.ini: cannot be read") != NULL);
    CHECK_STR(config.source, "");
    check_defaults();
}

static void environment_overrides_the_file(void)
{
    load_text("tiles = 2\nworkspace = 1M\nlog = info\nsummary = off\nlog_file = a\n");
    setenv("CONVSHIM_CONFIG", "tiles=3; log = error ;;log_file=b", 1);
    load();
    CHECK_INT(note_count, 0);
    CHECK_INT(config.tiles, 3);
    CHECK_INT(config.workspace, 1 << 20);
    CHECK_INT(config.log, CS_LOG_ERROR);
    CHECK_STR(config.log_file.text, "b");
    CHECK_INT(config.summary.form, CS_SUMMARY_OFF);
    char source[CS_CONFIG_TEXT];
    snprintf(source, sizeof source, "%s and CONVSHIM_CONFIG", path_of("test.ini"));
    CHECK_STR(config.source, source);

    setenv("CONVSHIM_LOG", "debug", 1);
    setenv("CONVSHIM_LOG_FILE", "c", 1);
    setenv("CONVSHIM_SUMMARY", "text", 1);
    load();
    CHECK_INT(note_count, 0);
    CHECK_INT(config.log, CS_LOG_DEBUG);
    CHECK_STR(config.log_file.text, "c");
    CHECK_INT(config.summary.form, CS_SUMMARY_TEXT);

    setenv("CONVSHIM_LOG", "much", 1);
    setenv("CONVSHIM_LOG_FILE", "", 1);
    setenv("CONVSHIM_SUMMARY", "json", 1);
    load();
    CHECK_INT(note_count, 2);
    CHECK(note_is(0, "CONVSHIM_LOG: log: \"much\""));
    CHECK(note_is(1, "CONVSHIM_SUMMARY: summary: \"json\""));
    CHECK_INT(config.log, CS_LOG_ERROR);
    CHECK_STR(config.log_file.text, "b");
    CHECK_INT(config.summary.form, CS_SUMMARY_OFF);
    setenv("CONVSHIM_SUMMARY", "text, json:a,b", 1);
    load();
    CHECK_INT(config.summary.form, CS_SUMMARY_BOTH);
    CHECK_STR(config.summary.path, "a,b");
    load_items("summary=text,json:");
    CHECK_INT(note_count, 1);
    load_items("summary=text,json:x");
    CHECK_INT(config.summary.form, CS_SUMMARY_BOTH);
}

/* Every option has one, named after it. */
static void a_variable_for_every_option(void)
{
    static const struct {
        const char *option, *variable;
    } rows[] = {{"workspace", "CONVSHIM_WORKSPACE"},
                {"price", "CONVSHIM_PRICE"},
                {"log_file", "CONVSHIM_LOG_FILE"},
                {"arena", "CONVSHIM_ARENA"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CHECK_STR(cs_config_variable(rows[i].option), rows[i].variable);
    CHECK(cs_config_variable("nothing") == NULL);
    load_text("workspace = 1M\n");
    setenv("CONVSHIM_CONFIG", "workspace=2M;arena=5M", 1);
    setenv("CONVSHIM_WORKSPACE", "3M", 1);
    setenv("CONVSHIM_ARENA", "7M", 1);
    setenv("CONVSHIM_TILES", "many", 1);
    load();
    CHECK_INT(config.workspace, 3 << 20);
    CHECK_INT(config.arena, 7 << 20);
    CHECK_STR(config.origin[CS_OPTION_workspace].variable, "CONVSHIM_WORKSPACE");
    CHECK_INT(note_count, 1);
    CHECK(note_is(0, "CONVSHIM_TILES: tiles: \"many\""));
    for (int i = 0; i < CS_OPTIONS; i++)
        unsetenv(cs_config_variable(cs_options[i].name));
}

/* A variable with our prefix that is no option of ours is reported, since it has no effect. */
static void unknown_variables(void)
{
    static const struct {
        const char *name, *nearest; /* "": none; NULL: it is known */
    } rows[] = {{"CONVSHIM_WORKSPCE", "CONVSHIM_WORKSPACE"},
                {"CONVSHIM_CONFIG_FILE", "CONVSHIM_CONFIGFILE"},
                {"CONVSHIM_ARENA_SIZE", ""},
                {"CONVSHIM_workspace", "CONVSHIM_WORKSPACE"},
                {"CONVSHIM_", ""},
                {"CONVSHIM_TEST_LOAD", NULL},
                {"CONVSHIM_TEST_ANYTHING", NULL},
                {"CONVSHIM_BUILD", NULL},
                {"CONVSHIMS", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char want[256];
        load_text("tiles = 2\n");
        setenv(rows[i].name, "1", 1);
        load();
        CHECK_INT(note_count, rows[i].nearest != NULL);
        snprintf(want, sizeof want, "environment: %s: ", rows[i].name);
        if (rows[i].nearest)
            CHECK(note_is(0, want) && strstr(note(0), rows[i].nearest));
        CHECK_INT(config.tiles, 2);
        setenv(rows[i].name, "", 1);
        load();
        CHECK_INT(note_count, 0);
        unsetenv(rows[i].name);
    }
    char name[600] = "CONVSHIM_";
    for (size_t more = 20; more < 110; more++) { /* as a note shows it: 47 bytes, or 44 and dots */
        char want[256];
        memset(name + 9, 'X', more);
        name[9 + more] = '\0';
        setenv(name, "1", 1);
        load();
        snprintf(want, sizeof want, "environment: %.*s%s: ", more + 9 > 47 ? 44 : 47, name,
                 more + 9 > 47 ? "..." : "");
        CHECK_INT(note_count, 1);
        CHECK(note_is(0, want));
        unsetenv(name);
    }
    memset(name + 9, 'X', 500);
    setenv(name, "1", 1);
    load();
    CHECK_INT(note_count, 1);
    CHECK(strstr(note(0), "environment: CONVSHIM_XXX") == note(0));
    unsetenv(name);
}

static void check_origin(int option, const char *variable, int line)
{
    const struct cs_origin *origin = &config.origin[option];
    CHECK_STR(origin->variable ? origin->variable : "", variable);
    CHECK_INT(origin->line, line);
}

static void each_value_has_its_origin(void)
{
    load_text("tiles = 2\n\nworkspace = 1M\nlanes = 99\narena = 8M\n");
    setenv("CONVSHIM_CONFIG", "policy=off;tiles=3;arena=much", 1);
    setenv("CONVSHIM_SUMMARY", "off", 1);
    load();
    CHECK_INT((int)config.file_length, (int)strlen(path_of("test.ini")));
    CHECK(strncmp(config.source, path_of("test.ini"), config.file_length) == 0);
    check_origin(CS_OPTION_workspace, "", 3);
    check_origin(CS_OPTION_arena, "", 5);
    check_origin(CS_OPTION_policy, "CONVSHIM_CONFIG", 1);
    check_origin(CS_OPTION_tiles, "CONVSHIM_CONFIG", 2);
    check_origin(CS_OPTION_summary, "CONVSHIM_SUMMARY", 0);
    check_origin(CS_OPTION_lanes, "", 0);
    check_origin(CS_OPTION_backing, "", 0);
    check_origin(CS_OPTION_log, "", 0);
}

/* Options set by the program override all others, later ones override earlier ones, while there is
 * room. They can be tried before. This cannot be undone, so it is the last test. */
static void options_of_the_program_override_all_others(void)
{
    static char long_items[CS_CONFIG_TEXT];
    static struct cs_config tried;
    clear_environment();
    note_count = 0;
    cs_config_load_items(&tried, "tiles=5;colour=red", policies, take_note, &note_count);
    CHECK_INT(tried.tiles, 5);
    CHECK_INT(tried.lanes, CS_CONFIG_AUTO);
    CHECK_STR(tried.source, "");
    CHECK_INT(note_count, 1);
    CHECK(note_is(0, "convshim_configure:2: colour: "));
    cs_config_load_items(&tried, "backing=own", policies, take_note, &note_count);
    CHECK_INT(tried.backing, CS_CONFIG_BACKING_OWN);
    setenv("CONVSHIM_CONFIG", "tiles=3;lanes=2", 1);
    CHECK(cs_config_override("tiles=6"));
    load();
    CHECK_INT(config.tiles, 6);
    CHECK_INT(config.lanes, 2);
    CHECK_STR(config.source, "/dev/null and CONVSHIM_CONFIG and convshim_configure");
    CHECK(cs_config_override("tiles=7;lanes=3"));
    load();
    CHECK_INT(config.tiles, 7);
    CHECK_INT(config.lanes, 3);
    size_t room = sizeof long_items - strlen(";tiles=6;tiles=7;lanes=3") - 1;
    memset(long_items, ' ', room);
    CHECK(!cs_config_override(long_items));
    long_items[room - 1] = '\0';
    memcpy(long_items, "tiles=8", strlen("tiles=8"));
    CHECK(cs_config_override(long_items));
    CHECK(!cs_config_override(""));
    load();
    CHECK_INT(config.tiles, 8);
    CHECK_INT(config.lanes, 3);
    CHECK_INT(note_count, 2);
    CHECK(strstr(notes[1], "convshim_configure:4: tiles: set twice"));
}

static void ranks(void)
{
    static const struct {
        const char *variable, *value;
        int64_t rank;
    } rows[] = {{"RANK", "3", 3},           {"RANK", "0", 0},
                {"RANK", "", -1},           {"RANK", "3x", -1},
                {"RANK", "-3", -1},         {"RANK", "999999999", 999999999},
                {"RANK", "1000000000", -1}, {"OMPI_COMM_WORLD_RANK", "4", 4},
                {"PMI_RANK", "5", 5},       {"SLURM_PROCID", "6", 6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setenv(rows[i].variable, rows[i].value, 1);
        CHECK_INT(cs_config_rank(), rows[i].rank);
        unsetenv(rows[i].variable);
    }
    CHECK_INT(cs_config_rank(), -1);
    setenv("SLURM_PROCID", "6", 1);
    setenv("PMI_RANK", "5", 1);
    CHECK_INT(cs_config_rank(), 5);
    setenv("RANK", "x", 1);
    CHECK_INT(cs_config_rank(), 5);
    unsetenv("SLURM_PROCID");
    unsetenv("PMI_RANK");
    unsetenv("RANK");
}

static void a_file_alone(void)
{
    load_text("tiles = 2\nlanes = 99\n");
    setenv("CONVSHIM_CONFIG", "tiles=3", 1);
    CHECK(cs_config_load_file(&config, path_of("test.ini"), policies, take_note, &note_count));
    CHECK_INT(note_count, 2);
    CHECK_INT(config.tiles, 2);
    CHECK_STR(config.source, path_of("test.ini"));
    check_origin(CS_OPTION_tiles, "", 1);
    CHECK(!cs_config_load_file(&config, path_of("none.ini"), policies, take_note, &note_count));
    CHECK_INT(errno, ENOENT);
    CHECK_INT(note_count, 2);
    check_defaults();
}

/* The names of the sources are cut at the end of the buffer. */
static void a_long_path_leaves_no_room_for_others(void)
{
    static const char end[] = "/dev/null";
    for (size_t length = CS_CONFIG_TEXT - 40; length < CS_CONFIG_TEXT; length++) {
        char name[CS_CONFIG_TEXT], want[CS_CONFIG_TEXT + 40];
        memset(name, '/', length);
        memcpy(name + length - strlen(end), end, sizeof end);
        setenv("CONVSHIM_CONFIGFILE", name, 1);
        setenv("CONVSHIM_CONFIG", "tiles=3", 1);
        load();
        snprintf(want, sizeof want, "%s and CONVSHIM_CONFIG", name);
        want[CS_CONFIG_TEXT - 1] = '\0';
        CHECK_STR(config.source, want);
        CHECK_INT(config.file_length, length);
        CHECK_INT(config.tiles, 3);
    }
}

static void a_path_of_the_environment_fits_or_is_noted(void)
{
    static char path[CS_CONFIG_TEXT + 1];
    clear_environment();
    memset(path, 'p', CS_CONFIG_TEXT);
    setenv("CONVSHIM_LOG_FILE", path, 1);
    load();
    CHECK_INT(note_count, 1);
    CHECK_STR(config.log_file.text, "");
    path[CS_CONFIG_TEXT - 1] = '\0';
    setenv("CONVSHIM_LOG_FILE", path, 1);
    load();
    CHECK_INT(note_count, 0);
    CHECK_STR(config.log_file.text, path);
}

static void zero_switches_off(void)
{
    load_text("tiles = bad\n");
    CHECK_INT(note_count, 1);
    CHECK(config.enabled && !cs_config_disabled());
    setenv("CONVSHIM", "0", 1);
    load();
    CHECK(!config.enabled && cs_config_disabled());
    CHECK_INT(note_count, 0);
    check_defaults();
    setenv("CONVSHIM", "off", 1);
    CHECK(!cs_config_disabled());
    load();
    CHECK(config.enabled);
    CHECK_INT(note_count, 2);
    CHECK(note_is(1, "CONVSHIM: "));
    setenv("CONVSHIM", "1", 1);
    load();
    CHECK_INT(note_count, 1);
}

static void notes_are_optional(void)
{
    load_text("tiles = bad\npolicy = off\n[x]\n");
    cs_config_load(&config, "program", policies, NULL, NULL);
    CHECK_STR(config.policy.text, "off");
}

static void long_file_names_are_shortened_in_notes(void)
{
    char name[256], path[512];
    memset(name, 'n', 250);
    snprintf(name + 250, sizeof name - 250, ".ini");
    write_file(name, "tiles = x\n", 10);
    clear_environment();
    snprintf(path, sizeof path, "%s", path_of(name));
    setenv("CONVSHIM_CONFIGFILE", path, 1);
    load();
    CHECK_INT(note_count, 1);
    CHECK(strncmp(notes[0], "...nnn", 6) == 0);
    CHECK(strstr(notes[0], "nnn.ini:1: tiles: \"x\"") != NULL);
    CHECK_STR(config.source, path);
}

static void every_blank_is_one(void)
{
    static const char blanks[] = " \t\r\v\f";
    char text[64];
    for (const char *c = blanks; *c; c++) {
        snprintf(text, sizeof text, "%c# no option\n%carena%c=%c3MiB%c\n", *c, *c, *c, *c, *c);
        load_text(text);
        CHECK_INT(note_count, 0);
        CHECK_INT(config.arena, 3 << 20);
    }
}

/* inih keeps 200 bytes of a line; longer ones are read as it would. */
static void lines_are_whole_or_ignored(void)
{
    static char text[16000], path[5000];
    static const char name[] = "log_file=";
    for (int length = 150; length < 4300; length += length < 400 || length > 4000 ? 1 : 100) {
        bool fits = length - (int)strlen(name) < CS_CONFIG_TEXT;
        memset(path, 'p', sizeof path);
        path[length - (int)strlen(name)] = '\0';
        snprintf(text, sizeof text, "%s%s\n%s\ntiles=3\n", name, path, path);
        load_text(text);
        CHECK_INT(note_count, fits ? 1 : 2);
        CHECK(strstr(note(!fits), length > 4169 ? "4160 bytes" : "NAME = VALUE") != NULL);
        CHECK_STR(config.log_file.text, fits ? path : "");
        CHECK_INT(config.tiles, 3);
        if (length > 4160)
            CHECK(note_is(0, "FILE/test.ini:1: \"log_file=pppppppppppppppppppppppppppppppppp"));
        else if (!fits)
            CHECK(strstr(note(0), "log_file: \"ppp"));
        snprintf(text, sizeof text, " log_file \t:  %s; x  ;y=\n tiles = 3", path);
        load_text(text);
        if (fits && length > 200 && length < 4000) {
            snprintf(text, sizeof text, "%s; x", path);
            CHECK_INT(note_count, 0);
            CHECK_STR(config.log_file.text, text);
        }
        snprintf(text, sizeof text, "tiles=3;log_file=%s;lanes=2", path);
        load_items(text);
        CHECK_STR(config.log_file.text, fits ? path : "");
        CHECK_INT(config.lanes, 2);
    }
    memset(path, ' ', 300);
    snprintf(path + 300, 100, "# a comment of any length");
    snprintf(text, sizeof text, "# %s\n%s%s\ntiles = 3%300s\n", path, path, path, "");
    load_text(text);
    CHECK_INT(note_count, 0);
    CHECK_INT(config.tiles, 3);
}

int main(void)
{
    if (!make_folder())
        return 1;
    descriptors_begin();
    TEST(files_that_cannot_be_read);
    TEST(the_end_of_a_file_ends_it);
    TEST(odd_files_do_not_hold_the_program);
    TEST(the_first_file_found_is_read);
    TEST(an_unreadable_file_ends_the_search);
    TEST(environment_overrides_the_file);
    TEST(a_variable_for_every_option);
    TEST(unknown_variables);
    TEST(each_value_has_its_origin);
    TEST(a_file_alone);
    TEST(a_long_path_leaves_no_room_for_others);
    TEST(a_path_of_the_environment_fits_or_is_noted);
    TEST(zero_switches_off);
    TEST(notes_are_optional);
    TEST(long_file_names_are_shortened_in_notes);
    TEST(no_descriptor_is_left_open);
    TEST(every_blank_is_one);
    TEST(ranks);
    TEST(lines_are_whole_or_ignored);
    TEST(options_of_the_program_override_all_others);
    return !remove_folder() || REPORT();
}
