/* Finds the loaded cuDNN and fills the table of its functions. Only this file of the library calls
 * dlopen and dlsym. */
#include "cudnn/bind/real.h"

#include "base/pages.h"
#include "base/path.h"
#include "cudnn/bind/driver.h"
#include "cudnn/bind/find_dlsym.h"
#include "cudnn/bind/runtime.h"
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VENDOR_PREFIX "libcudnn"
#define CS_FUNCTION(pointer) ((const void *)(uintptr_t)(pointer))

enum {
    NAMES_BYTES = 4 << 20 /* for the names of all loaded files; untouched pages use no memory */
};

/* Where cuDNN was found. */
enum origin {
    ELSEWHERE, /* under another name, inside another library, or after this library */
    PARTS,     /* some of its parts, which a program linked alone; the others may be loaded later */
    DISPATCHER, /* libcudnn.so.9, which has all functions */
};

/* The functions of cuDNN. Never changed after other threads can see it. */
struct bound {
    struct cs_real real;
    enum origin origin;
    const struct bound *before; /* the table that this one replaced */
};
static _Atomic(void *) bound_real;
static const struct bound empty;

/* The libraries that are searched for functions. */
struct places {
    void *library[4];
    int count;
};

/* Adds a library by its soname. If a framework's extension loads cuDNN with RTLD_LOCAL, RTLD_NEXT
 * does not find it, but its soname does. Loads no library. A found library stays loaded from now
 * on. */
static bool add_place(struct places *places, const char *soname)
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

/* The names of all loaded files, separated by NULs, with an empty one at the end. They are
 * collected before any lookup, because the loader must not be called while its list is locked. They
 * are copied because another thread may unload a file as soon as the list is unlocked. */
struct files {
    char *names;
    size_t used;
};

/* Copies the name of a loaded file (dl_iterate_phdr). Names that do not fit are left out. */
static int add_file(struct dl_phdr_info *object, size_t size, void *opaque)
{
    struct files *files = opaque;
    size_t length = strlen(object->dlpi_name) + 1;
    (void)size;
    if (length == 1 || length >= NAMES_BYTES - files->used)
        return 0;
    memcpy(files->names + files->used, object->dlpi_name, length);
    files->used += length;
    return 0;
}

/* True for a file with all of cuDNN under another name: of an older version, or renamed by its
 * packager. */
static bool is_renamed(const char *path)
{
    return cs_real_has_file(path) && strchr(".-", cs_path_file(path)[strlen(VENDOR_PREFIX)]);
}

/* True for a library that contains cuDNN and exports it. Its own calls reach the entries. */
static bool has_inside(void *library)
{
    Dl_info there;
    void *address = cs_find_dlsym_libc().dlsym(library, "cudnnGetVersion");
    void *own = NULL;
    return address && dladdr1(address, &there, &own, RTLD_DL_LINKMAP) && own == library;
}

/* True if a library has the major version of cuDNN that this library is built for, or reports none.
 * Functions of two major versions are never mixed. */
static bool of_our_major(void *library)
{
    size_t (*version)(void) =
        (size_t(*)(void))cs_find_dlsym_libc().dlsym(library, "cudnnGetVersion");
    return !version || version() / 10000 == CUDNN_MAJOR;
}

/* Adds a loaded file if it is cuDNN: by its name (`by_name`) or by its functions. `any_major`: also
 * if it has another major version. */
static bool place_other(struct places *places, const char *path, bool by_name, bool any_major)
{
    if ((by_name && !is_renamed(path)) || !add_place(places, path))
        return false;
    void *library = places->library[places->count - 1];
    if ((by_name || has_inside(library)) && (any_major || of_our_major(library)))
        return true;
    dlclose(library);
    places->count--;
    return false;
}

static bool place_one_of(struct places *places, const char *names, bool by_name, bool any_major)
{
    for (const char *name = names; *name; name += strlen(name) + 1)
        if (place_other(places, name, by_name, any_major))
            return true;
    return false;
}

/* Finds cuDNN under another name or inside another library. */
static bool find_others(struct places *places, bool any_major)
{
    struct files files = {.names = cs_pages(NAMES_BYTES)};
    if (!files.names)
        return false;
    dl_iterate_phdr(add_file, &files);
    bool found = place_one_of(places, files.names, true, any_major) ||
                 place_one_of(places, files.names, false, any_major);
    cs_pages_free(files.names, NAMES_BYTES);
    return found;
}

static const char *const our_files[] = {"libcudnn.so.9", "libcudnn_graph.so.9", "libcudnn_cnn.so.9",
                                        "libcudnn_ops.so.9"};

/* Adds libcudnn.so.9 or, without it, cuDNN's parts. */
static enum origin find_ours(struct places *places)
{
    if (add_place(places, our_files[0]))
        return DISPATCHER;
    for (size_t i = 1; i < sizeof our_files / sizeof *our_files; i++)
        add_place(places, our_files[i]);
    return places->count > 0 ? PARTS : ELSEWHERE;
}

static bool in_this_library(const void *address)
{
    Dl_info there;
    return dladdr(address, &there) && cs_find_dlsym_ours(there.dli_fbase);
}

static void *find_function(const struct places *places, const char *name)
{
    struct cs_find_dlsym_libc libc = cs_find_dlsym_libc();
    for (int i = 0; i < places->count; i++) {
        void *address = libc.dlsym(places->library[i], name);
        if (address && !in_this_library(address))
            return address;
    }
    return NULL;
}

/* Fills the empty slots. True if at least one was filled. */
static bool fill_slots(struct cs_real *real, const struct places *places)
{
    bool filled = false;
#define CS_CALL(name)                                                                              \
    if (!real->name) {                                                                             \
        real->name = (__typeof__(name) *)find_function(places, #name);                             \
        filled |= real->name != NULL;                                                              \
    }
#include "cudnn/bind/calls.def"
#undef CS_CALL
    return filled;
}

/* Finds cuDNN and fills the table. False if it finds neither API of cuDNN. */
static bool bind_table(struct bound *table, bool any_major)
{
    struct places places = {.count = 0};
    table->origin = find_ours(&places);
    /* Supported versions first: an older cuDNN in the same process has its own users. */
    if (table->origin == ELSEWHERE && !find_others(&places, false) &&
        !(any_major && find_others(&places, true)) && (any_major || of_our_major(RTLD_NEXT)))
        places.library[places.count++] = RTLD_NEXT;
    fill_slots(&table->real, &places);
    return table->real.cudnnBackendCreateDescriptor || table->real.cudnnConvolutionForward;
}

/* Binds for callers of entries, which need real functions of any version. */
static bool bind_any(void *table)
{
    return bind_table(table, true);
}

/* Binds for queries, which do not bind another major version. */
static bool bind_served(void *table)
{
    return bind_table(table, false);
}

/* Fills the table of the CUDA runtime, whose functions may all be missing. */
static bool bind_runtime(void *opaque)
{
    struct cs_runtime *table = opaque;
    struct places places = {.count = 0};
    if (!add_place(&places, "libcudart.so.13"))
        add_place(&places, "libcudart.so.12");
    places.library[places.count++] = RTLD_NEXT;
#define CS_RUNTIME(name) table->name = (__typeof__(name) *)find_function(&places, #name);
#include "cudnn/bind/runtime.def"
#undef CS_RUNTIME
    return true;
}

/* Fills the table of the CUDA driver. False if the program has not loaded one. */
static bool bind_driver(void *opaque)
{
    struct cs_driver *table = opaque;
    struct places places = {.count = 0};
    if (!add_place(&places, "libcuda.so.1"))
        return false;
#define CS_DRIVER(name, parameters)                                                                \
    table->name = (CUresult(*) parameters)find_function(&places, #name);
#include "cudnn/bind/driver.def"
#undef CS_DRIVER
    return true;
}

/* Returns a table, bound by `binder` at the first call, or `none` if that fails. No lock is held:
 * the binding thread waits for the loader, and a thread that holds the loader's lock may need the
 * table. The first thread that is ready publishes its table. Until then all slots are empty. */
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
    (void)dlerror(); /* a missing function must not leave an error for the program */
    if (found && atomic_compare_exchange_strong(bound, &now, table))
        return table;
    free(table);
    return now ? now : none;
}

/* Binds the table. Not inlined, because it runs once. */
__attribute__((noinline)) static const struct cs_real *first_real(void)
{
    const struct bound *table = table_of(&bound_real, bind_any, sizeof empty, &empty);
    return &table->real;
}

const struct cs_real *cs_real(void)
{
    const struct bound *table = atomic_load_explicit(&bound_real, memory_order_acquire);
    return table ? &table->real : first_real();
}

/* The old table is not freed, because other threads may be reading it. There are at most as many
 * tables as functions. */
const struct cs_real *cs_real_completed(void)
{
    const struct cs_real *now = cs_real();
    void *old = atomic_load_explicit(&bound_real, memory_order_acquire);
    struct bound *more =
        old && ((struct bound *)old)->origin == PARTS ? malloc(sizeof *more) : NULL;
    if (!more)
        return now;
    struct places places = {.count = 0};
    *more = *(struct bound *)old;
    more->origin = find_ours(&places);
    more->before = old;
    bool filled = fill_slots(&more->real, &places);
    (void)dlerror();
    if (!filled || !atomic_compare_exchange_strong(&bound_real, &old, more))
        free(more);
    return cs_real();
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

bool cs_real_bound(void)
{
    return atomic_load_explicit(&bound_real, memory_order_acquire);
}

/* True if the function of that name in libcudnn.so.9 or one of its parts is at `address`. They are
 * one cuDNN with the same functions. */
static bool of_this_cudnn(const char *name, const void *address)
{
    bool found = false;
    for (size_t i = 0; i < sizeof our_files / sizeof *our_files && !found; i++) {
        void *library = dlopen(our_files[i], RTLD_LAZY | RTLD_NOLOAD);
        found = library && cs_find_dlsym_libc().dlsym(library, name) == address;
        if (library)
            dlclose(library);
    }
    return found;
}

static bool in_one_folder(const char *a, const char *b)
{
    size_t length = (size_t)(cs_path_file(a) - a);
    return length == (size_t)(cs_path_file(b) - b) && memcmp(a, b, length) == 0;
}

/* True if the function is in that file or in a file of the same folder. */
static bool lies_with(const void *address, const char *path)
{
    Dl_info there;
    return address && dladdr(address, &there) && cs_real_has_file(there.dli_fname) &&
           in_one_folder(there.dli_fname, path);
}

bool cs_real_owns(const char *path)
{
    if (!cs_real_has_file(path))
        return false;
    const struct bound *table = table_of(&bound_real, bind_served, sizeof empty, &empty);
#define CS_CALL(name)                                                                              \
    if (lies_with(CS_FUNCTION(table->real.name), path))                                            \
        return true;
#include "cudnn/bind/calls.def"
#undef CS_CALL
    return false;
}

bool cs_real_calls(const char *name, size_t slot, const void *address)
{
    const struct bound *table = table_of(&bound_real, bind_served, sizeof empty, &empty);
    return *(void *const *)((const char *)&table->real + slot) == address ||
           (table->origin != ELSEWHERE && of_this_cudnn(name, address));
}
