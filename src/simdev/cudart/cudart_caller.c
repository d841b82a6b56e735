/* Names the function of the program that called the device, from the stack and the symbols of
 * loaded files. */
#include "cudart_caller.h"
#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEEPEST = 24
};

static const char *file_of(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "";
}

/* True for one of the simulated device's libraries. */
static bool is_device(const char *path)
{
    static const char *const names[] = {"libcudart.so.", "libcuda.so.", "libcudnn.so.",
                                        "libconvshim.so", "libsimdev-"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strncmp(file_of(path), names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* The symbol that contains the address. NULL if the function is not exported. */
static const char *symbol_at(void *address, Dl_info *info)
{
    ElfW(Sym) *symbol = NULL;
    if (!dladdr1(address, info, (void **)&symbol, RTLD_DL_SYMENT))
        return NULL;
    const size_t inside = (size_t)((char *)address - (char *)info->dli_saddr);
    return info->dli_sname && symbol && inside < symbol->st_size ? info->dli_sname : NULL;
}

/* Demangles a C++ name if the program has loaded a demangler. */
static void put_name(const char *symbol, char *name, size_t size)
{
    typedef char *demangler(const char *, char *, size_t *, int *);
    demangler *demangle = (demangler *)dlsym(RTLD_DEFAULT, "__cxa_demangle");
    int status = -1;
    char *plain =
        demangle && strncmp(symbol, "_Z", 2) == 0 ? demangle(symbol, NULL, NULL, &status) : NULL;
    const char *text = plain ? plain : symbol;
    snprintf(name, size, "%.*s", (int)strcspn(text, "("), text);
    free(plain);
}

void simdev_caller_name(char *name, size_t size)
{
    void *frame[DEEPEST], *file = NULL;
    const int frames = backtrace(frame, DEEPEST);
    Dl_info info = {.dli_fname = NULL};
    snprintf(name, size, "the program");
    for (int i = 1; i < frames; i++) {
        /* A return address may be that of the next function. */
        const char *symbol = symbol_at((char *)frame[i] - 1, &info);
        if (is_device(info.dli_fname))
            continue;
        if (file && info.dli_fbase != file)
            return; /* the caller of that file is not related to this call */
        if (symbol) {
            put_name(symbol, name, size);
            return;
        }
        if (!file)
            snprintf(name, size, "%s", file_of(info.dli_fname));
        file = info.dli_fbase;
    }
}
