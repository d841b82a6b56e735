/* Streams as ordered queues, each with a worker thread of its own.
 *
 * All order is in one place: an operation runs when it is the head of its stream and everything in
 * its `deps` is done. */
#include "cudart_internal.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

struct dep {
    struct simdev_op *on; /* a reference */
    struct dep *next;
};

struct simdev_op {
    struct simdev_task task;
    struct dep *deps;
    struct simdev_op *next; /* on the same stream */
    uint64_t sequence;      /* in the order of the calls, over all streams */
    uint64_t done_ns;
    unsigned refs;
    bool done;
};

struct CUstream_st {
    struct CUstream_st *next;
    struct simdev_op *head, *tail; /* not done yet; the head may be running */
    pthread_cond_t wake;           /* for the worker */
    uint64_t id;
    unsigned flags;
    int priority;
    bool running; /* the head is */
    bool blocked; /* the worker waits for the head's deps */
    bool has_worker;
    bool per_thread; /* made by us, for cudaStreamPerThread */
    bool closing;    /* destroyed by the program; goes when its work is done */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER; /* for host threads */
static unsigned host_waiters;
static struct CUstream_st legacy = {.wake = PTHREAD_COND_INITIALIZER, .id = 1};
static uint64_t next_id = 2;
static struct CUstream_st *streams = &legacy;
static uint64_t next_sequence = 1;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t per_thread_key;
static bool have_per_thread_key;
static _Thread_local bool on_worker;

static void release(struct simdev_op *op)
{
    if (--op->refs == 0)
        free(op);
}

/* Drops the dependencies that are done; true if none is left. */
static bool ready(struct simdev_op *op)
{
    while (op->deps && op->deps->on->done) {
        struct dep *dep = op->deps;
        op->deps = dep->next;
        release(dep->on);
        free(dep);
    }
    return !op->deps;
}

static void drop_deps(struct simdev_op *op)
{
    while (op->deps) {
        struct dep *dep = op->deps;
        op->deps = dep->next;
        release(dep->on);
        free(dep);
    }
}

static bool add_dep(struct simdev_op *op, struct simdev_op *on)
{
    if (!on || on->done)
        return true;
    struct dep *dep = malloc(sizeof(*dep));
    if (!dep)
        return false;
    on->refs++;
    *dep = (struct dep){.on = on, .next = op->deps};
    op->deps = dep;
    return true;
}

static bool is_blocking(const struct CUstream_st *stream)
{
    return stream != &legacy && !(stream->flags & cudaStreamNonBlocking);
}

/* The legacy default stream waits for every blocking stream, and each of those for it. */
static bool add_implicit_deps(struct simdev_op *op, const struct CUstream_st *stream)
{
    if (is_blocking(stream))
        return add_dep(op, legacy.tail);
    if (stream != &legacy)
        return true;
    for (const struct CUstream_st *s = streams; s; s = s->next) {
        if (is_blocking(s) && !add_dep(op, s->tail))
            return false;
    }
    return true;
}

static void unlink_stream(struct CUstream_st *stream)
{
    struct CUstream_st **link = &streams;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    pthread_cond_destroy(&stream->wake);
    free(stream);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void complete_head(struct CUstream_st *stream)
{
    struct simdev_op *op = stream->head;
    stream->head = op->next;
    if (!stream->head)
        stream->tail = NULL;
    stream->running = false;
    op->done_ns = now_ns();
    op->done = true;
    release(op);
    for (struct CUstream_st *s = streams; s; s = s->next) {
        if (s->blocked)
            pthread_cond_signal(&s->wake);
    }
    if (host_waiters > 0)
        pthread_cond_broadcast(&progress);
}

static void *work(void *arg)
{
    struct CUstream_st *stream = arg;
    on_worker = true;
    pthread_mutex_lock(&lock);
    while (stream->head || !stream->closing) {
        if (!stream->head || !ready(stream->head)) {
            stream->blocked = stream->head != NULL;
            pthread_cond_wait(&stream->wake, &lock);
            stream->blocked = false;
            continue;
        }
        const struct simdev_task task = stream->head->task;
        stream->running = true;
        if (task.host_function && host_waiters > 0)
            pthread_cond_broadcast(&progress); /* simdev_queue_settle does not wait for it */
        pthread_mutex_unlock(&lock);
        if (task.item)
            task.item->work.run(task.item->work.arg);
        simdev_item_release(task.item);
        pthread_mutex_lock(&lock);
        complete_head(stream);
    }
    unlink_stream(stream);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* With every signal blocked, so that the program's handlers run on the program's threads. */
static bool start_worker(struct CUstream_st *stream)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, old;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    stream->has_worker = pthread_create(&thread, &attributes, work, stream) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return stream->has_worker;
}

static cudaError_t create(unsigned flags, int priority, struct CUstream_st **out)
{
    struct CUstream_st *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return cudaErrorMemoryAllocation;
    stream->id = next_id++;
    stream->flags = flags;
    stream->priority = priority;
    if (pthread_cond_init(&stream->wake, NULL) != 0) {
        free(stream);
        return cudaErrorMemoryAllocation;
    }
    stream->next = legacy.next;
    legacy.next = stream;
    *out = stream;
    return cudaSuccess;
}

static void destroy(struct CUstream_st *stream)
{
    stream->closing = true;
    if (stream->has_worker)
        pthread_cond_signal(&stream->wake);
    else
        unlink_stream(stream);
}

static void end_of_thread(void *stream)
{
    pthread_mutex_lock(&lock);
    destroy(stream);
    pthread_mutex_unlock(&lock);
}

static void make_per_thread_key(void)
{
    have_per_thread_key = pthread_key_create(&per_thread_key, end_of_thread) == 0;
}

static struct CUstream_st *per_thread_stream(void)
{
    pthread_once(&key_once, make_per_thread_key);
    if (!have_per_thread_key)
        return NULL;
    struct CUstream_st *stream = pthread_getspecific(per_thread_key);
    if (!stream && create(cudaStreamDefault, 0, &stream) == cudaSuccess &&
        pthread_setspecific(per_thread_key, stream) != 0) {
        destroy(stream);
        return NULL;
    }
    if (stream)
        stream->per_thread = true;
    return stream;
}

/* NULL for a handle that is no stream. Caller holds the lock, here and below. */
static struct CUstream_st *resolve(cudaStream_t handle)
{
    if (!handle || handle == cudaStreamLegacy)
        return &legacy;
    if (handle == cudaStreamPerThread)
        return per_thread_stream();
    struct CUstream_st *stream = legacy.next;
    while (stream && stream != handle)
        stream = stream->next;
    return stream && !stream->closing ? stream : NULL;
}

static cudaError_t append(struct CUstream_st *stream, struct simdev_op *op)
{
    if (!add_dep(op, op->task.after) || !add_implicit_deps(op, stream))
        return cudaErrorMemoryAllocation;
    if (!stream->has_worker) {
        if (!start_worker(stream))
            return cudaErrorMemoryAllocation;
        simdev_report_stream();
    }
    op->sequence = next_sequence++;
    if (stream->tail)
        stream->tail->next = op;
    else
        stream->head = op;
    stream->tail = op;
    pthread_cond_signal(&stream->wake);
    return cudaSuccess;
}

/* exit() runs handlers last in, first out. Libraries that queued work use (oneDNN, OpenMP) register
 * theirs when they are first used, so ours has to be registered again after them; doubling
 * distances keep the number small. */
static void settle_at_exit(uint64_t sequence)
{
    if ((sequence & (sequence - 1)) == 0)
        atexit(simdev_queue_settle);
}

cudaError_t simdev_queue_submit(cudaStream_t handle, const struct simdev_task *task,
                                struct simdev_op **out)
{
    struct simdev_op *op = calloc(1, sizeof(*op));
    if (!op)
        return cudaErrorMemoryAllocation;
    op->task = *task;
    op->refs = out ? 2 : 1;
    if (op->task.item)
        simdev_item_retain(op->task.item);
    pthread_mutex_lock(&lock);
    struct CUstream_st *stream = resolve(handle);
    cudaError_t error = stream ? append(stream, op) : cudaErrorInvalidResourceHandle;
    const uint64_t sequence = op->sequence;
    if (error == cudaSuccess) {
        op->task.after = NULL; /* its reference is the caller's */
        if (out)
            *out = op;
    } else {
        drop_deps(op);
        free(op);
    }
    pthread_mutex_unlock(&lock);
    if (error == cudaSuccess)
        settle_at_exit(sequence);
    else
        simdev_item_release(task->item);
    return error;
}

cudaError_t simdev_queue_work(cudaStream_t stream, const struct simdev_work *work,
                              struct simdev_op **op)
{
    struct simdev_task task = {.host_function = work->type == cudaGraphNodeTypeHost};
    task.item = simdev_item_create(work);
    if (!task.item)
        return cudaErrorMemoryAllocation;
    cudaError_t error = simdev_queue_submit(stream, &task, op);
    if (error == cudaSuccess)
        simdev_item_release(task.item);
    else
        simdev_item_abandon(task.item);
    return error;
}

cudaError_t simdev_queue_create(unsigned flags, int priority, cudaStream_t *stream)
{
    pthread_mutex_lock(&lock);
    cudaError_t error = create(flags, priority, stream);
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t simdev_queue_destroy(cudaStream_t handle)
{
    pthread_mutex_lock(&lock);
    struct CUstream_st *stream = handle == cudaStreamPerThread ? NULL : resolve(handle);
    const bool destroyable = stream && stream != &legacy;
    if (destroyable)
        destroy(stream);
    pthread_mutex_unlock(&lock);
    return destroyable ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t simdev_queue_describe(cudaStream_t handle, struct simdev_stream_info *info)
{
    pthread_mutex_lock(&lock);
    const struct CUstream_st *stream = resolve(handle);
    if (stream) {
        *info = (struct simdev_stream_info){.id = stream->id,
                                            .flags = stream->flags,
                                            .priority = stream->priority,
                                            .is_legacy = stream == &legacy};
    }
    pthread_mutex_unlock(&lock);
    return stream ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/* True if work up to `sequence` is unfinished on `target`, on what `target` implies, or (NULL)
 * anywhere. */
static bool pending(const struct CUstream_st *target, uint64_t sequence)
{
    for (const struct CUstream_st *s = streams; s; s = s->next) {
        if ((!target || s == target) && s->head && s->head->sequence <= sequence)
            return true;
    }
    return false;
}

static void wait_for_progress(void)
{
    host_waiters++;
    pthread_cond_wait(&progress, &lock);
    host_waiters--;
}

cudaError_t simdev_queue_wait(cudaStream_t handle)
{
    pthread_mutex_lock(&lock);
    const struct CUstream_st *stream = resolve(handle);
    const uint64_t sequence = next_sequence - 1;
    while (stream && pending(stream, sequence))
        wait_for_progress();
    pthread_mutex_unlock(&lock);
    return stream ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t simdev_queue_query(cudaStream_t handle)
{
    pthread_mutex_lock(&lock);
    const struct CUstream_st *stream = resolve(handle);
    const bool busy = stream && pending(stream, next_sequence - 1);
    pthread_mutex_unlock(&lock);
    if (!stream)
        return cudaErrorInvalidResourceHandle;
    return busy ? cudaErrorNotReady : cudaSuccess;
}

void simdev_queue_wait_all(void)
{
    pthread_mutex_lock(&lock);
    const uint64_t sequence = next_sequence - 1;
    while (pending(NULL, sequence))
        wait_for_progress();
    pthread_mutex_unlock(&lock);
}

static bool device_active(uint64_t sequence)
{
    for (const struct CUstream_st *s = streams; s; s = s->next) {
        if (!s->head || s->head->sequence > sequence)
            continue;
        if (s->running ? !s->head->task.host_function : ready(s->head))
            return true;
    }
    return false;
}

void simdev_queue_settle(void)
{
    if (simdev_usable() != cudaSuccess) /* a forked child has no workers */
        return;
    pthread_mutex_lock(&lock);
    const uint64_t sequence = next_sequence - 1;
    while (device_active(sequence))
        wait_for_progress();
    pthread_mutex_unlock(&lock);
}

void simdev_queue_reset(void)
{
    pthread_mutex_lock(&lock);
    struct CUstream_st *stream = legacy.next;
    while (stream) {
        struct CUstream_st *next = stream->next;
        if (!stream->closing && !stream->per_thread)
            destroy(stream);
        stream = next;
    }
    pthread_mutex_unlock(&lock);
}

bool simdev_queue_on_worker(void)
{
    return on_worker;
}

bool simdev_op_done(struct simdev_op *op)
{
    pthread_mutex_lock(&lock);
    const bool done = op->done;
    pthread_mutex_unlock(&lock);
    return done;
}

void simdev_op_wait(struct simdev_op *op)
{
    pthread_mutex_lock(&lock);
    while (!op->done)
        wait_for_progress();
    pthread_mutex_unlock(&lock);
}

uint64_t simdev_op_time(struct simdev_op *op)
{
    pthread_mutex_lock(&lock);
    const uint64_t time = op->done_ns;
    pthread_mutex_unlock(&lock);
    return time;
}

void simdev_op_retain(struct simdev_op *op)
{
    pthread_mutex_lock(&lock);
    op->refs++;
    pthread_mutex_unlock(&lock);
}

void simdev_op_release(struct simdev_op *op)
{
    pthread_mutex_lock(&lock);
    release(op);
    pthread_mutex_unlock(&lock);
}

void simdev_queue_lock(void)
{
    pthread_mutex_lock(&lock);
}

void simdev_queue_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
