/* Memory and events of another process. Memory counts in the process that allocated it. Where it is
 * opened it has an address, but its values are unknown. An event of another process is always
 * complete. */
#include "cudart_account.h"
#include "cudart_bytes.h"
#include "cudart_context.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char memory_mark[8] = "simdevm", event_mark[8] = "simdeve";

/* Of the 64 bytes of a handle. */
struct shared {
    char mark[8];
    int process, device;
    uint64_t address, bytes;
};

struct opened {
    struct opened *next;
    struct shared shared;
    void *memory;
    unsigned references;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct opened *all; /* under lock */

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *memory)
{
    struct simdev_mem_info info;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess &&
        (!handle || !simdev_mem_block(memory, &info) || info.place != SIMDEV_DEVICE))
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return simdev_leave(error);
    struct shared shared = {.process = getpid(),
                            .device = info.owner.device,
                            .address = (uintptr_t)info.begin,
                            .bytes = info.bytes};
    memcpy(shared.mark, memory_mark, sizeof memory_mark);
    *handle = (cudaIpcMemHandle_t){.reserved = ""};
    memcpy(handle, &shared, sizeof shared);
    return simdev_leave(cudaSuccess);
}

static struct opened *find_opened(const struct shared *shared)
{
    struct opened *opened = all;
    while (opened && memcmp(&opened->shared, shared, sizeof *shared) != 0)
        opened = opened->next;
    return opened;
}

/* The caller holds the lock. */
static cudaError_t open_memory(const struct shared *shared, void **memory)
{
    struct opened *opened = calloc(1, sizeof *opened);
    void *made = opened ? mmap(NULL, shared->bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                        : MAP_FAILED;
    const struct simdev_owner owner = {.device = shared->device};
    if (made == MAP_FAILED || simdev_mem_add(SIMDEV_DEVICE, owner, made, shared->bytes,
                                             SIMDEV_KIND_MAPPED) != cudaSuccess) {
        if (made != MAP_FAILED)
            munmap(made, shared->bytes);
        free(opened);
        return cudaErrorMemoryAllocation;
    }
    *opened = (struct opened){.next = all, .shared = *shared, .memory = made, .references = 1};
    all = opened;
    *memory = made;
    return cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void **memory, cudaIpcMemHandle_t handle, unsigned flags)
{
    struct shared shared;
    cudaError_t error = simdev_enter(__func__);
    memcpy(&shared, &handle, sizeof shared);
    if (error == cudaSuccess && (!memory || flags != cudaIpcMemLazyEnablePeerAccess ||
                                 memcmp(shared.mark, memory_mark, sizeof memory_mark) != 0))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && shared.process == getpid())
        error = cudaErrorDeviceUninitialized; /* as on a GPU */
    if (error != cudaSuccess)
        return simdev_leave(error);
    pthread_mutex_lock(&lock);
    struct opened *opened = find_opened(&shared);
    if (opened) {
        opened->references++;
        *memory = opened->memory;
    } else {
        error = open_memory(&shared, memory);
    }
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}

static void close_memory(struct opened **link)
{
    struct opened *opened = *link;
    *link = opened->next;
    if (simdev_account_on())
        simdev_bytes_forget(opened->memory, opened->shared.bytes);
    (void)simdev_mem_remove(opened->memory, opened->shared.bytes, SIMDEV_KIND_MAPPED);
    munmap(opened->memory, opened->shared.bytes);
    free(opened);
}

/* Waits for the work that may use it, as a free does. */
cudaError_t cudaIpcCloseMemHandle(void *memory)
{
    cudaError_t error = simdev_enter(__func__);
    if (error != cudaSuccess)
        return simdev_leave(error);
    simdev_queue_settle();
    pthread_mutex_lock(&lock);
    struct opened **link = &all;
    while (*link && (*link)->memory != memory)
        link = &(*link)->next;
    if (!*link)
        error = cudaErrorInvalidValue;
    else if (--(*link)->references == 0)
        close_memory(link);
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && (!handle || !event))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        *handle = (cudaIpcEventHandle_t){.reserved = ""};
        memcpy(handle, event_mark, sizeof event_mark);
    }
    return simdev_leave(error);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    if (!event || memcmp(&handle, event_mark, sizeof event_mark) != 0)
        return simdev_leave(cudaErrorInvalidValue);
    return cudaEventCreateWithFlags(event, cudaEventDisableTiming);
}
