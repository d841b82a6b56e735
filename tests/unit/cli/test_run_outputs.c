/* `convshim run`: the environment that a program would get, presets, and programs that cannot be
 * run. No program is run. */
#include "elf_image.h"
#include "golden.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>

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

/* An environment, as "A=1|B=2", and a command line. */
struct state {
    const char *variables, *line;
};

static const char *variables;

/* The command may change the environment, so each run starts with the same. */
static int run(int argc, char **argv)
{
    char **kept = environ, *none[] = {NULL}, session[64], copy[512];
    environ = none;
    snprintf(session, sizeof session, "XDG_RUNTIME_DIR=%s", folder);
    putenv(session);
    putenv((char *)"CONVSHIM_CONFIGFILE=none.ini");
    snprintf(copy, sizeof copy, "%s", variables);
    for (char *variable = strtok(copy, "|"); variable; variable = strtok(NULL, "|"))
        putenv(variable);
    int status = cs_cli_run(argc, argv);
    environ = kept;
    return status;
}

static void add(const struct state *of)
{
    char title[1024];
    struct golden_command command = {run, of->line};
    variables = of->variables;
    snprintf(title, sizeof title, "%s%s%s", of->variables, *of->variables ? " " : "", of->line);
    golden_add(title, golden_call, &command);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* A file that can be a library. */
static void write_library(const char *path)
{
    static struct image {
        Elf64_Ehdr header;
        Elf64_Phdr segment[ELF_SEGMENTS];
    } image;
    const size_t segments = offsetof(struct image, segment);
    const struct elf_places at = {segments, 0, 0, 0, 0, sizeof image};
    image.header = elf_header(&at);
    elf_segments(&at, 0, image.segment);
    FILE *file = fopen(path, "w");
    CHECK(file && fwrite(&image, sizeof image, 1, file) == 1 && fclose(file) == 0);
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
    write_library("a place/libconvshim.so");
    write_library("lib.so");
    write_text("none.ini", "");
    write_text("bin/program", "no program\n");
    write_text("conf/presets/small.ini", "# Few bytes.\nworkspace = 1MiB\n");
    write_text("conf/presets/large.ini", "Many bytes.\n");
    write_text("conf/presets/.hidden.ini", "# Hidden.\n");
    write_text("conf/presets/other.txt", "# No preset.\n");
}

static const char *release = "6.1.0";

int uname(struct utsname *system)
{
    *system = (struct utsname){.sysname = "Linux"};
    snprintf(system->release, sizeof system->release, "%s", release);
    return 0;
}

#define DRY "run --dry-run --library lib.so"
/* Without the variables that every run sets. */
#define BARE "NVTX_INJECTION64_PATH=/tool.so"
#define BARE_DRY DRY " --no-expandable-segments"

static void environments(void)
{
    static const struct state rows[] = {
        {"", DRY " -- bin/program x"},
        {"", "run --dry-run"},
        {BARE "|LD_PRELOAD=", BARE_DRY},
        {BARE "|LD_PRELOAD=:/x.so : /y.so:", BARE_DRY},
        {BARE "|LD_PRELOAD=/l/libasan.so.8:/y.so", BARE_DRY},
        {BARE "|LD_PRELOAD=/y.so:/l/libtsan.so /z.so", BARE_DRY},
        {BARE "|LD_PRELOAD=libubsan.so.1", BARE_DRY},
        {BARE "|LD_PRELOAD=/l/libclang_rt.asan.so:/a.so", BARE_DRY},
        {BARE "|LD_PRELOAD=/libasan/y.so:libasa.so", BARE_DRY},
        {BARE "|LD_PRELOAD=it's", BARE_DRY},
        {"NVTX_INJECTION64_PATH=/tool.so", DRY},
        {"", DRY " --no-expandable-segments"},
        {"PYTORCH_CUDA_ALLOC_CONF=a:1", DRY},
        {"PYTORCH_ALLOC_CONF=a:1", DRY},
        {"", DRY " --workspace=1MiB --lanes 2 --workspace 2MiB"},
        {BARE "|CONVSHIM_WORKSPACE=2MiB|CONVSHIM_LANES=3", BARE_DRY " --workspace 1MiB"},
        {BARE "|CONVSHIM_LOG=info", BARE_DRY " --log-file 'a b.txt'"},
        {"CONVSHIM=0", DRY},
        {BARE "|CONVSHIM_CONFIG=lanes=3", BARE_DRY " --preset small --workspace 2MiB"},
        {"", "run --preset list"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add(&rows[i]);
    release = "5.15.167.4-microsoft-standard-WSL2";
    add(&(struct state){"", DRY});
    release = "6.1.0";
    golden_check(root, "run.txt");
}

static void refusals(void)
{
    static const struct golden_answer rows[] = {
        {"run", 125, "program"},
        {"run --library lib.so", 125, "program"},
        {"run --dry-run --library nowhere.so", 125, "nowhere.so"},
        {"run --dry-run --library none.ini", 125, "not an ELF file"},
        {"run --dry-run --library 'a place/libconvshim.so'", 125, "LD_PRELOAD"},
        {"run --library lib.so -- nowhere", 127, "nowhere"},
        {"run --library lib.so -- ./nowhere", 127, "./nowhere"},
        {"run --library lib.so -- lib.so/x", 127, "lib.so/x"},
        {"run --library lib.so -- bin/program", 126, "bin/program"},
        {"run --library lib.so -- .", 126, ".: "},
        {DRY " --workspace lots", 125, "--workspace"},
        {DRY " --workspace", 125, "--workspace"},
        {DRY " --policy elephants", 125, "--policy"},
        {DRY " --log-file=", 125, "--log-file"},
        {DRY " --colour red", 125, "--colour"},
        {DRY " --work 1MiB", 0, "CONVSHIM_WORKSPACE=1MiB"},
        {DRY " -x", 125, "-x"},
        {DRY " --dry-run=1", 125, "--dry-run"},
        {DRY " --preset smal", 125, "'small'"},
        {DRY " --preset elephants", 125, "'elephants'"},
        {DRY " --preset nowhere.ini", 125, "nowhere.ini"},
        {"run --help", 0, "--dry-run"}};
    variables = "";
    golden_answers(run, rows, sizeof rows / sizeof *rows);
}

/* The library and the presets next to the command, or in the folders of an installation. */
static void places(void)
{
    static const struct {
        const char *place, *line;
        int status;
        const char *phrase;
    } rows[] = {{"bin", "run --dry-run", 0, "bin/libconvshim.so"},
                {"bin", "run --dry-run --preset small", 0, "presets/small.ini"},
                {"broken/bin", "run --preset list", 125, "folder.ini"},
                {"broken/bin", DRY " --preset folder", 0, "folder.ini: "},
                {"none/bin", "run --dry-run", 125, "libconvshim.so"},
                {"none/bin", "run --preset list", 0, "Many bytes."},
                {NULL, "run --dry-run", 125, "libconvshim.so"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct golden_answer answer = {rows[i].line, rows[i].status, rows[i].phrase};
        placed = rows[i].place != NULL;
        snprintf(place, sizeof place, "%s/%s", folder, placed ? rows[i].place : "");
        golden_answers(run, &answer, 1);
    }
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
    TEST(environments);
    TEST(refusals);
    TEST(places);
    setenv("PATH", "/usr/bin:/bin", 1);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
