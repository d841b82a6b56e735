/* Shared parts of commands: text that cannot harm a terminal, options, files by their names. */
#include "check.h"
#include "cli/common/cli.h"
#include "cli/common/data_files.h"
#include "heap.h"
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/convshim-cli-XXXXXX";

/* Collects the output to a stream in a buffer of 4 KiB. */
static struct {
    char text[4096];
    FILE *stream;
    int kept;
} heard;

static void begin(FILE *stream)
{
    int file = open("heard", O_RDWR | O_CREAT | O_TRUNC, 0600);
    fflush(stdout);
    fflush(stderr);
    heard.stream = stream;
    heard.kept = dup(fileno(stream));
    dup2(file, fileno(stream));
    close(file);
}

static const char *end(void)
{
    fflush(heard.stream);
    ssize_t length = pread(fileno(heard.stream), heard.text, sizeof heard.text - 1, 0);
    heard.text[length > 0 ? length : 0] = '\0';
    dup2(heard.kept, fileno(heard.stream));
    close(heard.kept);
    return heard.text;
}

static const char *put(const char *text)
{
    begin(stdout);
    cs_cli_put(text, stdout);
    return end();
}

static void no_byte_acts_on_a_terminal(void)
{
    CHECK_STR(put("plain, two\nlines"), "plain, two\nlines");
    CHECK_STR(put("\x1b[2Jred\t\r\x01\x1f ~\x7f"), "?[2Jred???? ~?");
    CHECK_STR(put("\xc2\x9b[2J \xc2\x80\xc2\x9f"), "?[2J ??");
    CHECK_STR(put("\xc2\xa0 \xc3\xa9 \xe2\x82\xac"), "\xc2\xa0 \xc3\xa9 \xe2\x82\xac");
    CHECK_STR(put("\xc2"), "\xc2");
}

static void similar_word_is_suggested(void)
{
    static const char *const words[] = {"device", "devices", "format", "csv", "cudnn", NULL};
    CHECK_STR(cs_cli_nearest("devise", words), "device");
    CHECK_STR(cs_cli_nearest("devicess", words), "devices");
    CHECK_STR(cs_cli_nearest("fromat", words), "format");
    CHECK_STR(cs_cli_nearest("cvs", words), "csv");
    CHECK_STR(cs_cli_nearest("csw", words), "csv");
    CHECK(cs_cli_nearest("x", words) == NULL);
    CHECK(cs_cli_nearest("threads", words) == NULL);
    CHECK_STR(cs_cli_nearest("fo", (const char *const[]){"fa", NULL}), "fa");
    CHECK(cs_cli_nearest("f", (const char *const[]){"a", NULL}) == NULL);
    CHECK_STR(cs_cli_nearest("abxye", (const char *const[]){"abcde", NULL}), "abcde");
    CHECK(cs_cli_nearest("abxyz", (const char *const[]){"abcde", NULL}) == NULL);
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
static char taken[256];

static bool take(void *to, int option, const char *value)
{
    CHECK(to == taken);
    snprintf(taken + strlen(taken), sizeof taken - strlen(taken), "%s=%s;", options[option].name,
             value ? value : "-");
    return !value || strcmp(value, "bad") != 0;
}

static int parse(const char *a, const char *b, const char *c)
{
    const char *argv[] = {"try", a, b, c, NULL};
    int argc = 1, operand = -1;
    while (argv[argc])
        argc++;
    taken[0] = '\0';
    int status = cs_cli_parse(&command, argc, (char **)argv, take, taken, &operand);
    return status >= 0 ? status : 100 + operand;
}

static void options_are_read(void)
{
    CHECK_INT(parse("--device=h100", "--quiet", "file"), 103);
    CHECK_STR(taken, "device=h100;quiet=-;");
    CHECK_INT(parse("--sweep-from", "1", NULL), 103);
    CHECK_STR(taken, "sweep_from=1;");
    CHECK_INT(parse("--sweep_from=2", "--dev", "x"), 104);
    CHECK_STR(taken, "sweep_from=2;device=x;");
    CHECK_INT(parse("one", "--quiet", NULL), 102); /* operands come after the options */
    CHECK_STR(taken, "quiet=-;");
    CHECK_INT(parse("--device", "bad", "--quiet"), CS_CLI_USAGE);
    CHECK_STR(taken, "device=bad;");
}

static void expect_refused(const char *a, const char *said)
{
    char want[256];
    begin(stderr);
    int status = parse(a, NULL, NULL);
    snprintf(want, sizeof want, "convshim: try: %s\nTry 'convshim try --help'.\n", said);
    CHECK_STR(end(), want);
    CHECK_INT(status, CS_CLI_USAGE);
}

static void invalid_options_are_refused(void)
{
    expect_refused("--devise=x",
                   "option '--devise' is unknown or ambiguous; did you mean '--device'?");
    expect_refused("--zzzzzzz", "option '--zzzzzzz' is unknown or ambiguous");
    expect_refused("--device", "option '--device' needs a value");
    expect_refused("--quiet=1", "option '--quiet' takes no value");
    expect_refused("--help=1", "option '--help' takes no value");
    expect_refused("--\x1b[2J", "option '--?[2J' is unknown or ambiguous");
}

static void help_is_set_in_columns(void)
{
    begin(stdout);
    int status = parse("-h", NULL, NULL);
    CHECK_STR(end(),
              "usage: convshim try [options]\n\nTries.\n\nWhere\n"
              "  --device NAME           The GPU, one of a list, or a path.\n"
              "  --sweep-from SIZE       A word without a blank that is longer than a whole\n"
              "                          line of help has room for, x\n"
              "\nHow\n"
              "  --quiet                 No line.\n"
              "  --help                  Show this text.\n");
    CHECK_INT(status, CS_CLI_OK);
}

static const struct cs_data_files files = {"devices", "device", ".json", "--devices"};

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

static void make(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(file >= 0 && close(file) == 0);
}

static void files_are_listed_by_name(void)
{
    char error[CS_DATA_FILE_ERROR] = "";
    CHECK(mkdir("devices", 0700) == 0);
    make("devices/h200.json");
    make("devices/a100.json");
    make("devices/.hidden.json");
    make("devices/notes.txt");
    begin(stdout);
    bool good = cs_data_files_list(&files, "devices", columns, 1, add, CS_FORMAT_CSV, error);
    CHECK_STR(end(), "name\na100\nh200\n");
    CHECK(good);
    make("devices/broken.json");
    CHECK(!cs_data_files_list(&files, "devices", columns, 1, add, CS_FORMAT_CSV, error));
    CHECK_STR(error, "broken");
    CHECK(!cs_data_files_list(&files, "nowhere", columns, 1, add, CS_FORMAT_CSV, error));
    CHECK_STR(error, "nowhere: No such file or directory");
    CHECK(unlink("devices/broken.json") == 0);
}

static void files_are_found_by_name(void)
{
    char error[CS_DATA_FILE_ERROR] = "", path[64];
    CHECK(cs_data_files_find(&files, "devices", "h200", "h200", path, sizeof path, error));
    CHECK_STR(path, "devices/h200.json");
    CHECK(cs_data_files_find(&files, "devices", "h200", "h200", path, 18, error));
    CHECK(!cs_data_files_find(&files, "devices", "h200", "h200", path, 17, error));
    CHECK(!cs_data_files_find(&files, "devices", "h20", "H 20", path, sizeof path, error));
    CHECK_STR(error, "unknown device 'H 20'; did you mean 'h200'?; to list all: --device list");
    CHECK(!cs_data_files_find(&files, "devices", "zzzzzz", "zzzzzz", path, sizeof path, error));
    CHECK_STR(error, "unknown device 'zzzzzz'; to list all: --device list");
    CHECK(mkdir("empty", 0700) == 0);
    CHECK(!cs_data_files_find(&files, "empty", "h200", "h200", path, sizeof path, error));
    CHECK_STR(error, "unknown device 'h200'; to list all: --device list");
    CHECK(!cs_data_files_find(&files, "nowhere", "h200", "h200", path, sizeof path, error));
    CHECK_STR(error, "nowhere: No such file or directory");
    CHECK(!cs_data_files_find(&(struct cs_data_files){"none such", "thing", ".x", NULL}, NULL, "a",
                              "a", path, sizeof path, error));
    CHECK_STR(error, "the folder of things was not found. Install convshim again");
    CHECK(!cs_data_files_find(&(struct cs_data_files){"none such", "thing", ".x", "--things"}, NULL,
                              "a", "a", path, sizeof path, error));
    CHECK_STR(error, "the folder of things was not found. Install convshim again, or give a path: "
                     "--things FILE");
}

/* A path of PATH_MAX leaves no byte for the terminator. The kernel may refuse shorter ones. */
static void a_folder_of_a_very_long_name_is_refused(void)
{
    static char given[PATH_MAX + 1];
    char error[CS_DATA_FILE_ERROR], path[64], said[CS_DATA_FILE_ERROR];
    memset(given, 'a', PATH_MAX);
    for (int cut = 0; cut < 2; cut++) {
        given[PATH_MAX - cut] = '\0';
        strcpy(error, "nothing said");
        snprintf(said, sizeof said, "%.150s%s: File name too long", given, cut ? "" : "...");
        CHECK(!cs_data_files_find(&files, given, "h200", "h200", path, sizeof path, error));
        CHECK_STR(error, said);
        strcpy(error, "nothing said");
        CHECK(!cs_data_files_list(&files, given, columns, 1, add, CS_FORMAT_CSV, error));
        CHECK_STR(error, said);
    }
}

static int added;

/* Takes the first file and refuses the second. */
static bool add_one(struct cs_table *table, const char *path, char error[CS_DATA_FILE_ERROR])
{
    (void)table, (void)path;
    snprintf(error, CS_DATA_FILE_ERROR, "no more");
    return added++ == 0;
}

static void reading_a_folder_frees_everything(void)
{
    static const struct cs_data_files things = {
        .folder = "things", .what = "thing", .suffix = ".json"};
    static const struct cs_column column = {"name", "name", CS_CELL_TEXT};
    static const char *const made[] = {"things/one.json", "things/two.json", "things/three.json"};
    char error[CS_DATA_FILE_ERROR], path[64];
    CHECK_INT(mkdir("things", 0700), 0);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        close(open(made[i], O_WRONLY | O_CREAT, 0600));
    heap_watch();
    for (int round = 0; round < 3; round++) {
        long long before = atomic_load(&heap_taken);
        added = 0;
        CHECK(!cs_data_files_list(&things, "things", &column, 1, add_one, CS_FORMAT_CSV, error));
        CHECK_INT(added, 2);
        CHECK(!cs_data_files_find(&things, "things", "twos", "twos", path, sizeof path, error));
        CHECK_STR(error, "unknown thing 'twos'; did you mean 'two'?; to list all: --thing list");
        CHECK(round == 0 || atomic_load(&heap_taken) == before); /* the first fills caches */
    }
}

int main(void)
{
    char remove[64];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    TEST(no_byte_acts_on_a_terminal);
    TEST(similar_word_is_suggested);
    TEST(sizes);
    TEST(the_folder_of_the_program);
    TEST(options_are_read);
    TEST(invalid_options_are_refused);
    TEST(help_is_set_in_columns);
    TEST(names_and_paths);
    TEST(files_are_listed_by_name);
    TEST(files_are_found_by_name);
    TEST(a_folder_of_a_very_long_name_is_refused);
    TEST(reading_a_folder_frees_everything);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
