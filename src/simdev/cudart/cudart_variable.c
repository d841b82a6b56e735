/* Symbols (CUDA Runtime API, Memory Management): addresses of module variables, and copies to and
 * from them. */
#include "cudart_variable.h"
#include "cudart_context.h"
#include "cudart_nvcc.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct simdev_variable {
    struct simdev_variable *next;
    struct simdev_module *module; /* NULL: gone */
    const void *host;             /* the program's key; NULL: of a loaded module */
    const char *name;
    size_t bytes;
    bool is_initial; /* managed, and its initial bytes were copied */
    void **managed;  /* location of the pointer that the program reads; NULL: none */
    void *storage[SIMDEV_MAX_DEVICES]; /* NULL: not created yet */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct simdev_variable *variables;

static struct simdev_variable *add_variable(struct simdev_module *module, const void *host,
                                            const char *name, size_t bytes)
{
    struct simdev_variable *variable = calloc(1, sizeof(*variable));
    if (!variable)
        return NULL;
    variable->module = module;
    variable->host = host;
    variable->name = name;
    variable->bytes = bytes;
    pthread_mutex_lock(&lock);
    variable->next = variables;
    variables = variable;
    pthread_mutex_unlock(&lock);
    return variable;
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t bytes, int constant, int global)
{
    (void)device, (void)external, (void)constant, (void)global;
    if (handle)
        (void)add_variable((void *)handle, host, name, bytes);
}

/* The program reads the address without a call, so the storage exists from the start.
 * __cudaInitModule, which nvcc's code calls before the host's first access, copies the initial
 * bytes. So registration does not bring the device up. */
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                              int external, size_t bytes, int constant, int global)
{
    (void)device, (void)external, (void)constant, (void)global;
    struct simdev_variable *variable =
        handle ? add_variable((void *)handle, host, name, bytes) : NULL;
    if (!variable)
        return;
    variable->managed = host;
    *host = calloc(1, bytes);
}

char __cudaInitModule(void **handle)
{
    struct simdev_module *module = (void *)handle;
    (void)simdev_usable();
    pthread_mutex_lock(&lock);
    for (struct simdev_variable *v = variables; v; v = v->next) {
        if (v->module == module && v->managed && *v->managed && !v->is_initial)
            (void)simdev_module_initial(module, v->name, v->bytes, *v->managed);
        v->is_initial = v->is_initial || v->module == module;
    }
    pthread_mutex_unlock(&lock);
    return 1;
}

struct simdev_variable *simdev_variable_of_module(struct simdev_module *module, const char *name,
                                                  size_t bytes)
{
    pthread_mutex_lock(&lock);
    struct simdev_variable *variable = variables;
    while (variable && (variable->module != module || strcmp(variable->name, name) != 0))
        variable = variable->next;
    pthread_mutex_unlock(&lock);
    if (variable)
        return variable;
    char *copy = strdup(name);
    variable = copy ? add_variable(module, NULL, copy, bytes) : NULL;
    if (!variable)
        free(copy);
    return variable;
}

/* A reset of the device ends the storage. The next use creates it again. */
static bool is_stored(const void *storage)
{
    struct simdev_mem_info info;
    return storage && simdev_mem_block(storage, &info) && info.begin == storage;
}

bool simdev_variable_store(struct simdev_variable *variable, const void *initial, void **address)
{
    const int device = simdev_context_device();
    if (variable->managed) {
        *address = *variable->managed;
        return *address != NULL;
    }
    pthread_mutex_lock(&lock);
    void **storage = &variable->storage[device];
    if (!is_stored(*storage) &&
        simdev_mem_allocate_image(device, variable->bytes, initial, storage) != cudaSuccess)
        *storage = NULL;
    *address = *storage;
    pthread_mutex_unlock(&lock);
    return *address != NULL;
}

static void forget_module(struct simdev_module *module, bool release)
{
    pthread_mutex_lock(&lock);
    for (struct simdev_variable *v = variables; v; v = v->next) {
        if (v->module != module)
            continue;
        v->module = NULL;
        for (int i = 0; release && i < SIMDEV_MAX_DEVICES; i++)
            if (is_stored(v->storage[i]))
                (void)simdev_mem_free("cudaLibraryUnload", SIMDEV_DEVICE, v->storage[i]);
    }
    pthread_mutex_unlock(&lock);
}

void simdev_variable_drop(struct simdev_module *module)
{
    forget_module(module, true);
}

void simdev_variable_forget(struct simdev_module *module)
{
    forget_module(module, false);
}

/* --- symbols --- */

static struct simdev_variable *find_variable(const void *symbol)
{
    pthread_mutex_lock(&lock);
    struct simdev_variable *variable = variables;
    while (variable && !(variable->module && variable->host == symbol))
        variable = variable->next;
    pthread_mutex_unlock(&lock);
    return symbol ? variable : NULL;
}

static cudaError_t address_of(const void *symbol, void **address, size_t *bytes)
{
    struct simdev_variable *variable = find_variable(symbol);
    if (!variable)
        return cudaErrorInvalidSymbol;
    *bytes = variable->bytes;
    void *initial = calloc(1, variable->bytes + 1);
    if (!initial)
        return cudaErrorMemoryAllocation;
    const bool told =
        simdev_module_initial(variable->module, variable->name, variable->bytes, initial);
    const bool stored = simdev_variable_store(variable, told ? initial : NULL, address);
    free(initial);
    return stored ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaGetSymbolAddress(void **address, const void *symbol)
{
    size_t bytes;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !address)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = address_of(symbol, address, &bytes);
    return simdev_leave(error);
}

cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
    cudaError_t error = simdev_enter(__func__);
    const struct simdev_variable *variable = find_variable(symbol);
    if (error == cudaSuccess && !bytes)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && !variable)
        error = cudaErrorInvalidSymbol;
    if (error == cudaSuccess)
        *bytes = variable->bytes;
    return simdev_leave(error);
}

/* The part of a symbol that a copy reads or writes. */
static cudaError_t locate_symbol(const char *function, const void *symbol, size_t bytes,
                                 size_t offset, char **place)
{
    void *address = NULL;
    size_t room = 0;
    cudaError_t error = simdev_enter(function);
    if (error == cudaSuccess)
        error = address_of(symbol, &address, &room);
    if (error == cudaSuccess && (offset > room || bytes > room - offset))
        error = cudaErrorInvalidValue;
    *place = (char *)address + offset;
    return error;
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind)
{
    char *place;
    const cudaError_t error = locate_symbol(__func__, symbol, bytes, offset, &place);
    return error == cudaSuccess ? cudaMemcpy(place, from, bytes, kind) : simdev_leave(error);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes,
                                    size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    char *place;
    const cudaError_t error = locate_symbol(__func__, symbol, bytes, offset, &place);
    return error == cudaSuccess ? cudaMemcpyAsync(place, from, bytes, kind, stream)
                                : simdev_leave(error);
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                                 enum cudaMemcpyKind kind)
{
    char *place;
    const cudaError_t error = locate_symbol(__func__, symbol, bytes, offset, &place);
    return error == cudaSuccess ? cudaMemcpy(to, place, bytes, kind) : simdev_leave(error);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream)
{
    char *place;
    const cudaError_t error = locate_symbol(__func__, symbol, bytes, offset, &place);
    return error == cudaSuccess ? cudaMemcpyAsync(to, place, bytes, kind, stream)
                                : simdev_leave(error);
}
