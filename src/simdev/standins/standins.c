/* standins: writes stand-ins for installed NVIDIA libraries, for programs on the simulated device
 * in account mode. */
#include "standins.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CORE "libsimdev-standin.so"

static const char usage[] =
    "usage: standins --out DIR [--cuda 12|13] LIBRARY...\n\n"
    "Writes a stand-in for each LIBRARY, an installed NVIDIA library such as "
    "libcublas.so.13.\n"
    "A stand-in has the same soname, names and symbol versions. Its functions "
    "follow the rules in\n"
    "src/simdev/libraries/standin_calls.def, and compute no results. Only the names and "
    "the result of the\n"
    "version query are read from LIBRARY.\n\n"
    "  --out DIR      folder for the stand-ins; created if necessary\n"
    "  --cuda N       CUDA version that the program was built for; selects the " CORE "\n"
    "                 in the folder of this program, or in cuda12/ below it "
    "(default: 13)\n";

static bool print_refusal(const char *what, const char *why)
{
    fprintf(stderr, "standins: %s: %s\n", what, why);
    return false;
}

/* "cublas" from "libcublas.so.13". */
static void short_name(const char *soname, char *name, size_t size)
{
    const char *start = strncmp(soname, "lib", 3) == 0 ? soname + 3 : soname;
    const char *end = strstr(start, ".so");
    snprintf(name, size, "%.*s", end ? (int)(end - start) : (int)strlen(start), start);
}

/* major, minor and patch in one number. */
static int property_of(int (*get)(int, int *))
{
    int value = 0;
    for (int part = 0; part < 3; part++) {
        int number = 0;
        (void)get(part, &number);
        value = value * STANDIN_PART + number % STANDIN_PART;
    }
    return value;
}

/* The result of the installed library's version query. 0 if the library cannot be loaded here. */
static int answer_of(const char *path, const struct standin_function *function)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    void *found = library ? dlsym(library, function->name) : NULL;
    int value = 0;
    if (!found)
        (void)print_refusal(path, "its version query failed");
    else if (function->kind == STANDIN_ANSWER)
        value = (int)((size_t(*)(void))found)();
    else if (function->kind == STANDIN_PROPERTY)
        value = property_of((int (*)(int, int *))found);
    else if (function->result[0].argument == 1)
        (void)((int (*)(void *, int *))found)(NULL, &value);
    else
        (void)((int (*)(int *))found)(&value);
    return value;
}

static bool asks_installed(enum standin_kind kind)
{
    return kind == STANDIN_ANSWER || kind == STANDIN_TELL || kind == STANDIN_PROPERTY;
}

/* The core's hand-written function for a name. NULL if there is none. */
static const char *by_hand(const struct standin_installed *core, const char *name)
{
    for (size_t i = 0; i < core->functions; i++)
        if (strncmp(core->function[i].name, STANDIN_BY_HAND, strlen(STANDIN_BY_HAND)) == 0 &&
            strcmp(core->function[i].name + strlen(STANDIN_BY_HAND), name) == 0)
            return core->function[i].name;
    return NULL;
}

static bool write_file(const char *folder, const char *name, const unsigned char *bytes,
                       size_t size)
{
    char path[PATH_MAX], fresh[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
    FILE *file = fopen(fresh, "wxe");
    bool good = file && fwrite(bytes, 1, size, file) == size;
    if (file)
        good = fclose(file) == 0 && good;
    /* Another process may write the same file at this time, and programs may have it loaded. */
    good = good && rename(fresh, path) == 0;
    return good || print_refusal(path, strerror(errno));
}

static bool plan_functions(struct standin_plan *plan, const struct standin_installed *installed,
                           const struct standin_installed *core, const char *path)
{
    char library[64];
    struct standin_rules rules;
    short_name(plan->soname, library, sizeof library);
    if (!standin_rules_find(library, &rules))
        return print_refusal(path, "standin_calls.def has no rules for this library");
    for (size_t i = 0; i < installed->functions; i++) {
        struct standin_planned *to = &plan->function[plan->functions++];
        to->as = installed->function[i];
        to->by_hand = by_hand(core, to->as.name);
        to->does = standin_rules_function(&rules, to->as.name);
        if (!to->by_hand && asks_installed(to->does.kind))
            to->does.value = answer_of(path, &to->does);
    }
    return true;
}

static bool stand_in(const char *folder, const struct standin_installed *core, const char *path)
{
    struct standin_installed installed;
    const char *why;
    if (!standin_installed_open(&installed, path, &why))
        return print_refusal(path, why);
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    struct standin_plan plan = {.soname = installed.soname ? installed.soname : basename(copy),
                                .core = CORE,
                                .machine = installed.machine,
                                .function = calloc(installed.functions + 1, sizeof *plan.function)};
    size_t size = 0;
    bool good = plan.function && plan_functions(&plan, &installed, core, path);
    unsigned char *bytes = good ? standin_write(&plan, &size) : NULL;
    if (bytes)
        good = write_file(folder, plan.soname, bytes, size);
    else if (good)
        good = print_refusal(path, "unsupported processor, or memory is short");
    free(bytes);
    free(plan.function);
    standin_installed_close(&installed);
    return good;
}

/* Opens the core in the folder of this program, or of cuda12/ below it. */
static bool open_core(const char *cuda, struct standin_installed *core)
{
    char path[PATH_MAX];
    const char *why;
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return print_refusal("/proc/self/exe", strerror(errno));
    path[length] = '\0';
    const char *folder = dirname(path);
    char file[PATH_MAX + 64];
    snprintf(file, sizeof file, "%s/%s" CORE, folder, strcmp(cuda, "12") == 0 ? "cuda12/" : "");
    return standin_installed_open(core, file, &why) || print_refusal(file, why);
}

static bool make_folder(const char *path)
{
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = part; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        (void)mkdir(part, 0777);
        *slash = '/';
    }
    return mkdir(part, 0777) == 0 || errno == EEXIST || print_refusal(path, strerror(errno));
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"out", required_argument, NULL, 'o'},
                                            {"cuda", required_argument, NULL, 'c'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    const char *folder = NULL, *cuda = "13";
    struct standin_installed core;
    for (int found; (found = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (found == 'o')
            folder = optarg;
        else if (found == 'c')
            cuda = optarg;
        else
            return fputs(usage, found == 'h' ? stdout : stderr), found == 'h' ? 0 : 2;
    }
    if (!folder || (strcmp(cuda, "12") != 0 && strcmp(cuda, "13") != 0))
        return fputs(usage, stderr), 2;
    if (!make_folder(folder) || !open_core(cuda, &core))
        return 1;
    bool good = true;
    for (int i = optind; i < argc; i++)
        good = stand_in(folder, &core, argv[i]) && good;
    standin_installed_close(&core);
    return good ? 0 : 1;
}
