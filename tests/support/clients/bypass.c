/* Loads libraries of work.h in one process, each in its own way, and has them convolve one after
 * the other. Functions are bound at their first call, unless LD_BIND_NOW is set. Links no CUDA
 * library. */
#include "work.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct way {
    const char *name;
    int flags;
    bool used;
} ways[] = {
    {"plain", RTLD_LOCAL, true},
    {"deep", RTLD_LOCAL | RTLD_DEEPBIND, true},
    {"deep_unused", RTLD_LOCAL | RTLD_DEEPBIND, false},
};

static const struct way *way_of(const char *name)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].name, name) == 0)
            return &ways[i];
    return NULL;
}

static bool convolves(void *library)
{
    work_open_fn *open = (work_open_fn *)dlsym(library, "work_open");
    work_run_fn *run = (work_run_fn *)dlsym(library, "work_run");
    work_close_fn *close = (work_close_fn *)dlsym(library, "work_close");
    struct work *work = NULL;
    if (open == NULL || run == NULL || close == NULL || open(0, &work) != WORK_RIGHT)
        return false;
    bool right = run(work) == WORK_RIGHT;
    close(work);
    return right;
}

static bool go(const struct way *way, const char *file)
{
    void *library = dlopen(file, RTLD_LAZY | way->flags);
    if (library == NULL)
        fprintf(stderr, "bypass: %s\n", dlerror());
    else if (way->used && !convolves(library))
        fprintf(stderr, "bypass: %s did not convolve\n", file);
    else
        return true;
    return false;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        const struct way *way = way_of(argv[i]);
        if (way == NULL || i + 1 == argc) {
            fputs("usage: bypass [plain|deep|deep_unused FILE]...\n", stderr);
            return 2;
        }
        if (!go(way, argv[i + 1]))
            return 1;
    }
    return 0;
}
