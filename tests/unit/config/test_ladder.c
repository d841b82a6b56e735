/* src/config/ladder.c: the file of a GPU's measured constants. */
#include "config/ladder.h"

#include "config_fixture.h"
#include <errno.h>
#include <sys/auxv.h>

#define H200 "NVIDIA H200"
#define TEXT                                                                                       \
    "{\"convshim_ladder\": 1, \"gpu\": \"" H200 "\", \"kernel_us\": 4.1, \"lane_gain\": 0.3}\n"

static unsigned long secure;

WRAPPED(unsigned long, getauxval, unsigned long type)
{
    return type == AT_SECURE ? secure : __real_getauxval(type);
}

static void the_path(void)
{
    static const struct {
        const char *cache, *home, *gpu, *want; /* want NULL: no path */
    } rows[] = {
        {"/cache", "/home", H200, "/cache/convshim/NVIDIA-H200.json"},
        {NULL, "/home", H200, "/home/.cache/convshim/NVIDIA-H200.json"},
        {"relative", "/home", H200, "/home/.cache/convshim/NVIDIA-H200.json"},
        {"/cache", NULL, "../a b/GPU_1.x\n", "/cache/convshim/---a-b-GPU_1-x-.json"},
        {NULL, "relative", H200, NULL},
        {NULL, NULL, H200, NULL},
        {"/cache", "/home", "", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[CS_LADDER_PATH] = "";
        rows[i].cache ? setenv("XDG_CACHE_HOME", rows[i].cache, 1) : unsetenv("XDG_CACHE_HOME");
        rows[i].home ? setenv("HOME", rows[i].home, 1) : unsetenv("HOME");
        CHECK_INT(cs_ladder_path(rows[i].gpu, path), rows[i].want != NULL);
        CHECK_STR(path, rows[i].want ? rows[i].want : path);
    }
}

static void written_text_is_parsed(void)
{
    const struct cs_ladder ladder = {true, 12.25, 0.75};
    struct cs_ladder got;
    char text[CS_LADDER_TEXT];
    size_t length = cs_ladder_write(&ladder, H200, text);
    CHECK_INT(strlen(text), length);
    CHECK(cs_ladder_parse(text, H200, &got) == NULL);
    CHECK(got.known && got.kernel_us == 12.25 && got.lane_gain == 0.75);
    CHECK(cs_ladder_parse("{ \"lane_gain\":0 ,\"kernel_us\":50,\n\"gpu\":\"" H200
                          "\", \"convshim_ladder\":1}",
                          H200, &got) == NULL);
    CHECK(got.known && got.kernel_us == 50 && got.lane_gain == 0);
}

#define MEMBERS(version, gpu, kernel, gain)                                                        \
    "{\"convshim_ladder\": " version ", \"gpu\": " gpu ", \"kernel_us\": " kernel                  \
    ", \"lane_gain\": " gain "}"

static void damaged_text_is_refused(void)
{
    static const char *const rows[] = {
        "",
        "{",
        "{}",
        "[]",
        TEXT "x",
        MEMBERS("2", "\"" H200 "\"", "4.1", "0.3"),
        MEMBERS("1", "\"NVIDIA H100\"", "4.1", "0.3"),
        MEMBERS("1", "4", "4.1", "0.3"),
        MEMBERS("1", "\"" H200 "\"", "0.09", "0.3"),
        MEMBERS("1", "\"" H200 "\"", "50.1", "0.3"),
        MEMBERS("1", "\"" H200 "\"", "4.1", "1.01"),
        MEMBERS("1", "\"" H200 "\"", "4.1", "-0.3"),
        MEMBERS("1", "\"" H200 "\"", "4.1", "nan"),
        MEMBERS("1", "\"" H200 "\"", "4.1", "\"0.3\""),
        MEMBERS("1", "\"" H200 "\"", "4.1", "0.3, \"lane_gain\": 0.3"),
        MEMBERS("1", "\"" H200 "\"", "4.1", "0.3, \"more\": 1"),
        "{\"convshim_ladder\": 1, \"gpu\": \"" H200 "\", \"kernel_us\": 4.1}",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_ladder ladder = {.known = true};
        CHECK(cs_ladder_parse(rows[i], H200, &ladder) != NULL);
        CHECK(!ladder.known);
    }
}

/* The result of reading, and the number of notes. */
static void check_read(const char *gpu, bool known, int count)
{
    struct cs_ladder ladder;
    note_count = 0;
    errno = EDOM;
    CHECK_INT(cs_ladder_read(gpu, &ladder, take_note, &note_count), known);
    CHECK_INT(ladder.known, known);
    CHECK_INT(note_count, count);
    CHECK_INT(errno, EDOM);
    CHECK_INT(cs_ladder_read(gpu, &ladder, NULL, NULL), known);
}

static void only_a_safe_file_is_read(void)
{
    static const char name[] = "convshim/NVIDIA-H200.json";
    setenv("XDG_CACHE_HOME", folder, 1);
    CHECK(mkdir(path_of("convshim"), 0700) == 0);
    check_read(H200, false, 0);
    write_file(name, TEXT, sizeof TEXT - 1);
    CHECK(chmod(path_of(name), 0644) == 0);
    check_read(H200, true, 0);
    check_read("NVIDIA-H200", false, 1); /* another GPU's file of the same name */
    secure = 1;
    check_read(H200, false, 1);
    secure = 0;
    CHECK(chmod(path_of(name), 0646) == 0);
    check_read(H200, false, 1);
    CHECK(chmod(path_of(name), 0600) == 0);
    if (geteuid() == 0) {
        CHECK(chown(path_of(name), 12345, 0) == 0);
        check_read(H200, false, 1);
        CHECK(chown(path_of(name), 0, 0) == 0);
    }
    CHECK(cs_ladder_of("NVIDIA A100").known == false);
    CHECK(chmod(path_of(name), 0600) == 0);
    CHECK(cs_ladder_of(H200).kernel_us == 4.1 && cs_ladder_of(H200).lane_gain == 0.3);
    write_file(name, TEXT "\0", sizeof TEXT);
    check_read(H200, false, 1);
    char large[CS_LADDER_TEXT];
    memset(large, ' ', sizeof large);
    memcpy(large, TEXT, sizeof TEXT - 1);
    write_file(name, large, sizeof large);
    check_read(H200, false, 1);
    write_file(name, large, sizeof large - 1);
    check_read(H200, true, 0);
    CHECK(unlink(path_of(name)) == 0 && mkdir(path_of(name), 0700) == 0);
    check_read(H200, false, 1);
    CHECK(cs_ladder_of(H200).known); /* read once */
    CHECK(rmdir(path_of(name)) == 0 && rmdir(path_of("convshim")) == 0);
}

int main(void)
{
    if (!make_folder())
        return 1;
    TEST(the_path);
    TEST(written_text_is_parsed);
    TEST(damaged_text_is_refused);
    TEST(only_a_safe_file_is_read);
    CHECK(rmdir(folder) == 0);
    return REPORT();
}
