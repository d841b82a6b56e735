#include "traffic.h"

#include <dlfcn.h>

static void *find(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

bool device_simulated(void)
{
    return find("simdev_seed") != NULL;
}

void device_seed(uint64_t seed)
{
    void (*function)(uint64_t);
    *(void **)&function = find("simdev_seed");
    if (function != NULL)
        function(seed);
}

uint64_t device_calls(const char *name)
{
    uint64_t (*function)(const char *);
    *(void **)&function = find("simdev_calls");
    return function != NULL ? function(name) : 0;
}

void device_drop(const char *name, uint64_t nth)
{
    void (*function)(const char *, uint64_t);
    *(void **)&function = find("simdev_drop");
    if (function != NULL)
        function(name, nth);
}

uint64_t device_violations(void)
{
    uint64_t (*function)(void);
    *(void **)&function = find("simdev_violations");
    return function != NULL ? function() : 0;
}

const char *const device_unsteady[DEVICE_UNSTEADY] = {"cuMemAlloc_v2", "cuMemFree_v2",
                                                      "cuStreamSynchronize", "cuCtxSynchronize",
                                                      "cuEventSynchronize"};
