/* The life of the device: first call, fork, faults, exit. */
#include "cudart_account.h"
#include "cudart_context.h"
#include "cudart_fork.h"
#include "cudart_race.h"
#include "cudart_record.h"
#include "cudart_report.h"
#include "cudart_time.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool called; /* this process called CUDA */
static atomic_bool forked; /* this is a fork of a process that had called CUDA */
static atomic_bool stale;  /* this is a fork of one that had not: the settings may be others */
static _Thread_local bool managing;
static atomic_bool finished; /* the destructor ran */
static atomic_bool exiting;  /* exit() has begun */
static cudaError_t init_error;
static atomic_int fault;
static _Thread_local cudaError_t last_error;

static void before_fork(void)
{
    simdev_event_lock();
    simdev_graph_lock();
    simdev_queue_lock();
    simdev_mem_lock();
}

static void unlock_all(void)
{
    simdev_mem_unlock();
    simdev_queue_unlock();
    simdev_graph_unlock();
    simdev_event_unlock();
}

static void after_fork_in_child(void)
{
    atomic_store(&forked, atomic_load(&called) && !simdev_fork_running());
    atomic_store(&stale, !atomic_load(&called));
    unlock_all();
}

static void read_settings(void)
{
    bool usable = simdev_device_init();
    usable = simdev_report_init() && usable;
    usable = simdev_account_init() && usable;
    usable = simdev_record_init() && usable;
    init_error = usable ? cudaSuccess : cudaErrorInitializationError;
    simdev_race_init();
    simdev_schedule_init();
}

/* This library is never unloaded, so its handlers run only at the end of the process. */
static void note_exit(void)
{
    atomic_store(&exiting, true);
}

bool simdev_is_exiting(void)
{
    return atomic_load(&exiting);
}

static void init_state(void)
{
    read_settings();
    if (pthread_atfork(before_fork, unlock_all, after_fork_in_child) != 0)
        init_error = cudaErrorInitializationError;
    if (atexit(note_exit) != 0)
        init_error = cudaErrorInitializationError;
    simdev_driver_load();
}

void simdev_manage(bool begins)
{
    managing = begins;
}

cudaError_t simdev_usable(void)
{
    pthread_once(&once, init_state);
    if (!managing)
        simdev_fork_point(read_settings);
    return simdev_there();
}

cudaError_t simdev_there(void)
{
    pthread_once(&once, init_state);
    if (atomic_load(&stale) && atomic_exchange(&stale, false))
        read_settings();
    if (!managing)
        atomic_store_explicit(&called, true, memory_order_relaxed);
    if (atomic_load(&forked))
        return cudaErrorInitializationError;
    if (atomic_load(&finished))
        return cudaErrorCudartUnloading;
    return init_error;
}

/* A function that creates something fails as if memory were short, which every caller must expect.
 */
static cudaError_t requested_error(const char *function)
{
    return strcasestr(function, "alloc") || strstr(function, "Create") ? cudaErrorMemoryAllocation
                                                                       : cudaErrorUnknown;
}

cudaError_t simdev_begin_there(const char *function)
{
    cudaError_t error = simdev_there();
    if (simdev_driver_call())
        function = simdev_driver_call();
    if (error != cudaSuccess)
        return error;
    if (simdev_queue_on_worker())
        return cudaErrorNotPermitted;
    if (simdev_should_fail(function))
        return requested_error(function);
    return simdev_faulted();
}

cudaError_t simdev_begin(const char *function)
{
    (void)simdev_usable();
    return simdev_begin_there(function);
}

cudaError_t simdev_enter(const char *function)
{
    cudaError_t error = simdev_begin(function);
    return error == cudaSuccess ? simdev_context_enter() : error;
}

cudaError_t simdev_leave(cudaError_t error)
{
    if (error != cudaSuccess && !simdev_driver_call())
        last_error = error;
    return error;
}

void simdev_fault(cudaError_t error)
{
    int none = cudaSuccess;
    atomic_compare_exchange_strong(&fault, &none, (int)error);
}

cudaError_t simdev_faulted(void)
{
    return (cudaError_t)atomic_load(&fault);
}

/* Kernels can only be launched on streams of the current context. */
static cudaError_t check_launch(cudaStream_t stream)
{
    struct simdev_stream_info info;
    cudaError_t error = simdev_queue_describe(stream, &info);
    if (error == cudaSuccess && info.owner.context != simdev_owner_current().context)
        error = cudaErrorInvalidResourceHandle;
    return error;
}

cudaError_t simdev_enqueue(cudaStream_t stream, const struct simdev_work *work)
{
    cudaError_t error = simdev_usable();
    if (error == cudaSuccess)
        error = simdev_faulted();
    if (error == cudaSuccess)
        error = simdev_context_enter();
    if (error == cudaSuccess && work->type == cudaGraphNodeTypeKernel)
        error = check_launch(stream);
    if (error != cudaSuccess)
        return error;
    return simdev_capture_submit(stream, work, NULL);
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    cudaError_t sticky = simdev_faulted();
    return sticky != cudaSuccess ? sticky : last_error;
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = simdev_capture_refuse_device(simdev_owner_current().context);
    if (error == cudaSuccess) {
        simdev_queue_wait_all(simdev_owner_current().context);
        simdev_pool_synchronised();
        simdev_mem_check();
        error = simdev_faulted();
    }
    return simdev_leave(error);
}

cudaError_t cudaDeviceReset(void)
{
    cudaError_t error = simdev_usable();
    if (error == cudaSuccess) {
        simdev_context_reset(simdev_context_device());
        atomic_store(&fault, cudaSuccess);
    }
    return simdev_leave(error);
}

void simdev_report_early(void)
{
    if (!atomic_load(&called) || atomic_load(&forked))
        return;
    simdev_queue_settle();
    simdev_report_write();
}

__attribute__((destructor)) static void finish(void)
{
    if (!atomic_load(&called) || atomic_load(&forked))
        return;
    simdev_queue_settle();
    atomic_store(&finished, true);
    simdev_mem_check();
    simdev_report_write();
}
