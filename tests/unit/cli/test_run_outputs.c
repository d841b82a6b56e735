/* All that `convshim` and `convshim run --dry-run` print: which environment a program would get in
 * which one, presets, and what cannot be run. Nothing is run. */
#include "golden.h"

#include <stdlib.h>
#include <sys/stat.h>

#define main convshim_main
int convshim_main(int argc, char **argv);
#include "cli/main.c" /* NOLINT(bugprone-suspicious-include) */
#undef main

static char folder[] = "/tmp/convshim-run-XXXXXX", root[PATH_MAX];

/* Where the command would be. */
static char place[PATH_MAX];
static bool placed = true;

ssize_t readlink(const char *path, char *text, size_t size)
{
    ssize_t length = placed ? snprintf(text, size, "%s/convshim", place) : -1;
    CHECK_STR(path, "/proc/self/exe");
    return length < 0 || (size_t)length < size ? length : (ssize_t)size;
}

/* The same where lengths are checked. */
ssize_t __readlink_chk(const char *path, char *text, size_t size, size_t room);

ssize_t __readlink_chk(const char *path, char *text, size_t size, size_t room)
{
    CHECK(size <= room);
    return readlink(path, text, size);
}

struct state {
    const char *variables[6], *words[12];
};

/* It may change the environment: each time it finds the same. */
static int call(void *state)
{
    const struct state *of = state;
    char *words[16] = {(char *)"convshim"}, session[64];
    int argc = 1;
    char **kept = environ, *none[] = {NULL};
    environ = none;
    snprintf(session, sizeof session, "XDG_RUNTIME_DIR=%s", folder);
    putenv(session);
    putenv((char *)"CONVSHIM_CONFIGFILE=none.ini");
    for (int i = 0; of->variables[i]; i++)
        putenv((char *)of->variables[i]);
    for (int i = 0; of->words[i]; i++)
        words[argc++] = (char *)of->words[i];
    int status = convshim_main(argc, words);
    environ = kept;
    return status;
}

static void add(const struct state *of)
{
    char title[1024] = "";
    size_t length = 0;
    for (int i = 0; of->variables[i]; i++)
        length += (size_t)snprintf(title + length, sizeof title - length, "%s ", of->variables[i]);
    length += (size_t)snprintf(title + length, sizeof title - length, "convshim");
    for (int i = 0; of->words[i]; i++)
        length += (size_t)snprintf(title + length, sizeof title - length, " %s", of->words[i]);
    golden_add(title, call, (void *)of);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void make_files(void)
{
    static const char *const folders[] = {"bin",
                                          "conf",
                                          "conf/presets",
                                          "a place",
                                          "broken",
                                          "broken/bin",
                                          "broken/conf",
                                          "broken/conf/presets",
                                          "broken/conf/presets/folder.ini",
                                          "none",
                                          "none/bin"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        CHECK(mkdir(folders[i], 0755) == 0);
    write_text("bin/libconvshim.so", "");
    write_text("a place/libconvshim.so", "");
    write_text("lib.so", "");
    write_text("none.ini", "");
    write_text("mistaken.ini", "workspace = lots\n");
    write_text("bin/program", "no program\n");
    write_text("conf/presets/small.ini", "# Few bytes.\nworkspace = 1MiB\n");
    write_text("conf/presets/large.ini", "Many bytes.\n");
    write_text("conf/presets/.hidden.ini", "# Hidden.\n");
    write_text("conf/presets/other.txt", "# No preset.\n");
}

#define DRY "run", "--dry-run", "--library", "lib.so"

static void what_a_program_would_get(void)
{
    static const struct state rows[] = {
        {{NULL}, {DRY}},
        {{NULL}, {"run", "--dry-run"}},
        {{NULL}, {"run", "--dry-run", "--", "bin/program", "x"}},
        {{"LD_PRELOAD="}, {DRY}},
        {{"LD_PRELOAD=/x.so"}, {DRY}},
        {{"LD_PRELOAD=/x.so:/y.so /z.so"}, {DRY}},
        {{"LD_PRELOAD=:/x.so : /y.so:"}, {DRY}},
        {{"LD_PRELOAD=/l/libasan.so.8:/y.so"}, {DRY}},
        {{"LD_PRELOAD=/y.so:/l/libtsan.so /z.so"}, {DRY}},
        {{"LD_PRELOAD=libubsan.so.1"}, {DRY}},
        {{"LD_PRELOAD=/l/liblsan.so:"}, {DRY}},
        {{"LD_PRELOAD=/l/libclang_rt.asan.so:/a.so"}, {DRY}},
        {{"LD_PRELOAD=/libasan/y.so:libasa.so"}, {DRY}},
        {{"LD_PRELOAD=it's"}, {DRY}},
        {{"NVTX_INJECTION64_PATH=/tool.so"}, {DRY}},
        {{NULL}, {DRY, "--expandable-segments"}},
        {{"PYTORCH_CUDA_ALLOC_CONF=a:1"}, {DRY, "--expandable-segments"}},
        {{"PYTORCH_CUDA_ALLOC_CONF=a:1", "PYTORCH_ALLOC_CONF=b:2"}, {DRY, "--expandable-segments"}},
        {{"PYTORCH_ALLOC_CONF=expandable_segments:False"}, {DRY, "--expandable-segments"}},
        {{"PYTORCH_CUDA_ALLOC_CONF=x,expandable_segments:True"}, {DRY, "--expandable-segments"}},
        {{NULL}, {DRY, "--workspace", "1MiB"}},
        {{NULL}, {DRY, "--workspace=1MiB", "--lanes", "2", "--workspace", "2MiB"}},
        {{"CONVSHIM_CONFIG=lanes=3;workspace=4MiB"}, {DRY, "--workspace", "1MiB"}},
        {{"CONVSHIM_CONFIG= workspace \t= 4MiB ;;lanes=3\npolicy=fit"},
         {DRY, "--workspace", "1MiB"}},
        {{"CONVSHIM_CONFIG=workspaces=4MiB;workspace"}, {DRY, "--workspace", "1MiB"}},
        {{"CONVSHIM_CONFIG=;"}, {DRY, "--workspace", "1MiB"}},
        {{"CONVSHIM_WORKSPACE=2MiB", "CONVSHIM_LANES=3"}, {DRY, "--workspace", "1MiB"}},
        {{"CONVSHIM_LOG=info"}, {DRY, "--log", "warn"}},
        {{"CONVSHIM_LOG=info"}, {DRY, "--trace", "a b.json"}},
        {{"CONVSHIM=0"}, {DRY}},
        {{"CONVSHIM_CONFIGFILE=mistaken.ini"}, {DRY}},
        {{"CONVSHIM_WORKSPASE=1"}, {DRY}},
        {{NULL}, {DRY, "--preset", "small"}},
        {{"CONVSHIM_CONFIG=lanes=3"}, {DRY, "--preset", "small", "--workspace", "2MiB"}},
        {{NULL}, {DRY, "--preset", "mistaken.ini"}},
        {{NULL}, {DRY, "--preset", "./none.ini"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add(&rows[i]);
    golden_check(root, "outputs_run.txt");
}

static void what_is_refused(void)
{
    static const struct state rows[] = {
        {{NULL}, {"run"}},
        {{NULL}, {"run", "--library", "lib.so"}},
        {{NULL}, {"run", "--dry-run", "--library", "nowhere.so"}},
        {{NULL}, {"run", "--dry-run", "--library", "a place/libconvshim.so"}},
        {{NULL}, {"run", "--library", "lib.so", "--", "nowhere"}},
        {{NULL}, {"run", "--library", "lib.so", "--", "./nowhere"}},
        {{NULL}, {"run", "--library", "lib.so", "--", "lib.so/x"}},
        {{NULL}, {"run", "--library", "lib.so", "--", "bin/program"}},
        {{NULL}, {"run", "--library", "lib.so", "--", "."}},
        {{NULL}, {DRY, "--workspace", "lots"}},
        {{NULL}, {DRY, "--workspace"}},
        {{NULL}, {DRY, "--policy", "elephants"}},
        {{NULL}, {DRY, "--trace", "a;b"}},
        {{NULL}, {DRY, "--log-file", "a\nb"}},
        {{NULL}, {DRY, "--colour", "red"}},
        {{NULL}, {DRY, "--work", "1MiB"}},
        {{NULL}, {DRY, "-x"}},
        {{NULL}, {DRY, "--dry-run=1"}},
        {{NULL}, {DRY, "--preset", "smal"}},
        {{NULL}, {DRY, "--preset", "elephants"}},
        {{NULL}, {DRY, "--preset", "nowhere.ini"}},
        {{NULL}, {"run", "--preset", "list"}},
        {{NULL}, {"run", "--help"}},
        {{NULL}, {NULL}},
        {{NULL}, {""}},
        {{NULL}, {"--version"}},
        {{NULL}, {"--help"}},
        {{NULL}, {"-h"}},
        {{NULL}, {"help"}},
        {{NULL}, {"help", "help"}},
        {{NULL}, {"help", "-h"}},
        {{NULL}, {"help", "status"}},
        {{NULL}, {"help", "statis"}},
        {{NULL}, {"predikt"}},
        {{NULL}, {"elephants"}},
        {{NULL}, {"--versions"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add(&rows[i]);
    golden_check(root, "outputs_run_refused.txt");
}

/* Beside the command, and where it is installed. */
static void places(void)
{
    static const char *const names[] = {"bin", "broken/bin", "none/bin", "nowhere"};
    static const struct state rows[] = {{{NULL}, {"run", "--preset", "list"}},
                                        {{NULL}, {"run", "--dry-run"}},
                                        {{NULL}, {"run", "--dry-run", "--preset", "small"}},
                                        {{NULL}, {DRY, "--preset", "folder"}}};
    for (size_t i = 0; i < 5; i++) {
        placed = i < 4;
        snprintf(place, sizeof place, "%s/%s", folder, i < 4 ? names[i] : "");
        golden_puts(i < 4 ? names[i] : "it is not known");
        golden_puts("\n");
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++)
            add(&rows[j]);
    }
    golden_check(root, "outputs_run_places.txt");
}

int main(void)
{
    char remove[64];
    heap_watch();
    if (!mkdtemp(folder) || !getcwd(root, sizeof root) || chdir(folder) != 0)
        return 1;
    snprintf(place, sizeof place, "%s/bin", folder);
    golden_hide(folder, "FOLDER");
    make_files();
    TEST(what_a_program_would_get);
    TEST(what_is_refused);
    TEST(places);
    setenv("PATH", "/usr/bin:/bin", 1);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    free(golden_text);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
