/* Finds the loaded cuDNN and fills the table of its functions; the only place of the library
 * that calls dlopen and dlsym. */
#include "cudnn/bind/real.h"

#include "base/path.h"
#include "cudnn/bind/driver.h"
#include "cudnn/bind/find_dlsym.h"
#include "cudnn/bind/runtime.h"
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define VENDOR_PREFIX "libcudnn"

static const struct cs_real empty;

enum {
    MAX_FILES = 2048
};

/* Where the functions are looked for: one cuDNN, the dispatcher where it is loaded, else the
 * sub-libraries that a program linked alone, then whatever comes behind us. */
struct places {
    void *library[5];
    int count;
};

/* A framework's extension loads cuDNN RTLD_LOCAL: RTLD_NEXT does not see it, its soname does. Loads
 * nothing; what is found stays loaded from now on. */
static bool place(struct places *places, const char *soname)
{
    void *library = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        places->library[places->count++] = library;
    return library;
}

bool cs_real_has_file(const char *path)
{
    return strncmp(cs_path_file(path), VENDOR_PREFIX, strlen(VENDOR_PREFIX)) == 0;
}

/* The files of all that is loaded. Collected first: the loader's list must not be held while the
 * loader is asked. */
struct files {
    const char *path[MAX_FILES];
    int count;
};

static int add_file(struct dl_phdr_info *object, size_t size, void *opaque)
{
    struct files *files = opaque;
    (void)size;
    if (files->count < MAX_FILES && object->dlpi_name[0] != '\0')
        files->path[files->count++] = object->dlpi_name;
    return 0;
}

/* A dispatcher of another name: an older version's, or renamed by who packed it. */
static bool renamed(const char *path)
{
    return cs_real_has_file(path) && strchr(".-", cs_path_file(path)[strlen(VENDOR_PREFIX)]);
}

/* A library that has cuDNN in itself and exports it: its own calls reach us. */
static bool has_inside(void *library)
{
    Dl_info there;
    void *address = cs_dlsym_libc().dlsym(library, "cudnnGetVersion");
    void *own = NULL;
    return address && dladdr1(address, &there, &own, RTLD_DL_LINKMAP) && own == library;
}

static bool place_inside(struct places *places, const char *path)
{
    if (!place(places, path))
        return false;
    if (has_inside(places->library[places->count - 1]))
        return true;
    dlclose(places->library[--places->count]);
    return false;
}

static void find_others(struct places *places)
{
    struct files files = {.count = 0};
    dl_iterate_phdr(add_file, &files);
    for (int i = 0; i < files.count; i++)
        if (renamed(files.path[i]) && place(places, files.path[i]))
            return;
    for (int i = 0; i < files.count; i++)
        if (place_inside(places, files.path[i]))
            return;
}

static void find_places(struct places *places)
{
    if (place(places, "libcudnn.so.9"))
        return;
    place(places, "libcudnn_graph.so.9");
    place(places, "libcudnn_cnn.so.9");
    place(places, "libcudnn_ops.so.9");
    if (places->count == 0)
        find_others(places);
    places->library[places->count++] = RTLD_NEXT;
}

static bool ours(const void *address)
{
    Dl_info there;
    return dladdr(address, &there) && cs_find_dlsym_ours(there.dli_fbase);
}

static void *find(const struct places *places, const char *name)
{
    struct cs_dlsym_libc libc = cs_dlsym_libc();
    for (int i = 0; i < places->count; i++) {
        void *address = libc.dlsym(places->library[i], name);
        if (address && !ours(address))
            return address;
    }
    return NULL;
}

static bool bind(void *opaque)
{
    struct cs_real *table = opaque;
    struct places places = {.count = 0};
    find_places(&places);
#define CS_CALL(name) table->name = (__typeof__(name) *)find(&places, #name);
#include "cudnn/bind/calls.def"
#undef CS_CALL
    return table->cudnnBackendCreateDescriptor || table->cudnnConvolutionForward;
}

static bool bind_runtime(void *opaque)
{
    struct cs_runtime *table = opaque;
    struct places places = {.count = 0};
    if (!place(&places, "libcudart.so.13"))
        place(&places, "libcudart.so.12");
    places.library[places.count++] = RTLD_NEXT;
#define CS_RUNTIME(name) table->name = (__typeof__(name) *)find(&places, #name);
#include "cudnn/bind/runtime.def"
#undef CS_RUNTIME
    return true;
}

static bool bind_driver(void *opaque)
{
    struct cs_driver *table = opaque;
    struct places places = {.count = 0};
    if (!place(&places, "libcuda.so.1"))
        return false;
#define CS_DRIVER(name, parameters) table->name = (CUresult(*) parameters)find(&places, #name);
#include "cudnn/bind/driver.def"
#undef CS_DRIVER
    return true;
}

/* A table bound once. No lock: whoever binds waits for the loader, whose lock may be held by a
 * thread that waits for us. The first one to be ready wins; until one is, all slots are empty. */
static const void *table_of(_Atomic(void *) *bound, bool (*binder)(void *table), size_t size,
                            const void *none)
{
    void *now = atomic_load_explicit(bound, memory_order_acquire);
    if (now)
        return now;
    void *table = calloc(1, size);
    if (!table)
        return none;
    bool found = binder(table);
    (void)dlerror(); /* what is missing is nobody's error */
    if (found && atomic_compare_exchange_strong(bound, &now, table))
        return table;
    free(table);
    return now ? now : none;
}

const struct cs_real *cs_real(void)
{
    static _Atomic(void *) bound;
    return table_of(&bound, bind, sizeof empty, &empty);
}

const struct cs_runtime *cs_runtime(void)
{
    static _Atomic(void *) bound;
    static const struct cs_runtime none;
    return table_of(&bound, bind_runtime, sizeof none, &none);
}

const struct cs_driver *cs_driver(void)
{
    static _Atomic(void *) bound;
    static const struct cs_driver none;
    return table_of(&bound, bind_driver, sizeof none, &none);
}
