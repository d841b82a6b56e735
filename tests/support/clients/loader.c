/* Looks functions up in many ways. Prints for each lookup the file that contains the function, or
 * the text of dlerror. Links no CUDA library. */
#include "loader_early.h"
#include "loader_local.h"
#include "work.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    THREADS = 8,
    LOOKUPS = 1000000
};

static void *load(const char *file)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        fprintf(stderr, "loader: %s\n", dlerror());
    return library;
}

static const char *owner(void *function)
{
    Dl_info info;
    if (function == NULL)
        return "nobody";
    if (dladdr(function, &info) == 0)
        return "somebody";
    const char *slash = strrchr(info.dli_fname, '/');
    return slash != NULL ? slash + 1 : info.dli_fname;
}

/* The error is read twice: the second read returns none. */
static void tell(const char *what, void *function)
{
    const char *error = dlerror();
    printf("%s: %s; %s", what, owner(function), error != NULL ? error : "no error");
    printf("; %s\n", dlerror() == NULL ? "then none" : "then another");
}

static void tell_names(void *library)
{
    static const char *const names[] = {
        "cudnnConvolutionForward",
        "cudnnBackendExecute",
        "cudnnDestroy",
        "cudnnCreate",
        "cudnnGetVersion",
        "cudnnNoSuchThing",
        "cudnn",
        "cudnnConvolutionForwar",
        "cudnnConvolutionForward2",
        "malloc",
        "no_such_function",
        "cudaMalloc",
        "",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char what[64];
        snprintf(what, sizeof what, "dlsym %s", names[i]);
        tell(what, dlsym(library, names[i]));
    }
}

static void tell_versions(void *library)
{
    static const char *const lookups[][2] = {
        {"cudnnConvolutionForward", "libcudnn.so.9"}, {"cudnnConvolutionForward", "libcudnn.so.8"},
        {"cudnnBackendExecute", "GLIBC_2.2.5"},       {"cudnnCreate", "libcudnn.so.9"},
        {"cudnnNoSuchThing", "libcudnn.so.9"},        {"malloc", "libcudnn.so.9"},
        {"no_such_function", "libcudnn.so.9"},
    };
    for (size_t i = 0; i < sizeof lookups / sizeof *lookups; i++) {
        char what[64];
        snprintf(what, sizeof what, "dlvsym %s %s", lookups[i][0], lookups[i][1]);
        tell(what, dlvsym(library, lookups[i][0], lookups[i][1]));
    }
}

/* The effects that each lookup has, for any library that provides the function. */
static bool run_names(char **files)
{
    void *library = load(files[0]);
    if (library == NULL)
        return false;
    tell_names(library);
    tell_versions(library);
    return true;
}

static bool run_pseudo(char **files)
{
    (void)files;
    tell_names(RTLD_DEFAULT);
    tell_names(RTLD_NEXT);
    tell_versions(RTLD_DEFAULT);
    tell_versions(RTLD_NEXT);
    return true;
}

/* An error that was not read is gone after a successful lookup, and stays otherwise. */
static bool run_pending(char **files)
{
    void *library = load(files[0]);
    if (library == NULL)
        return false;
    (void)dlopen("./no_such_file.so", RTLD_NOW);
    tell("after a success", dlsym(library, "cudnnConvolutionForward"));
    (void)dlopen("./no_such_file.so", RTLD_NOW);
    tell("after a second success", dlsym(library, "cudnnBackendExecute"));
    (void)dlopen("./no_such_file.so", RTLD_NOW);
    tell("after a failure", dlsym(library, "cudnnNoSuchThing"));
    return true;
}

static bool run_local(char **files)
{
    void *library = load(files[0]);
    if (library == NULL)
        return false;
    loader_local_fn *by_default = (loader_local_fn *)dlsym(library, "loader_local_default");
    loader_local_fn *by_next = (loader_local_fn *)dlsym(library, "loader_local_next");
    printf("RTLD_DEFAULT: %s\n", owner(by_default()));
    printf("RTLD_NEXT: %s\n", owner(by_next()));
    printf("from here: %s\n", owner(dlsym(RTLD_DEFAULT, "loader_deep")));
    return true;
}

static bool run_early(char **files)
{
    (void)files;
    loader_early_fn *chosen = (loader_early_fn *)dlsym(RTLD_DEFAULT, "loader_early_chosen");
    printf("%s\n", chosen != NULL ? chosen() : "not preloaded");
    return chosen != NULL;
}

/* Looked up in cuDNN by a library whose name the caller chooses. */
static bool run_caller(char **files)
{
    void *library = load(files[0]), *cudnn = load("libcudnn.so.9");
    if (library == NULL || cudnn == NULL)
        return false;
    loader_local_in_fn *look_up = (loader_local_in_fn *)dlsym(library, "loader_local_in");
    printf("%s\n", owner(look_up(cudnn, "cudnnConvolutionForward")));
    return true;
}

static bool right(const char *file, int legacy)
{
    void *library = load(file);
    if (library == NULL)
        return false;
    work_open_fn *open = (work_open_fn *)dlsym(library, "work_open");
    work_run_fn *run = (work_run_fn *)dlsym(library, "work_run");
    work_close_fn *close = (work_close_fn *)dlsym(library, "work_close");
    struct work *work = NULL;
    if (open(legacy, &work) != WORK_RIGHT)
        return false;
    bool good = run(work) == WORK_RIGHT;
    close(work);
    return good;
}

/* One after the other, all in one process. */
static bool run_all(char **files, int legacy)
{
    bool good = true;
    for (int i = 0; files[i] != NULL; i++) {
        bool one = right(files[i], legacy);
        printf("%s: %s\n", strrchr(files[i], '/') + 1, one ? "right" : "wrong");
        good = one && good;
    }
    return good;
}

static bool run_works(char **files)
{
    return run_all(files, 0);
}

static bool run_legacy(char **files)
{
    return run_all(files, 1);
}

/* The same after a function of the first file was looked up. */
static bool run_beside(char **files)
{
    static const char name[] = "cudnnBackendCreateDescriptor";
    void *library = load(files[0]);
    if (library == NULL)
        return false;
    printf("%s: %s\n", name, owner(dlsym(library, name)));
    return run_all(files + 1, 0);
}

/* The least call that is intercepted: no device needed. */
static bool run_touch(char **files)
{
    void *library = load(files[0]);
    work_touch_fn *touch = library != NULL ? (work_touch_fn *)dlsym(library, "work_touch") : NULL;
    return touch != NULL && touch() == WORK_RIGHT;
}

static void *look_up_all(void *library)
{
    void *entry = dlsym(library, "cudnnConvolutionForward");
    return dlsym(library, "cudnnNoSuchThing") == NULL && dlerror() != NULL ? entry : NULL;
}

static bool run_threads(char **files)
{
    void *library = load(files[0]), *found[THREADS];
    pthread_t threads[THREADS];
    if (library == NULL)
        return false;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, look_up_all, library) != 0)
            return false;
    for (int i = 0; i < THREADS; i++) {
        if (pthread_join(threads[i], &found[i]) != 0)
            return false;
        printf("%s\n", owner(found[i]));
    }
    return true;
}

static bool run_time(char **files)
{
    (void)files;
    struct timespec begin, end;
    size_t found = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < LOOKUPS; i++)
        found += dlsym(RTLD_DEFAULT, "malloc") != NULL;
    clock_gettime(CLOCK_MONOTONIC, &end);
    double ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
    printf("%.1f ns a lookup\n", ns / LOOKUPS);
    return found == LOOKUPS;
}

static const struct {
    const char *name;
    bool (*run)(char **files);
} modes[] = {
    {"names", run_names}, {"pseudo", run_pseudo},   {"pending", run_pending},
    {"local", run_local}, {"caller", run_caller},   {"early", run_early},
    {"works", run_works}, {"legacy", run_legacy},   {"beside", run_beside},
    {"touch", run_touch}, {"threads", run_threads}, {"time", run_time},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc >= 3 && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            return modes[i].run(argv + 2) ? 0 : 1;
    fputs("usage: loader MODE FILE...\nModes:", stderr);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        fprintf(stderr, " %s", modes[i].name);
    fputs("\n", stderr);
    return 2;
}
