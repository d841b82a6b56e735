#include "traffic.h"

#include <dlfcn.h>
#include <stdio.h>

/* The driver functions used here. The driver is loaded in every program that uses CUDA. */
static void *driver(const char *name)
{
    static void *library;
    if (library == NULL)
        library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *found = library != NULL ? dlsym(library, name) : NULL;
    if (found == NULL)
        fprintf(stderr, "traffic: no %s\n", name);
    return found;
}

static bool create_context(void **context)
{
    int (*create)(void **, unsigned, int);
    *(void **)&create = driver("cuCtxCreate_v2");
    if (create != NULL && create(context, 0, 0) == 0)
        return true;
    fputs("traffic: no context\n", stderr);
    return false;
}

static bool use_context(void *context)
{
    int (*use)(void *);
    *(void **)&use = driver("cuCtxSetCurrent");
    if (use != NULL && use(context) == 0)
        return true;
    fputs("traffic: a context cannot be used\n", stderr);
    return false;
}

bool home_enter(const struct home *home)
{
    if (home->context != NULL)
        return use_context(home->context);
    TRY_CUDA(cudaSetDevice(home->device), fail);
    return true;
fail:
    return false;
}

bool home_open(const struct traffic_options *options, int number, struct home *home)
{
    home->device = options->contexts ? 0 : number;
    /* The runtime is initialized before the driver is called. */
    TRY_CUDA(cudaSetDevice(home->device), fail);
    if (options->contexts && number > 0 && !create_context(&home->context))
        return false;
    if (!home_enter(home))
        return false;
    TRY_CUDA(cudaStreamCreateWithFlags(&home->shared, cudaStreamNonBlocking), fail);
    return models_open(home);
fail:
    return false;
}

void home_close(struct home *home)
{
    int (*destroy)(void *);
    if (!home_enter(home))
        return;
    models_close(home);
    if (home->shared != NULL)
        cudaStreamDestroy(home->shared);
    if (home->context == NULL)
        return;
    *(void **)&destroy = driver("cuCtxDestroy_v2");
    if (destroy != NULL)
        destroy(home->context);
}
