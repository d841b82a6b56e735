/* Kernels: registration, look-up, and their properties. */
#include "cudart_module.h"
#include "cudart_context.h"
#include "cudart_device.h"
#include "cudart_image.h"
#include "cudart_nvcc.h"
#include "cudart_variable.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct simdev_module {
    struct simdev_module *next;
    const void *fat; /* NULL: the library that registered it was unloaded */
    bool is_loaded;  /* by a call; otherwise registered */
    bool was_read;
    bool has_image;
    struct simdev_image image; /* for the device; read on first use */
    struct simdev_function *functions;
};

/* By address: stubs and handles, in one open table. */
struct entry {
    const void *key;
    struct simdev_function *function;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all of this */
static struct simdev_module *modules;
static struct entry *entries;
static size_t room, used;

/* --- the table; the caller holds the lock --- */

static struct entry *place_of(struct entry *table, size_t size, const void *key)
{
    size_t at = (size_t)((uintptr_t)key >> 3) * (size_t)0x9E3779B97F4A7C15u;
    at = (at >> 20) & (size - 1);
    while (table[at].key && table[at].key != key)
        at = (at + 1) & (size - 1);
    return &table[at];
}

static bool grow_table(void)
{
    const size_t size = room ? 2 * room : 1024;
    struct entry *table = calloc(size, sizeof(*table));
    if (!table)
        return false;
    for (size_t i = 0; i < room; i++)
        if (entries[i].key)
            *place_of(table, size, entries[i].key) = entries[i];
    free(entries);
    entries = table;
    room = size;
    return true;
}

/* A new library may reuse the addresses of an unloaded one, so the newest entry wins. */
static bool insert_function(const void *key, struct simdev_function *function)
{
    if (2 * (used + 1) > room && !grow_table())
        return false;
    struct entry *entry = place_of(entries, room, key);
    used += entry->key == NULL;
    *entry = (struct entry){.key = key, .function = function};
    return true;
}

static struct simdev_function *find_entry(const void *key)
{
    return room && key ? place_of(entries, room, key)->function : NULL;
}

struct simdev_function *simdev_function_find(const void *key)
{
    pthread_mutex_lock(&lock);
    struct simdev_function *function = find_entry(key);
    if (function && !function->module->fat)
        function = NULL;
    pthread_mutex_unlock(&lock);
    return function;
}

static struct simdev_function *add_function(struct simdev_module *module, const void *stub,
                                            const char *name)
{
    struct simdev_function *function = calloc(1, sizeof(*function));
    if (!function)
        return NULL;
    function->stub = stub;
    function->name = name;
    function->module = module;
    atomic_init(&function->dynamic_shared, -1);
    if ((stub && !insert_function(stub, function)) || !insert_function(function, function)) {
        if (stub && find_entry(stub) == function)
            place_of(entries, room, stub)->function = NULL;
        free(function);
        return NULL;
    }
    function->next = module->functions;
    module->functions = function;
    return function;
}

/* --- modules --- */

static struct simdev_module *add_module(const void *fat, bool is_loaded)
{
    struct simdev_module *module = calloc(1, sizeof(*module));
    if (!module)
        return NULL;
    module->fat = fat;
    module->is_loaded = is_loaded;
    pthread_mutex_lock(&lock);
    module->next = modules;
    modules = module;
    pthread_mutex_unlock(&lock);
    return module;
}

/* The empty module stays, because queued work may still refer to its kernels. */
static void empty_module(struct simdev_module *module)
{
    module->fat = NULL;
    simdev_image_release(&module->image);
    module->has_image = false;
}

/* The image for the device. NULL if none can be read. Caller holds the lock. */
static const struct simdev_image *image_of(struct simdev_module *module)
{
    if (!module->was_read && module->fat && simdev_usable() == cudaSuccess) {
        module->was_read = true;
        module->has_image = simdev_image_find(module->fat, simdev_device_arch(), &module->image);
    }
    return module->has_image ? &module->image : NULL;
}

static bool is_known_module(const struct simdev_module *module)
{
    const struct simdev_module *m = modules;
    while (m && m != module)
        m = m->next;
    return m && m->fat && m->is_loaded;
}

struct wrapper {
    int magic, version;
    const void *data;
    void *unused;
};

enum {
    WRAPPER_MAGIC = 0x466243b1
};

/* The fat binary inside nvcc's wrapper. */
static const void *data_of_image(const void *image)
{
    const struct wrapper *wrapper = image;
    return image && wrapper->magic == WRAPPER_MAGIC ? wrapper->data : image;
}

struct simdev_module *simdev_module_load(const void *image)
{
    return add_module(data_of_image(image), true);
}

bool simdev_module_known(const struct simdev_module *module)
{
    pthread_mutex_lock(&lock);
    const bool is_known = is_known_module(module);
    pthread_mutex_unlock(&lock);
    return is_known;
}

bool simdev_module_unload(struct simdev_module *module)
{
    pthread_mutex_lock(&lock);
    const bool is_known = is_known_module(module);
    if (is_known)
        empty_module(module);
    pthread_mutex_unlock(&lock);
    if (is_known)
        simdev_variable_drop(module);
    return is_known;
}

static struct simdev_function *of_name(struct simdev_module *module, const char *name)
{
    struct simdev_function *function = module->functions;
    while (function && strcmp(function->name, name) != 0)
        function = function->next;
    return function;
}

/* Names of loaded modules are copied and never freed, because counters refer to them. */
static struct simdev_function *make_function(struct simdev_module *module, const char *name)
{
    struct simdev_function *function = of_name(module, name);
    if (function)
        return function;
    char *copy = strdup(name);
    function = copy ? add_function(module, NULL, copy) : NULL;
    if (!function)
        free(copy);
    return function;
}

struct simdev_function *simdev_module_function(struct simdev_module *module, const char *name)
{
    struct simdev_image_kernel kernel;
    struct simdev_function *function = NULL;
    pthread_mutex_lock(&lock);
    if (is_known_module(module)) {
        const struct simdev_image *image = image_of(module);
        if (!image || simdev_image_kernel(image, name, &kernel))
            function = make_function(module, name);
    }
    pthread_mutex_unlock(&lock);
    return function;
}

static void make_named(const char *name, void *arg)
{
    (void)make_function(arg, name);
}

unsigned simdev_module_list(struct simdev_module *module, struct simdev_function **list,
                            unsigned most)
{
    unsigned count = 0;
    pthread_mutex_lock(&lock);
    if (is_known_module(module)) {
        const struct simdev_image *image = image_of(module);
        if (image)
            simdev_image_kernels(image, make_named, module);
        for (struct simdev_function *f = module->functions; f; f = f->next, count++)
            if (count < most)
                list[count] = f;
    }
    pthread_mutex_unlock(&lock);
    return count;
}

unsigned simdev_module_count(struct simdev_module *module)
{
    return simdev_module_list(module, NULL, 0);
}

bool simdev_module_variable(struct simdev_module *module, const char *name, void **address,
                            size_t *bytes)
{
    const void *initial = NULL;
    size_t found = 0;
    pthread_mutex_lock(&lock);
    const struct simdev_image *image = is_known_module(module) ? image_of(module) : NULL;
    const bool exists = image && simdev_image_variable(image, name, &found, &initial);
    struct simdev_variable *variable =
        exists ? simdev_variable_of_module(module, name, found) : NULL;
    const bool stored = variable && simdev_variable_store(variable, initial, address);
    pthread_mutex_unlock(&lock);
    if (stored && bytes)
        *bytes = found;
    return stored;
}

bool simdev_module_initial(struct simdev_module *module, const char *name, size_t bytes, void *to)
{
    const void *initial = NULL;
    size_t found = 0;
    pthread_mutex_lock(&lock);
    const struct simdev_image *image = module->fat ? image_of(module) : NULL;
    const bool exists =
        image && simdev_image_variable(image, name, &found, &initial) && initial && found <= bytes;
    if (exists)
        memcpy(to, initial, found);
    pthread_mutex_unlock(&lock);
    return exists;
}

/* --- properties of a kernel --- */

struct simdev_kernel_facts simdev_function_facts(const struct simdev_function *function)
{
    struct simdev_image_kernel told = {.registers = -1, .max_threads = -1, .parameter_bytes = -1};
    int arch = simdev_device_arch();
    pthread_mutex_lock(&lock);
    const struct simdev_image *image = image_of(function->module);
    if (image && simdev_image_kernel(image, function->name, &told))
        arch = image->arch;
    pthread_mutex_unlock(&lock);
    return (struct simdev_kernel_facts){.registers = told.registers,
                                        .max_threads = told.max_threads,
                                        .static_shared = told.static_shared,
                                        .local = told.local,
                                        .constant = 0,
                                        .parameter_bytes = told.parameter_bytes,
                                        .ptx_version = arch,
                                        .binary_version = arch};
}

const struct simdev_parameters *simdev_function_parameters(struct simdev_function *function)
{
    struct simdev_parameters *known = atomic_load(&function->parameters), *none = NULL;
    struct simdev_image_kernel told = {.parameters = 0};
    if (known)
        return known;
    pthread_mutex_lock(&lock);
    const struct simdev_image *image = image_of(function->module);
    if (image && !simdev_image_kernel(image, function->name, &told))
        told.parameters = 0;
    pthread_mutex_unlock(&lock);
    struct simdev_parameters *made =
        calloc(1, sizeof(*made) + told.parameters * sizeof(*made->bytes));
    if (!made)
        return NULL;
    made->count = told.parameters;
    memcpy(made->bytes, told.bytes, told.parameters * sizeof(*made->bytes));
    if (atomic_compare_exchange_strong(&function->parameters, &none, made))
        return made;
    free(made);
    return none;
}

int simdev_function_dynamic_shared(const struct simdev_function *function)
{
    const int set = atomic_load(&function->dynamic_shared);
    if (set >= 0)
        return set;
    const int most = simdev_device_limits()->shared_per_block;
    const int fixed = simdev_function_facts(function).static_shared;
    return fixed < most ? most - fixed : 0;
}

/* --- functions called by nvcc's code --- */

/* Not a use of the device: programs register before main, even if they never use a device. */
void **__cudaRegisterFatBinary(void *fat)
{
    return (void **)(void *)add_module(data_of_image(fat), false);
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    struct simdev_module *module = (void *)handle;
    if (!module)
        return;
    pthread_mutex_lock(&lock);
    empty_module(module);
    pthread_mutex_unlock(&lock);
    simdev_variable_forget(module);
}

void __cudaRegisterFunction(void **handle, const char *stub, char *device_stub, const char *name,
                            int thread_limit, struct uint3 *thread, struct uint3 *block,
                            dim3 *block_size, dim3 *grid_size, int *warp_size)
{
    (void)device_stub, (void)thread_limit, (void)thread, (void)block;
    (void)block_size, (void)grid_size, (void)warp_size;
    struct simdev_module *module = (void *)handle;
    if (!module)
        return;
    pthread_mutex_lock(&lock);
    (void)add_function(module, stub, name);
    pthread_mutex_unlock(&lock);
}
