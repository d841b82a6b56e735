#include "looked_up.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void *look_up(const char *name)
{
    static void *library;
    if (library == NULL)
        library = dlopen("libcudnn.so.9", look_up_flags);
    void *function = library != NULL ? dlsym(library, name) : NULL;
    if (function == NULL) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        exit(1);
    }
    return function;
}
