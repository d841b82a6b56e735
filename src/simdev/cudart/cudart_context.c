/* Contexts of the simulated devices: creation, the current context of each thread, destruction with
 * all contents. */
#include "cudart_context.h"
#include "cudart_graph_memory.h"
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEPTH = 32 /* of a thread's stack */
};

struct CUctx_st {
    struct CUctx_st *next; /* of all that were ever made */
    uint64_t id;           /* 0: destroyed, or primary and not in use */
    int device;
    bool is_primary;
    bool is_used;      /* primary, and in use by the runtime: no release ends it */
    unsigned retained; /* primary, by the driver */
};

/* An entry of a thread's stack. The context may be destroyed and its handle reused. */
struct seat {
    struct CUctx_st *context;
    uint64_t id;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUctx_st *contexts;
static uint64_t next_id = 1;
static void *driver; /* libcuda, loaded once */

static _Thread_local struct {
    struct seat seat[DEPTH];
    int depth;
    int device; /* the runtime's choice, for when the stack is empty */
    const char *driver_call;
    struct simdev_owner running;
} thread;

/* --- all contexts; the caller holds the lock --- */

static bool is_known(const struct CUctx_st *context)
{
    const struct CUctx_st *c = contexts;
    while (c && c != context)
        c = c->next;
    return c != NULL;
}

static struct CUctx_st *find_primary(int device)
{
    struct CUctx_st *c = contexts;
    while (c && (!c->is_primary || c->device != device))
        c = c->next;
    return c;
}

/* A destroyed context whose memory can be reused. */
static struct CUctx_st *find_destroyed(void)
{
    struct CUctx_st *c = contexts;
    while (c && (c->is_primary || c->id != 0))
        c = c->next;
    return c;
}

/* The primary context of the device, or a new one. NULL if memory is short. */
static struct CUctx_st *activate_context(int device, bool primary)
{
    struct CUctx_st *context = primary ? find_primary(device) : find_destroyed();
    if (!context) {
        context = calloc(1, sizeof(*context));
        if (!context)
            return NULL;
        context->is_primary = primary;
        context->next = contexts;
        contexts = context;
    }
    context->device = device;
    if (context->id == 0)
        context->id = next_id++;
    return context;
}

/* A primary context stays valid across a reset. */
static bool is_alive(const struct seat *seat)
{
    const uint64_t id = seat->context->id;
    return id != 0 && (seat->context->is_primary || id == seat->id);
}

/* --- a thread's stack; the caller holds the lock --- */

static struct seat *top_seat(void)
{
    return thread.depth > 0 ? &thread.seat[thread.depth - 1] : NULL;
}

static void replace_top(struct CUctx_st *context)
{
    if (thread.depth == 0)
        thread.depth = 1;
    *top_seat() = (struct seat){.context = context, .id = context->id};
}

static cudaError_t push_seat(struct CUctx_st *context)
{
    if (thread.depth == DEPTH)
        return cudaErrorMemoryAllocation;
    thread.seat[thread.depth++] = (struct seat){.context = context, .id = context->id};
    return cudaSuccess;
}

/* A primary context may be current before its first use. */
static cudaError_t check_alive(const struct CUctx_st *context)
{
    const bool usable = is_known(context) && (context->id != 0 || context->is_primary);
    return usable ? cudaSuccess : cudaErrorDeviceUninitialized;
}

/* --- for the runtime --- */

struct simdev_owner simdev_owner_current(void)
{
    struct simdev_owner owner = thread.running;
    if (owner.context != 0)
        return owner;
    pthread_mutex_lock(&lock);
    const struct seat *seat = top_seat();
    if (seat && is_alive(seat))
        owner =
            (struct simdev_owner){.context = seat->context->id, .device = seat->context->device};
    pthread_mutex_unlock(&lock);
    return owner;
}

void simdev_owner_run(struct simdev_owner owner)
{
    thread.running = owner;
}

static cudaError_t use_primary(int device)
{
    struct CUctx_st *context = activate_context(device, true);
    if (!context)
        return cudaErrorMemoryAllocation;
    context->is_used = true;
    replace_top(context);
    return cudaSuccess;
}

cudaError_t simdev_context_enter(void)
{
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&lock);
    const struct seat *seat = top_seat();
    const bool of_runtime = !thread.driver_call && (!seat || seat->context->is_primary);
    if (of_runtime)
        error = use_primary(seat ? seat->context->device : thread.device);
    else if (!seat)
        error = cudaErrorDeviceUninitialized;
    else if (!is_alive(seat))
        error = cudaErrorContextIsDestroyed;
    pthread_mutex_unlock(&lock);
    return error;
}

int simdev_context_device(void)
{
    pthread_mutex_lock(&lock);
    const struct seat *seat = top_seat();
    const int device = seat ? seat->context->device : thread.device;
    pthread_mutex_unlock(&lock);
    return device;
}

cudaError_t simdev_context_set_device(int device)
{
    pthread_mutex_lock(&lock);
    const cudaError_t error = use_primary(device);
    if (error == cudaSuccess)
        thread.device = device;
    pthread_mutex_unlock(&lock);
    return error;
}

uint64_t simdev_use_context(void)
{
    cudaError_t error = simdev_usable();
    if (error == cudaSuccess)
        error = simdev_context_enter();
    return error == cudaSuccess ? simdev_owner_current().context : 0;
}

int simdev_current_device(void)
{
    return simdev_owner_current().device;
}

uint64_t simdev_stream_context(cudaStream_t stream)
{
    struct simdev_stream_info info = {.id = 0};
    cudaError_t error = simdev_usable();
    if (error == cudaSuccess)
        error = simdev_queue_describe(stream, &info);
    return error == cudaSuccess ? info.owner.context : 0;
}

static int count_alive(void)
{
    int alive = 0;
    pthread_mutex_lock(&lock);
    for (const struct CUctx_st *c = contexts; c; c = c->next)
        alive += c->id != 0;
    pthread_mutex_unlock(&lock);
    return alive;
}

/* Destroys everything in a context. Graphs belong to no context and are destroyed with the last
 * one. */
static void end_context(struct simdev_owner owner, bool is_primary)
{
    simdev_queue_wait_all(owner.context);
    simdev_event_reset(owner.context);
    simdev_capture_reset(owner.context);
    if (count_alive() == 1)
        simdev_graph_reset();
    simdev_queue_reset(owner.context);
    simdev_mem_reset(owner, is_primary);
    if (is_primary) {
        simdev_pool_reset(owner.device);
        simdev_graph_memory_reset(owner.device);
    }
}

void simdev_context_reset(int device)
{
    pthread_mutex_lock(&lock);
    struct CUctx_st *context = find_primary(device);
    const uint64_t id = context ? context->id : 0;
    pthread_mutex_unlock(&lock);
    if (id == 0)
        return;
    end_context((struct simdev_owner){.context = id, .device = device}, true);
    pthread_mutex_lock(&lock);
    context->id = 0;
    context->is_used = false;
    pthread_mutex_unlock(&lock);
}

/* --- for the driver --- */

void simdev_driver_load(void)
{
    char path[PATH_MAX];
    Dl_info here;
    const char *slash = dladdr(&lock, &here) ? strrchr(here.dli_fname, '/') : NULL;
    const int folder = slash ? (int)(slash + 1 - here.dli_fname) : 0;
    snprintf(path, sizeof(path), "%.*slibcuda.so.1", folder, slash ? here.dli_fname : "");
    driver = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!driver)
        simdev_violation("the driver cannot be loaded: %s", dlerror());
}

void *simdev_driver_entry(const char *symbol, unsigned version)
{
    int (*find)(const char *, void **, int, uint64_t, int *) = NULL;
    void *found = NULL;
    int result = 0;
    void *entry = driver ? dlsym(driver, "cuGetProcAddress_v2") : NULL;
    memcpy(&find, &entry, sizeof(entry));
    return find && find(symbol, &found, (int)version, 0, &result) == 0 ? found : NULL;
}

int simdev_context_devices(void)
{
    return simdev_device_count();
}

bool simdev_context_primary_active(int device)
{
    pthread_mutex_lock(&lock);
    const struct CUctx_st *context = find_primary(device);
    const bool active = context && context->id != 0;
    pthread_mutex_unlock(&lock);
    return active;
}

void simdev_driver_begin(const char *function)
{
    thread.driver_call = function;
}

void simdev_driver_end(void)
{
    thread.driver_call = NULL;
}

const char *simdev_driver_call(void)
{
    return thread.driver_call;
}

/* Begins a call that returns a context of the device. */
static cudaError_t begin_context(const simdev_context *out, int device)
{
    const cudaError_t error = simdev_begin(thread.driver_call);
    if (error != cudaSuccess)
        return error;
    return out ? simdev_check_device(device) : cudaErrorInvalidValue;
}

cudaError_t simdev_context_create(simdev_context *out, int device)
{
    cudaError_t error = begin_context(out, device);
    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&lock);
    struct CUctx_st *context = activate_context(device, false);
    error = context ? push_seat(context) : cudaErrorMemoryAllocation;
    if (error == cudaSuccess)
        *out = context;
    else if (context)
        context->id = 0;
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t simdev_context_destroy(simdev_context context)
{
    cudaError_t error = simdev_begin(thread.driver_call);
    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&lock);
    if (!is_known(context) || context->is_primary || context->id == 0)
        error = cudaErrorDeviceUninitialized;
    struct simdev_owner owner = {.context = 0};
    if (error == cudaSuccess)
        owner = (struct simdev_owner){.context = context->id, .device = context->device};
    pthread_mutex_unlock(&lock);
    if (error != cudaSuccess)
        return error;
    end_context(owner, false);
    pthread_mutex_lock(&lock);
    const struct seat *seat = top_seat();
    if (seat && seat->context == context && seat->id == owner.context)
        thread.depth--;
    context->id = 0;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

cudaError_t simdev_context_get(simdev_context *out)
{
    cudaError_t error = simdev_begin(thread.driver_call);
    if (error == cudaSuccess && !out)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *out = top_seat() ? top_seat()->context : NULL;
    return error;
}

cudaError_t simdev_context_set(simdev_context context)
{
    cudaError_t error = simdev_begin(thread.driver_call);
    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&lock);
    if (context)
        error = check_alive(context);
    if (error == cudaSuccess && context)
        replace_top(context);
    else if (error == cudaSuccess && thread.depth > 0)
        thread.depth--;
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t simdev_context_push(simdev_context context)
{
    cudaError_t error = simdev_begin(thread.driver_call);
    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&lock);
    error = check_alive(context);
    if (error == cudaSuccess)
        error = push_seat(context);
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t simdev_context_pop(simdev_context *out)
{
    cudaError_t error = simdev_begin(thread.driver_call);
    if (error == cudaSuccess && thread.depth == 0)
        error = cudaErrorDeviceUninitialized;
    if (error != cudaSuccess)
        return error;
    if (out)
        *out = top_seat()->context;
    thread.depth--;
    return cudaSuccess;
}

cudaError_t simdev_context_id(simdev_context context, unsigned long long *id)
{
    cudaError_t error = simdev_begin(thread.driver_call);
    if (error == cudaSuccess && !id)
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&lock);
    const struct seat seat = {.context = context, .id = is_known(context) ? context->id : 0};
    const struct seat *asked = context ? &seat : top_seat();
    if (!asked || (context && !is_known(context)))
        error = cudaErrorDeviceUninitialized;
    else if (!is_alive(asked))
        error = cudaErrorContextIsDestroyed;
    else
        *id = asked->context->id;
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t simdev_context_retain_primary(simdev_context *out, int device)
{
    const cudaError_t error = begin_context(out, device);
    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&lock);
    struct CUctx_st *context = activate_context(device, true);
    if (context)
        context->retained++;
    pthread_mutex_unlock(&lock);
    if (!context)
        return cudaErrorMemoryAllocation;
    *out = context;
    return cudaSuccess;
}

cudaError_t simdev_context_release_primary(int device)
{
    cudaError_t error = simdev_begin(thread.driver_call);
    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&lock);
    struct CUctx_st *context = find_primary(device);
    if (!context || context->retained == 0)
        error = cudaErrorDeviceUninitialized;
    const bool ends = error == cudaSuccess && --context->retained == 0 && !context->is_used;
    pthread_mutex_unlock(&lock);
    if (ends)
        simdev_context_reset(device);
    return error;
}
