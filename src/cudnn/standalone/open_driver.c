/* Loads a minimal libcuda.so.1 from memory where no driver is installed, since newer cuDNN
 * versions do not plan without one. */
#include "cudnn/standalone/open_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

extern const char cs_nodriver[], cs_nodriver_end[];

bool cs_standalone_driver(void)
{
    static int found; /* 1: yes, -1: no; looked for before the stand-in is there */
    if (found == 0)
        found = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) ? 1 : -1; /* cuDNN will want it */
    return found > 0;
}

/* A file would be found by others, so it has no name but its soname, by which the loader knows it
 * once it is loaded. */
void cs_standalone_stand_in(void)
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
