/* Loads the stand-ins from memory. */
#include "cudnn/standalone/standalone.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

extern const char cs_stand_in_cuda[], cs_stand_in_cuda_end[];
extern const char cs_stand_in_cublaslt_12[], cs_stand_in_cublaslt_12_end[];
extern const char cs_stand_in_cublaslt_13[], cs_stand_in_cublaslt_13_end[];

/* Loads a library from memory. Other processes could find a file, but not memory. The loader finds
 * the loaded library by its soname. The descriptor stays open: otherwise a second library could get
 * the same path, and the loader would take it for the first. */
static void load_library(const char *begin, const char *end)
{
    const size_t size = (size_t)(end - begin);
    char path[64];
    int file = memfd_create("convshim", MFD_CLOEXEC);
    if (file < 0)
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (write(file, begin, size) != (ssize_t)size || !dlopen(path, RTLD_LAZY | RTLD_LOCAL))
        (void)close(file);
}

static void load_once(const char *name, const char *begin, const char *end)
{
    if (!dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD))
        load_library(begin, end);
}

void cs_standalone_open_driver(void)
{
    if (!dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL))
        load_library(cs_stand_in_cuda, cs_stand_in_cuda_end);
}

void cs_standalone_open_cublas(void)
{
    load_once("libcublasLt.so.12", cs_stand_in_cublaslt_12, cs_stand_in_cublaslt_12_end);
    load_once("libcublasLt.so.13", cs_stand_in_cublaslt_13, cs_stand_in_cublaslt_13_end);
}
