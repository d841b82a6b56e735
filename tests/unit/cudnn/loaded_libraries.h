/* The loader's functions over the libraries of a test, which stand before: `struct library` with a
 * path and a count of who has it open, `loaded`, an array of them, and `libraries`, how many. */
#ifndef CS_TEST_LOADED_LIBRARIES_H
#define CS_TEST_LOADED_LIBRARIES_H

#include "check.h"
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* A name is there only while its object is shown: another thread may unload it afterwards. */
static int each(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
    static char name[512];
    for (int i = 0; i < libraries; i++) {
        struct dl_phdr_info object = {.dlpi_name = name};
        snprintf(name, sizeof name, "%s", loaded[i].path);
        int result = callback(&object, sizeof object, data);
        memset(name, '?', sizeof name - 1);
        if (result != 0)
            return result;
    }
    return 0;
}

static void *open_loaded(const char *path, int flags)
{
    CHECK(flags & RTLD_NOLOAD);
    for (int i = 0; i < libraries; i++)
        if (strcmp(loaded[i].path, path) == 0) {
            loaded[i].opened++;
            return &loaded[i];
        }
    return NULL;
}

static int close_loaded(void *library)
{
    ((struct library *)library)->opened--;
    return 0;
}

#endif
