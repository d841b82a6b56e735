/* `convshim config`: the options in force and their sources, the rules that a convolution
 * matches, the check of a file, and refusals. */
#include "golden.h"

static char folder[] = "/tmp/convshim-config-XXXXXX", root[PATH_MAX];

#define CONFIG(line) golden_line(cs_cli_config, "config " line)

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void write_files(void)
{
    write_file("rules.ini",
               "workspace = 32MiB\n[rule last]\nlayout = nhwc\nskip = yes\n[rule strided]\n"
               "kernel = 3x3\nh = 64\ndirection = dgrad\nprogram = train*\nlanes = 2\n"
               "[rule large]\nrequired = 100MiB..\nworkspace = 16MiB\n[rule engine]\nengine = 57\n"
               "tiles = 3\n[rule deep]\nd = 5..\npolicy = off\n[rule w]\ndirection = wgrad\n"
               "n = 1..4\nc = 16\nthreshold = 0\n");
    write_file("wrong.ini", "[rule c]\ntiles = 2\n");
}

/* Every option with its source, the rules as text, and the rules that a convolution matches. */
static void every_format(void)
{
    setenv("CONVSHIM_CONFIGFILE", "rules.ini", 1);
    setenv("CONVSHIM_CONFIG", "lanes = 2; tiles=3", 1);
    setenv("CONVSHIM_LOG_FILE", "log.txt", 1);
    CONFIG("");
    CONFIG("--format csv");
    unsetenv("CONVSHIM_CONFIG");
    unsetenv("CONVSHIM_LOG_FILE");
    CONFIG("--explain '1x512x64x64 -> 512 k3x3 p1 f16 nchw fwd'");
    CONFIG("--explain '1x512x64x64 -> 512 k3x3 p1 bf16 nhwc dgrad'");
    CONFIG("--explain '1x64x64x64 -> 64 k3x3 dgrad required=1MiB' --program train_all");
    CONFIG("--explain '1x16x8x8 -> 16 k3x3 wgrad' --program trainer");
    CONFIG("--check wrong.ini");
    golden_check(root, "config.txt");
}

static void command_lines(void)
{
    static const struct golden_answer rows[] = {
        {"config --program python3 --script main.py", 0, "workspace"},
        {"config --format json", 0, "\"workspace\""},
        {"config --check rules.ini", 1, "rules.ini:14: rule engine: tiles"},
        {"config --check nowhere.ini", 2, "nowhere.ini"},
        {"config --check /dev/null", 0, "/dev/null: ok"},
        {"config --format xml", 2, "--format"},
        {"config more", 2, "more"},
        {"config --explain '1x16x8x8 -> 16 k3x3' --script main.py", 0, "rule"},
        {"config --explain '1x16x8x8 -> 16 k3x3' --format csv", 2, "--explain prints text"},
        {"config --explain '1x16x8x8 -> 16 k3x3' --check rules.ini", 1, "rules.ini:14"},
        {"config --explain '1x16x8x8 -> 16 k3x3 required=200MiB engine=57'", 0, "rule large"},
        {"config --explain '1x16x5x8x8 -> 16 k1x3x3 required=0'", 0, "rule deep"},
        {"config --explain '1x16x8 -> 16 k3 s2 p1'", 0, "rule"},
        {"config --explain '1x16x8x8 -> 16 k5x5 s2 d1 g2'", 0, "rule"},
        {"config --explain '1x16x8x8 -> 16 k3x3 s2x1 p1x2 d1x2'", 0, "rule"},
        {"config --explain 1x16x8x8", 2, "->"},
        {"config --explain '1x16x8x8 -> 16 k3x3 colour=red'", 2, "colour"},
        {"config --explain '1x16x8x8 -> 16 k3x3 required=many'", 2, "many"},
        {"config --explain '1x16x8x8 -> 16 k9x9'", 2, "along H"},
        {"config --explain '1x16x8x8 -> 16 k3x3 p1x2x3'", 2, "1x2x3"},
        {"config --explain '1x16 -> 16 k'", 2, "1x16"},
        {"config --explain '1x16x8x8 -> 16 k3x3 gtwo'", 2, "gtwo"},
        {"config --explain '1x16x8x8 -> 16 k3x3 engine=x'", 2, "\"x\""},
        {"config --explain '1x16x8x8 -> 16 k3x3 g9223372036854775807'", 2, "groups"},
        {"config --explain '1x16x8x8 -> 16 k3x3 red'", 2, "red"},
        {"config --explain '1x16x8x8 -> 16 k3x3 z'", 2, "z"},
        {"config --explain ''", 2, "--explain"}};
    setenv("CONVSHIM_CONFIGFILE", "rules.ini", 1);
    golden_answers(cs_cli_config, rows, sizeof rows / sizeof *rows);
    setenv("CONVSHIM", "0", 1);
    golden_answers(cs_cli_config,
                   (const struct golden_answer[]){{"config --format csv", 0, "CONVSHIM"}}, 1);
    unsetenv("CONVSHIM");
    unsetenv("CONVSHIM_CONFIGFILE");
}

/* Options that are understood and have no effect: the line names the place and the option. */
static void advice(void)
{
    static const struct {
        const char *text;
        int status;
        const char *phrase;
    } rows[] = {
        {"log_file = '\n", 0, ""},
        {"log_file = ''\n", 1, ":1: log_file"},
        {"log_file = 'a b'\nsummary = json:\"x\"\n", 1, ":2: summary"},
        {"log_file = \"a'\nsummary = json:~/x\n", 1, ":2: summary"},
        {"log_file = ~/t\n", 1, ":1: log_file"},
        {"tiles = 3\n", 1, ":1: tiles"},
        {"tiles = 3\npolicy = fixed\n", 0, ""},
        {"tiles = 3\n[rule a]\npolicy = fixed\n", 0, ""},
        {"max_slowdown = 2\npolicy = fixed\n", 1, ":1: max_slowdown"},
        {"arena = 1MiB\n", 0, ""},
        {"[rule a]\nskip = yes\n[rule b]\nh = 1\nlanes = 2\n", 1, ":1: rule a"},
        {"[rule a]\nskip = yes\n", 0, ""},
        {"[rule a]\nn = 2..\nskip = yes\n[rule b]\nlanes = 2\n", 0, ""},
        {"[rule a]\nengine = 0..\nskip = yes\n[rule b]\nlanes = 2\n", 0, ""},
        {"[rule a]\nrequired = 1KiB..\nskip = yes\n[rule b]\nlanes = 2\n", 0, ""},
        {"[rule a]\ndirection = fwd, dgrad\nskip = yes\n[rule b]\nlanes = 2\n", 0, ""},
        {"[rule a]\nkernel = any\nskip = yes\n[rule b]\nlanes = 2\n", 1, ":2: rule a: kernel"},
        {"[rule a]\nkernel = 3x3\nskip = yes\n[rule b]\nlanes = 2\n", 0, ""},
        {"[rule a]\nprogram = *x*\nskip = yes\n[rule b]\nlanes = 2\n", 0, ""},
        {"[rule a]\nskip = yes\nlanes = 2\n", 1, "because of skip = yes"},
        {"[rule a]\nskip = no\nlanes = 2\n", 0, ""},
        {"[rule a]\nskip = yes\ntiles = 2\n", 1, "because of skip = yes"},
        {"[rule a]\ntiles = 2\n", 1, ":1: rule a: tiles"},
        {"[rule a]\ntiles = 2\npolicy = fixed\n", 0, ""},
        {"policy = fixed\n[rule a]\ntiles = 2\n", 0, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int status;
        write_file("advised.ini", rows[i].text);
        char *text = golden_output(cs_cli_config, "config --check advised.ini", &status);
        if ((status != rows[i].status || !strstr(text, rows[i].phrase)) && check_fails(__LINE__))
            printf("# %s\n# status %d, without \"%s\":\n# %s", rows[i].text, status, rows[i].phrase,
                   text);
        free(text);
    }
}

static void memory_that_runs_short(void)
{
    golden_short(cs_cli_config, "config --format json");
    setenv("CONVSHIM_CONFIGFILE", "rules.ini", 1);
    golden_short(cs_cli_config, "config");
    unsetenv("CONVSHIM_CONFIGFILE");
    golden_short(cs_cli_config, "config --check rules.ini");
    golden_short(cs_cli_config, "config --explain '1x16x8x8 -> 16 k3x3 wgrad'");
}

int main(void)
{
    char remove[64];
    heap_watch();
    if (!mkdtemp(folder) || !getcwd(root, sizeof root) || chdir(folder) != 0)
        return 1;
    setenv("XDG_CONFIG_HOME", folder, 1);
    setenv("HOME", folder, 1);
    unsetenv("CONVSHIM_CONFIG");
    write_files();
    TEST(every_format);
    TEST(command_lines);
    TEST(advice);
    TEST(memory_that_runs_short);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
