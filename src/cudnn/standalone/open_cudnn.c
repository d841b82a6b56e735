/* Opens a cuDNN for the command and binds its functions. Replaces cudnn/bind/real.c in the command.
 */
#include "cudnn/bind/real.h"

#include "cudnn/bind/driver.h"
#include "cudnn/standalone/standalone.h"
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OLDEST = 90800, /* the first version that plans by device properties */
    AFTER = 100000  /* the next major version, whose ABI differs */
};

static struct cs_real table;
static char opened[PATH_MAX];

const struct cs_real *cs_real(void)
{
    return &table;
}

const struct cs_real *cs_real_completed(void)
{
    return &table;
}

/* Returns an empty table. Devices are only described, so no driver is needed. */
const struct cs_driver *cs_driver(void)
{
    static const struct cs_driver none;
    return &none;
}

static void remember_file(const char *file)
{
    Dl_info info;
    bool known = dladdr((void *)table.cudnnGetVersion, &info) != 0;
    snprintf(opened, sizeof opened, "%s", known ? info.dli_fname : file);
}

/* Loads the builtins of the NVRTC in cuDNN's Python package. cuDNN finds that NVRTC, but NVRTC
 * looks for its builtins only in the loader's folders. Without them cuDNN has no engines that are
 * compiled at run time. */
static void open_builtins(void)
{
    static const char *const packages[] = {"cu13", "cuda_nvrtc"};
    char pattern[PATH_MAX + 64];
    const char *slash = strrchr(opened, '/');
    for (size_t i = 0; slash && i < sizeof packages / sizeof *packages; i++) {
        glob_t found;
        snprintf(pattern, sizeof pattern, "%.*s/../../%s/lib/libnvrtc-builtins.so.*",
                 (int)(slash - opened), opened, packages[i]);
        if (glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t k = 0; k < found.gl_pathc; k++)
            (void)dlopen(found.gl_pathv[k], RTLD_LAZY | RTLD_LOCAL);
        globfree(&found);
    }
}

static bool bind_calls(void *library)
{
#define CS_CALL(name) table.name = (__typeof__(name) *)dlsym(library, #name);
#include "cudnn/bind/calls.def"
#undef CS_CALL
    return table.cudnnGetVersion && table.cudnnBackendCreateDescriptor &&
           table.cudnnBackendFinalize && table.cudnnBackendSetAttribute &&
           table.cudnnBackendGetAttribute && table.cudnnBackendDestroyDescriptor;
}

bool cs_standalone_open(const char *file, char *error, size_t size)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(error, size, "%s", dlerror());
        return false;
    }
    if (bind_calls(library) && cs_standalone_version() >= OLDEST &&
        cs_standalone_version() < AFTER) {
        remember_file(file);
        open_builtins();
        cs_standalone_open_driver();
        return true;
    }
    snprintf(error, size, "%s: version %zu, but cuDNN 9.8 or a later 9 is needed", file,
             cs_standalone_version());
    table = (struct cs_real){0};
    dlclose(library);
    return false;
}

size_t cs_standalone_version(void)
{
    return table.cudnnGetVersion ? table.cudnnGetVersion() : 0;
}

const char *cs_standalone_file(void)
{
    return opened;
}
