/* Which name was meant: how far names are apart, and from where on none is suggested, of options
 * and variables. */
#include "config/ini.h"
#include "config_fixture.h"

static void distances(void)
{
    static const struct {
        const char *a, *b;
        size_t distance;
    } rows[] = {
        {"", "", 0},           {"", "log", 3},      {"log", "", 3},
        {"log", "log", 0},     {"log", "LOG", 0},   {"log", "lot", 1},
        {"log", "lo", 1},      {"log", "og", 1},    {"log", "blog", 1},
        {"log", "logs", 1},    {"log", "lxog", 1},  {"log", "olg", 1},
        {"abc", "xyz", 3},     {"abcd", "bcde", 2}, {"kitten", "sitting", 3},
        {"tiles", "lanes", 3}, {"flaw", "lawn", 2}, {"saturday", "sunday", 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_INT(cs_option_name_distance(rows[i].a, rows[i].b), rows[i].distance);
        CHECK_INT(cs_option_name_distance(rows[i].b, rows[i].a), rows[i].distance);
    }
}

static void distance_limit_grows_with_the_length(void)
{
    static const size_t far[] = {1, 1, 2, 2, 2, 3, 3, 3, 4};
    for (size_t length = 0; length < sizeof far / sizeof *far; length++)
        CHECK_INT(cs_option_name_too_far(length), far[length]);
}

/* Changes the last `letters` letters of the name to different ones. */
static void misspell(const char *name, size_t letters, char text[CS_CONFIG_NAME])
{
    size_t length = strlen(name);
    snprintf(text, CS_CONFIG_NAME, "%s", name);
    for (size_t i = length - letters; i < length; i++)
        text[i] = '#';
}

static void options_are_suggested(void)
{
    char text[CS_CONFIG_NAME];
    for (int i = 0; i < CS_OPTIONS; i++) {
        const char *name = cs_options[i].name;
        size_t far = cs_option_name_too_far(strlen(name));
        misspell(name, 0, text);
        CHECK_STR(cs_option_nearest(text), name);
        misspell(name, far - 1, text);
        const char *found = cs_option_nearest(text);
        CHECK(found != NULL);
        CHECK_STR(found ? found : "", name);
        misspell(name, far, text);
        CHECK(cs_option_nearest(text) == NULL);
    }
    CHECK(cs_option_nearest("") == NULL);
}

/* A name with other words before it. */
static void a_misplaced_option_is_found(void)
{
    CHECK_STR(cs_option_nearest("section.arena"), "arena");
    CHECK_STR(cs_option_nearest("general.tiles"), "tiles");
    char text[CS_CONFIG_NAME + 1];
    memset(text, 'x', sizeof text);
    memcpy(text + CS_CONFIG_NAME - 7, ".tiles", 7);
    CHECK_INT(strlen(text), CS_CONFIG_NAME - 1);
    CHECK_STR(cs_option_nearest(text), "tiles");
    memset(text, 'x', sizeof text);
    memcpy(text + CS_CONFIG_NAME - 6, ".tiles", 7);
    CHECK(cs_option_nearest(text) == NULL); /* longer than any */
}

/* The note about a set variable, "" if there is none. */
static const char *note_of(const char *name)
{
    load_text("");
    setenv(name, "1", 1);
    load();
    unsetenv(name);
    CHECK(note_count <= 1);
    return note_count > 0 ? note(0) : "";
}

static void check_variable(const char *known, bool suggested)
{
    char name[2 * CS_CONFIG_NAME], want[128];
    snprintf(name, sizeof name, "CONVSHIM_%s#", known);
    snprintf(want, sizeof want, " CONVSHIM_%s?", known);
    const char *text = note_of(name);
    if ((strstr(text, want) != NULL) != suggested)
        printf("# %s\n", text);
    CHECK_INT(strstr(text, want) != NULL, suggested);
    CHECK(strncmp(text, "environment: ", 13) == 0);
}

static void variables_are_suggested(void)
{
    static const char *const ours[] = {"BUILD", "SAN_RT", "STRICT", "UPDATE_GOLDEN", "RUN"};
    for (int i = 0; i < CS_OPTIONS; i++)
        check_variable(cs_variable_of(i) + strlen("CONVSHIM_"), true);
    check_variable("CONFIG", true);
    check_variable("CONFIGFILE", true);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        char name[64];
        check_variable(ours[i], false);
        snprintf(name, sizeof name, "CONVSHIM_%s", ours[i]);
        CHECK_STR(note_of(name), "");
    }
    CHECK_STR(note_of("CONVSHIM_TEST_"), "");
    CHECK_STR(note_of("CONVSHIM_TEST_X"), "");
    CHECK(*note_of("CONVSHIM_TEST"));
    /* As far from the nearest as is too far, and one letter nearer. */
    CHECK(!strstr(note_of("CONVSHIM_L##"), " CONVSHIM_LOG?"));
    CHECK(strstr(note_of("CONVSHIM_LO#"), " CONVSHIM_LOG?") != NULL);
}

int main(void)
{
    if (!make_folder())
        return 1;
    TEST(distances);
    TEST(distance_limit_grows_with_the_length);
    TEST(options_are_suggested);
    TEST(a_misplaced_option_is_found);
    TEST(variables_are_suggested);
    return !remove_folder() || REPORT();
}
