/* The loader's functions over the libraries of a test, which stand before: `struct library` with a
 * path and a count of who has it open, `loaded`, an array of them, and `libraries`, how many. */
#ifndef CS_TEST_LOADED_LIBRARIES_H
#define CS_TEST_LOADED_LIBRARIES_H

#include "check.h"
#include <dlfcn.h>
#include <link.h>
#include <string.h>

static int each(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
    for (int i = 0; i < libraries; i++) {
        struct dl_phdr_info object = {.dlpi_name = loaded[i].path};
        int result = callback(&object, sizeof object, data);
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
