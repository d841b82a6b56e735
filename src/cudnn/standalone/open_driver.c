/* Loads a minimal libcuda.so.1 from memory if no driver is installed, because cuDNN plans engines
 * that it compiles at run time only with one. */
#include "cudnn/standalone/open_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

extern const char cs_nodriver[], cs_nodriver_end[];

/* A file could be found by other processes. Memory has no name, but the loader finds the loaded
 * library by its soname. */
static void load_stand_in(void)
{
    const size_t size = (size_t)(cs_nodriver_end - cs_nodriver);
    char path[64];
    int file = memfd_create("libcuda.so.1", MFD_CLOEXEC);
    if (file < 0)
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (write(file, cs_nodriver, size) == (ssize_t)size)
        (void)dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    (void)close(file);
}

void cs_standalone_open_driver(void)
{
    if (!dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL))
        load_stand_in();
}
