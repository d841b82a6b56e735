/* A library that looks up a function of its dependency by RTLD_DEFAULT and RTLD_NEXT: it is loaded
 * RTLD_LOCAL, so only a lookup made for this caller finds the function. It also looks in a given
 * library. */
#include "loader_local.h"

#include <dlfcn.h>
#include <stddef.h>

/* Volatile: a compiler that jumps to dlsym makes it see our caller in our place. */
void *loader_local_default(void)
{
    void *volatile found = dlsym(RTLD_DEFAULT, "loader_deep");
    return found;
}

void *loader_local_next(void)
{
    void *volatile found = dlsym(RTLD_NEXT, "loader_deep");
    return found;
}

void *loader_local_in(void *library, const char *name)
{
    void *volatile found = dlsym(library, name);
    return found;
}
