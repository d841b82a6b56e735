/* The variables of a simulated run, in addition to those of this process: by the user's settings,
 * by side, by the records of the run. */
#include "golden.h"

#include "simdev/simulate/runs.h"
#include <sys/stat.h>

static char folder[] = "/tmp/convshim-variables-XXXXXX", root[PATH_MAX];

static void write_file(const char *path)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fclose(file) == 0);
}

static struct cs_simulation simulation;

static char first[64][300]; /* the lines of the first run; later runs print others alone */
static size_t firsts;

static bool was_shown(const char *item, bool is_first)
{
    for (size_t i = 0; i < firsts && !is_first; i++)
        if (strcmp(first[i], item) == 0)
            return true;
    if (is_first && firsts < 64)
        snprintf(first[firsts++], sizeof *first, "%s", item);
    return false;
}

static int show(void *run)
{
    struct cs_child_variables variables = {.items = 0};
    const bool is_first = !((const struct cs_sim_run *)run)->with && simulation.program.cuda == 13;
    cs_simulation_variables(&simulation, run, &variables);
    firsts = is_first ? 0 : firsts;
    for (size_t i = 0; i < variables.items; i++)
        if (strncmp(variables.item[i], "PATH=work/bin:", 14) == 0)
            printf("PATH=work/bin:...\n"); /* and this process's */
        else if (!was_shown(variables.item[i], is_first))
            printf("%s\n", variables.item[i]);
    CHECK(!variables.broken);
    cs_child_variables_free(&variables);
    return 0;
}

static void set_up(void)
{
    static const char *const files[] = {"dev/libcudart.so.13",
                                        "dev/libcudnn.so.9",
                                        "dev/libcuda.so.1",
                                        "dev/libx.so",
                                        "dev/libx.so.a",
                                        "dev/other.so.1",
                                        "dev/notes",
                                        "dev/libz.so.2.3",
                                        "work/standins/libcublas.so.13",
                                        "dev/cuda12/libcudart.so.12"};
    mkdir("dev", 0700);
    mkdir("dev/cuda12", 0700);
    mkdir("work", 0700);
    mkdir("work/standins", 0700);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        write_file(files[i]);
    snprintf(simulation.work, sizeof simulation.work, "work");
    snprintf(simulation.device, sizeof simulation.device, "dev");
    snprintf(simulation.library, sizeof simulation.library, "lib/libconvshim.so");
    snprintf(simulation.program.folder, sizeof simulation.program.folder, "cudnn");
    simulation.program.cuda = 13;
}

static char h100_path[] = "h100.json";
static const struct cs_device_file h100 = {.path = h100_path};
static struct cs_sim_run without = {.folder = "run1", .device = &h100},
                         with = {.folder = "run2",
                                 .device = &h100,
                                 .with = true,
                                 .memory = 12345678901,
                                 .history = true};

static void variables_of_runs(void)
{
    golden_add("without", show, &without);
    golden_add("with", show, &with);
    simulation.program.cuda = 12;
    golden_add("CUDA 12", show, &without);
    simulation.program.cuda = 13;
    setenv("LD_PRELOAD", "libtcmalloc.so:/x/libconvshim.so libasan.so", 1);
    setenv("LD_LIBRARY_PATH", "/own/lib", 1);
    setenv("PYTHONPATH", "/own/python", 1);
    setenv("NVTX_INJECTION64_PATH", "/own/nvtx.so", 1);
    setenv("CONVSHIM_LANES", "2", 1);
    golden_add("the user's own, with", show, &with);
    cs_child_variables_set(&simulation.options, "CONVSHIM_LANES", "1");
    snprintf(simulation.preset, sizeof simulation.preset, "card.ini");
    golden_add("options given", show, &with);
    golden_check(root, "simulate_variables.txt");
}

static const char *own(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "(none)";
}

/* A later one of the same name wins; this process has them then. */
static void they_become_this_processs_own(void)
{
    struct cs_child_variables variables = {.items = 0};
    setenv("OWN_REMOVED", "here", 1);
    cs_child_variables_set(&variables, "OWN_A", "%d", 1);
    cs_child_variables_set(&variables, "OWN_B", "%s=%s", "x", "y");
    cs_child_variables_remove(&variables, "OWN_REMOVED");
    cs_child_variables_set(&variables, "OWN_A", "%d", 2);
    cs_child_variables_set(&variables, "OWN_C", "%s", "");
    CHECK(cs_child_variables_apply(&variables));
    CHECK_STR(own("OWN_A"), "2");
    CHECK_STR(own("OWN_B"), "x=y");
    CHECK_STR(own("OWN_C"), "");
    CHECK(!getenv("OWN_REMOVED"));
    cs_child_variables_free(&variables);
    struct cs_child_variables broken = {.broken = true};
    CHECK(!cs_child_variables_apply(&broken));
}

int main(void)
{
    static const char *const names[] = {
        "LD_PRELOAD",     "LD_LIBRARY_PATH", "PYTHONPATH",      "NVTX_INJECTION64_PATH",
        "CONVSHIM_LANES", "SIMDEV_DIR",      "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS"};
    char remove[64];
    heap_watch();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("OPENBLAS_NUM_THREADS", "4", 1);
    if (!mkdtemp(folder) || !getcwd(root, sizeof root) || chdir(folder) != 0)
        return 1;
    set_up();
    TEST(variables_of_runs);
    TEST(they_become_this_processs_own);
    unsetenv("LD_PRELOAD");
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
