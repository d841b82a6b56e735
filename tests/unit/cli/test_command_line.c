/* Shared parts of commands: text that cannot harm a terminal, options, files by their names. */
#include "cli/common/data_files.h"
#include "golden.h"
#include <limits.h>
#include <sys/stat.h>

static void no_byte_acts_on_a_terminal(void)
{
    static const char *const rows[][2] = {
        {"plain, two\nlines", "plain, two\nlines"},
        {"\x1b[2Jred\t\r\x01\x1f ~\x7f", "?[2Jred???? ~?"},
        {"\xc2\x9b[2J \xc2\x80\xc2\x9f", "??[2J ????"},
        {"\xc2\xa0 \xc3\xa9 \xe2\x82\xac", "\xc2\xa0 \xc3\xa9 \xe2\x82\xac"},
        {"\xc2", "\xc2"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[64] = "";
        FILE *out = fmemopen(text, sizeof text, "w");
        cs_cli_put(rows[i][0], out);
        fclose(out);
        CHECK_STR(text, rows[i][1]);
    }
}

static void similar_word_is_suggested(void)
{
    static const char *const words[] = {"device", "devices", "format", "csv", "cudnn", NULL},
                             *const near[] = {"fa", "abcde", NULL};
    static const struct {
        const char *word;
        const char *const *words;
        const char *nearest;
    } rows[] = {{"devise", words, "device"}, {"devicess", words, "devices"},
                {"fromat", words, "format"}, {"cvs", words, "csv"},
                {"csw", words, "csv"},       {"x", words, NULL},
                {"threads", words, NULL},    {"", words, NULL},
                {"fo", near, "fa"},          {"abxye", near, "abcde"},
                {"abxyz", near, NULL},       {"f", near + 1, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *found = cs_cli_nearest(rows[i].word, rows[i].words);
        CHECK_STR(found ? found : "none", rows[i].nearest ? rows[i].nearest : "none");
    }
}

static void sizes(void)
{
    int64_t bytes = 7;
    CHECK(cs_cli_size("64MiB", &bytes) && bytes == 64 << 20);
    CHECK(!cs_cli_size("64", &bytes)); /* without a unit */
    CHECK(!cs_cli_size("auto", &bytes) && !cs_cli_size("-1", &bytes) && !cs_cli_size("", &bytes));
    CHECK_INT(bytes, 64 << 20);
}

static void the_folder_of_the_program(void)
{
    char path[4096], self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    CHECK(cs_cli_folder(path, sizeof path));
    CHECK_STR(path, self);
    CHECK(!cs_cli_folder(path, strlen(self)));
}

/* --- options --- */

static const struct cs_cli_option options[] = {
    {.name = "device",
     .argument = "NAME",
     .group = "Where",
     .help = "The GPU, one of a list, or a path."},
    {.name = "sweep_from",
     .argument = "SIZE",
     .group = "Where",
     .help = "A word without a blank that is longer than a whole line of help has room for, x"},
    {.name = "quiet", .group = "How", .help = "No line."},
};
static const struct cs_cli_command command = {.name = "try",
                                              .usage = "convshim try [options]",
                                              .about = "Tries.\n",
                                              .option = options,
                                              .options = 3};

static bool take(void *to, int option, const char *value)
{
    (void)to;
    printf("%s=%s;", options[option].name, value ? value : "-");
    return !value || strcmp(value, "bad") != 0;
}

/* Prints the options that it takes, and the place of the first operand. */
static int parse(int argc, char **argv)
{
    int operand = -1, status = cs_cli_parse(&command, argc, argv, take, NULL, &operand);
    if (status < 0)
        printf("operand %d\n", operand);
    return status < 0 ? 0 : status;
}

#define REFUSED(text) CS_CLI_USAGE, "convshim: try: " text "\nTry 'convshim try --help'.\n"

static void options_are_read_or_refused(void)
{
    static const struct golden_answer rows[] = {
        {"try --device=h100 --quiet file", 0, "device=h100;quiet=-;operand 3"},
        {"try --sweep-from 1", 0, "sweep_from=1;operand 3"},
        {"try --sweep_from=2 --dev x", 0, "sweep_from=2;device=x;operand 4"},
        {"try one --quiet", 0, "quiet=-;operand 2"}, /* operands come after the options */
        {"try one --device x two --quiet", 0, "device=x;quiet=-;operand 4"},
        {"try --device bad --quiet", CS_CLI_USAGE, "device=bad;"},
        {"try --devise=x",
         REFUSED("option '--devise' is unknown or ambiguous; did you mean '--device'?")},
        {"try --zzzzzzz", REFUSED("option '--zzzzzzz' is unknown or ambiguous")},
        {"try -zq", REFUSED("option '-z' is unknown or ambiguous")},
        {"try --device", REFUSED("option '--device' needs a value")},
        {"try --device --quiet", REFUSED("option '--device' needs a value, but '--quiet' follows")},
        {"try --device --", REFUSED("option '--device' needs a value, but '--' follows")},
        {"try --device=--quiet", 0, "device=--quiet;operand 2"},
        {"try --sweep_from=", REFUSED("option '--sweep-from' needs a value")},
        {"try --quiet=1", REFUSED("option '--quiet' takes no value")},
        {"try --help=1", REFUSED("option '--help' takes no value")},
        {"try --\x1b[2J", REFUSED("option '--?[2J' is unknown or ambiguous")},
        {"try -h", CS_CLI_OK,
         "usage: convshim try [options]\n\nTries.\n\nWhere\n"
         "  --device NAME           The GPU, one of a list, or a path.\n"
         "  --sweep-from SIZE       A word without a blank that is longer than a whole\n"
         "                          line of help has room for, x\n"
         "\nHow\n"
         "  --quiet                 No line.\n"
         "  --help                  Show this text.\n"}};
    golden_answers(parse, rows, sizeof rows / sizeof *rows);
}

/* --- files --- */

static const struct cs_data_files files = {"devices", "device", ".json"};

static void names_and_paths(void)
{
    char name[16];
    CHECK(cs_data_file_is_path(&files, "a/b") && cs_data_file_is_path(&files, "b.json"));
    CHECK(!cs_data_file_is_path(&files, "h100") && !cs_data_file_is_path(&files, ".json"));
    cs_data_file_name(&files, "x/y/h100.json", name, sizeof name);
    CHECK_STR(name, "h100");
    cs_data_file_name(&files, "h100.ini", name, sizeof name);
    CHECK_STR(name, "h100.ini");
    cs_data_file_name(&files, "x.json/h100.json", name, 3);
    CHECK_STR(name, "h1");
}

static const struct cs_column columns[] = {{.name = "name"}};

static bool add(struct cs_table *table, const char *path, char error[CS_DATA_FILE_ERROR])
{
    char name[32];
    cs_data_file_name(&files, path, name, sizeof name);
    if (strcmp(name, "broken") == 0) {
        snprintf(error, CS_DATA_FILE_ERROR, "broken");
        return false;
    }
    cs_table_add(table, &(struct cs_value){.text = name});
    return true;
}

/* list FOLDER */
static int list(int argc, char **argv)
{
    char error[CS_DATA_FILE_ERROR] = "nothing said";
    bool good = cs_data_files_list(&files, argv[argc - 1], columns, 1, add, CS_FORMAT_CSV, error);
    puts(good ? "" : error);
    return !good;
}

/* find FOLDER NAME WRITTEN. No FOLDER: of other files, which are nowhere. */
static int find(int argc, char **argv)
{
    static const struct cs_data_files others = {"none such", "thing", ".x"};
    char error[CS_DATA_FILE_ERROR] = "nothing said", path[64];
    bool good =
        argc < 4 ? cs_data_files_find(&others, NULL, "a", "a", path, sizeof path, error)
                 : cs_data_files_find(&files, argv[1], argv[2], argv[3], path, sizeof path, error);
    puts(good ? path : error);
    return !good;
}

static void make(const char *path)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fclose(file) == 0);
}

static void files_are_listed_and_found_by_name(void)
{
    static const struct golden_answer
        lists[] = {{"list devices", 0, "name\na100\nh200\n"},
                   {"list broken", 1, "broken"},
                   {"list nowhere", 1, "nowhere: No such file or directory"}},
        finds[] = {{"find devices h200 h200", 0, "devices/h200.json"},
                   {"find devices h20 'H 20'", 1,
                    "unknown device 'H 20'; did you mean 'h200'?; to list all: --device list"},
                   {"find devices zzzzzz zzzzzz", 1,
                    "unknown device 'zzzzzz'; to list all: --device list"},
                   {"find empty h200 h200", 1, "unknown device 'h200'; to list all: --device list"},
                   {"find nowhere h200 h200", 1, "nowhere: No such file or directory"},
                   {"find", 1,
                    "the folder of things was not found. Install convshim again, or give a path: "
                    "--thing FILE"}};
    char error[CS_DATA_FILE_ERROR], path[64];
    CHECK(mkdir("devices", 0700) == 0 && mkdir("broken", 0700) == 0 && mkdir("empty", 0700) == 0);
    make("devices/h200.json");
    make("devices/a100.json");
    make("devices/.hidden.json");
    make("devices/notes.txt");
    make("broken/a100.json");
    make("broken/broken.json");
    golden_answers(list, lists, sizeof lists / sizeof *lists);
    golden_answers(find, finds, sizeof finds / sizeof *finds);
    CHECK(cs_data_files_find(&files, "devices", "h200", "h200", path, 18, error));
    CHECK(!cs_data_files_find(&files, "devices", "h200", "h200", path, 17, error));
}

int main(void)
{
    char folder[] = "/tmp/convshim-cli-XXXXXX", remove[64];
    heap_watch();
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    TEST(no_byte_acts_on_a_terminal);
    TEST(similar_word_is_suggested);
    TEST(sizes);
    TEST(the_folder_of_the_program);
    TEST(options_are_read_or_refused);
    TEST(names_and_paths);
    TEST(files_are_listed_and_found_by_name);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
