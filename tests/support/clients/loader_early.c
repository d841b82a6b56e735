/* Looks a function up while the loader still relocates: in the resolver of a function that has one
 * version for each processor. */
#include "loader_early.h"

#include <dlfcn.h>
#include <stddef.h>

static const char *found(void)
{
    return "found";
}

static const char *missing(void)
{
    return "missing";
}

/* A sanitizer is not ready here. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static loader_early_fn *resolve(void)
{
    void *volatile function = dlsym(RTLD_DEFAULT, "malloc");
    return function != NULL ? found : missing;
}

__attribute__((ifunc("resolve"))) const char *loader_early(void);

static loader_early_fn *volatile chosen = loader_early;

const char *loader_early_chosen(void)
{
    return chosen();
}
