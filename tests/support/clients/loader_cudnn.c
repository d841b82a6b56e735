#include "loader_cudnn.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct loader_cudnn functions;

static int asked(const char *variable, const char *value)
{
    const char *text = getenv(variable);
    return text != NULL && strcmp(text, value) == 0;
}

static void *look_up(void *library, const char *name)
{
    void *function = asked("LOADER_CALL", "dlvsym") ? dlvsym(library, name, "libcudnn.so.9")
                                                    : dlsym(library, name);
    if (function == NULL) {
        fprintf(stderr, "loader: %s\n", dlerror());
        exit(1);
    }
    return function;
}

static void load(void)
{
    const char *file = getenv("LOADER_FILE");
    int flags = asked("LOADER_FLAGS", "deepbind") ? RTLD_NOW | RTLD_DEEPBIND : RTLD_NOW;
    void *library = dlopen(file != NULL ? file : "libcudnn.so.9", flags);
    if (library == NULL) {
        fprintf(stderr, "loader: %s\n", dlerror());
        exit(1);
    }
#define CUDNN(name) functions.name = (__typeof__(functions.name))look_up(library, #name);
#include "loader_names.def"
#undef CUDNN
}

const struct loader_cudnn *loader_cudnn(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return &functions;
}
