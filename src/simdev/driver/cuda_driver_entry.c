/* Functions by name (CUDA Driver API, Driver Entry Point Access): selects the version for a program
 * compiled for a version of CUDA. */
#include "cuda_driver.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#undef cuGetProcAddress
CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags);

enum {
    NEWEST = 4 /* the highest _v suffix that any function has */
};

/* Versions for which the order of suffixes is not enough. A program compiled for an older CUDA gets
 * the older version. */
static const struct {
    const char *name;
    int since; /* as in CUDA_VERSION */
    const char *symbol;
} versions[] = {
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
    {"cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2"},
    {"cuEventElapsedTime", 12080, "cuEventElapsedTime_v2"},
    {"cuEventElapsedTime", 2000, "cuEventElapsedTime"},
    {"cuCtxCreate", 12050, "cuCtxCreate_v4"},
    {"cuCtxCreate", 3020, "cuCtxCreate_v2"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
};

/* Functions that cuda.h declares and that are not simulated. A look-up by name does not find them.
 */
__attribute__((visibility("hidden"))) extern const char *const cuda_driver_rest[];

static bool is_there(const char *symbol)
{
    for (const char *const *name = cuda_driver_rest; *name; name++)
        if (strcmp(*name, symbol) == 0)
            return false;
    return true;
}

static void *own_symbol(const char *symbol)
{
    static void *_Atomic known; /* this library; threads that race here find the same value */
    Dl_info here;
    void *library = known;
    if (!library && dladdr((void *)(uintptr_t)own_symbol, &here))
        known = library = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    return library && is_there(symbol) ? dlsym(library, symbol) : NULL;
}

static void *find_version(const char *name, int version)
{
    char symbol[128];
    for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
        if (strcmp(versions[i].name, name) == 0 && version >= versions[i].since)
            return own_symbol(versions[i].symbol);
    for (int suffix = NEWEST; suffix >= 2; suffix--) {
        snprintf(symbol, sizeof(symbol), "%s_v%d", name, suffix);
        void *found = own_symbol(symbol);
        if (found)
            return found;
    }
    return own_symbol(name);
}

CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *result)
{
    (void)flags; /* selects the default stream, which programs select by the calls themselves */
    if (!name || !function)
        return CUDA_ERROR_INVALID_VALUE;
    *function = strncmp(name, "cu", 2) == 0 ? find_version(name, version) : NULL;
    if (!*function)
        simdev_looked_up(name);
    if (result)
        *result = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function || result ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
