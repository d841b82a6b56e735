/* cudaEvent* (CUDA Runtime API, Event Management): an event refers to the last operation recorded
 * in it, or to a place in a capture. */
#include "cudart_context.h"
#include "cudart_time.h"
#include <pthread.h>
#include <search.h>
#include <stdlib.h>

struct CUevent_st {
    uint64_t context;
    unsigned flags;
    struct simdev_op *op; /* a reference; NULL: never recorded, or in a capture */
    struct simdev_mark mark;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *events; /* those that exist, by address */

/* Makes the event refer to another operation. The event takes ownership of `op` and the mark's
 * nodes. */
static void set_recorded(struct CUevent_st *event, struct simdev_op *op,
                         const struct simdev_mark *mark)
{
    if (event->op)
        simdev_op_release(event->op);
    free(event->mark.node);
    event->op = op;
    event->mark = *mark;
}

static void free_event(void *event)
{
    set_recorded(event, NULL, &(struct simdev_mark){.capture = 0});
    free(event);
}

static cudaError_t create_event(const char *function, cudaEvent_t *out, unsigned flags)
{
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    struct CUevent_st *event = NULL;
    cudaError_t error = simdev_enter(function);
    if (error == cudaSuccess && (!out || (flags & ~known)))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && (flags & cudaEventInterprocess) &&
        !(flags & cudaEventDisableTiming))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && !(event = calloc(1, sizeof(*event))))
        error = cudaErrorMemoryAllocation;
    if (error != cudaSuccess)
        return simdev_leave(error);
    event->context = simdev_owner_current().context;
    event->flags = flags;
    pthread_mutex_lock(&lock);
    const bool added = simdev_handle_add(&events, event);
    pthread_mutex_unlock(&lock);
    if (!added) {
        free(event);
        return simdev_leave(cudaErrorMemoryAllocation);
    }
    *out = event;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return create_event(__func__, event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    return create_event(__func__, event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t error = simdev_enter(__func__);
    if (error != cudaSuccess)
        return simdev_leave(error);
    pthread_mutex_lock(&lock);
    const bool known = simdev_handle_known(&events, event);
    if (known) {
        simdev_handle_remove(&events, event);
        free_event(event);
    }
    pthread_mutex_unlock(&lock);
    return simdev_leave(known ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

/* An event can only be recorded on streams of its context. */
static cudaError_t check_record(cudaEvent_t event, cudaStream_t stream)
{
    struct simdev_stream_info info;
    if (!simdev_handle_known(&events, event))
        return cudaErrorInvalidResourceHandle;
    cudaError_t error = simdev_queue_describe(stream, &info);
    if (error == cudaSuccess && info.owner.context != event->context)
        error = cudaErrorInvalidResourceHandle;
    return error;
}

static cudaError_t record_event(const char *function, cudaEvent_t event, cudaStream_t stream,
                                unsigned flags)
{
    cudaError_t error = simdev_enter(function);
    if (error == cudaSuccess && flags != cudaEventRecordDefault)
        error = cudaErrorInvalidValue; /* cudaEventRecordExternal creates nodes that are not
                                          simulated */
    if (error != cudaSuccess)
        return simdev_leave(error);
    struct simdev_op *op = NULL;
    struct simdev_mark mark = {.capture = 0};
    pthread_mutex_lock(&lock);
    error = check_record(event, stream);
    if (error == cudaSuccess)
        error = simdev_capture_mark(stream, &mark);
    if (error == cudaSuccess && !mark.capture)
        error = simdev_queue_submit(stream, &(struct simdev_task){.item = NULL}, &op);
    if (error == cudaSuccess)
        set_recorded(event, op, &mark);
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return record_event(__func__, event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    return record_event(__func__, event, stream, flags);
}

/* Only a place in the order, without work. Only the device waits. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && flags != cudaEventWaitDefault)
        error =
            cudaErrorInvalidValue; /* cudaEventWaitExternal creates nodes that are not simulated */
    if (error != cudaSuccess)
        return simdev_leave(error);
    bool captured = false;
    pthread_mutex_lock(&lock);
    if (!simdev_handle_known(&events, event))
        error = cudaErrorInvalidResourceHandle;
    else
        error = simdev_capture_wait(stream, &event->mark, event->op != NULL, &captured);
    if (error == cudaSuccess && !captured)
        error = simdev_queue_submit(stream, &(struct simdev_task){.after = event->op}, NULL);
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}

/* A reference to the recorded operation, or NULL with cudaSuccess if the event was never recorded.
 * A place in a capture never runs, so a query of it is refused. */
static cudaError_t recorded_op(cudaEvent_t event, struct simdev_op **op, unsigned *flags)
{
    pthread_mutex_lock(&lock);
    const bool known = simdev_handle_known(&events, event);
    const cudaError_t error =
        known ? simdev_capture_refuse_mark(&event->mark) : cudaErrorInvalidResourceHandle;
    *op = error == cudaSuccess ? event->op : NULL;
    *flags = known ? event->flags : 0;
    if (*op)
        simdev_op_retain(*op);
    pthread_mutex_unlock(&lock);
    return error;
}

/* The same for the calls that a capture of a strict mode forbids. */
static cudaError_t recorded_outside(cudaEvent_t event, struct simdev_op **op)
{
    unsigned flags;
    cudaError_t error = recorded_op(event, op, &flags);
    if (error == cudaSuccess)
        error = simdev_capture_refuse_unsafe();
    if (error != cudaSuccess && *op) {
        simdev_op_release(*op);
        *op = NULL;
    }
    return error;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    struct simdev_op *op = NULL;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = recorded_outside(event, &op);
    if (op) {
        simdev_op_wait(op);
        simdev_op_release(op);
        simdev_pool_synchronised();
        error = simdev_faulted();
    }
    return simdev_leave(error);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    struct simdev_op *op = NULL;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = recorded_outside(event, &op);
    if (op) {
        if (!simdev_op_done(op))
            error = cudaErrorNotReady;
        simdev_op_release(op);
    }
    return simdev_leave(error);
}

static cudaError_t elapsed_time(struct simdev_op *start, struct simdev_op *end, float *ms)
{
    if (!simdev_op_done(start) || !simdev_op_done(end))
        return cudaErrorNotReady;
    simdev_time_told();
    *ms = (float)((double)simdev_op_time(end) - (double)simdev_op_time(start)) / 1e6f;
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    struct simdev_op *start_op = NULL, *end_op = NULL;
    unsigned start_flags = 0, end_flags = 0;
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess && !ms)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = recorded_op(start, &start_op, &start_flags);
    if (error == cudaSuccess)
        error = recorded_op(end, &end_op, &end_flags);
    if (error == cudaSuccess) {
        const bool timed = !((start_flags | end_flags) & cudaEventDisableTiming);
        error = timed && start_op && end_op ? elapsed_time(start_op, end_op, ms)
                                            : cudaErrorInvalidResourceHandle;
    }
    if (end_op)
        simdev_op_release(end_op);
    if (start_op)
        simdev_op_release(start_op);
    return simdev_leave(error);
}

struct search {
    uint64_t context;
    struct CUevent_st *found;
};

static void find_of_context(const void *node, VISIT visit, void *arg)
{
    struct CUevent_st *event = *(struct CUevent_st *const *)node;
    struct search *search = arg;
    if ((visit == postorder || visit == leaf) && event->context == search->context)
        search->found = event;
}

void simdev_event_reset(uint64_t context)
{
    struct search search;
    pthread_mutex_lock(&lock);
    do { /* taking one out ends a walk */
        search = (struct search){.context = context};
        twalk_r(events, find_of_context, &search);
        if (search.found) {
            simdev_handle_remove(&events, search.found);
            free_event(search.found);
        }
    } while (search.found);
    pthread_mutex_unlock(&lock);
}

void simdev_event_lock(void)
{
    pthread_mutex_lock(&lock);
}

void simdev_event_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
