/* Streams as ordered queues, each with a worker thread.
 *
 * One rule defines all order: an operation runs when it is the head of its stream and everything in
 * its `deps` is done. In account mode work takes no time, and an operation that is ready runs on
 * the thread that queues it. So a program observes the same states of its streams in every run. */
#include "cudart_account.h"
#include "cudart_context.h"
#include "cudart_race.h"
#include "cudart_time.h"
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
    struct simdev_op *next;     /* on the same stream */
    struct simdev_clock *clock; /* clock of everything ordered before it, itself included */
    uint64_t sequence;          /* in the order of the calls, over all streams */
    uint64_t done_ns;
    unsigned refs;
    bool done;
};

struct CUstream_st {
    struct CUstream_st *next;
    struct simdev_op *head, *tail; /* not done yet; the head may be running */
    pthread_cond_t wake;           /* for the worker */
    uint64_t id;
    struct simdev_owner owner;
    unsigned flags;
    int priority;
    bool is_legacy;  /* the default stream of its context, made when it is first named */
    uint64_t thread; /* the thread whose cudaStreamPerThread it is in its context; 0: none */
    bool running;    /* the head is */
    bool blocked;    /* the worker waits for the head's deps */
    bool has_worker;
    bool is_used; /* something was queued on it */
    bool closing; /* destroyed; freed when its work is done */
    unsigned chain;
    struct simdev_clock *clock; /* of the work queued last */
    uint64_t time;              /* when all of its work is done, by the time model */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER; /* for host threads */
static unsigned host_waiters;
static uint64_t next_id = 1;
static struct CUstream_st *streams;
static uint64_t next_sequence = 1;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t per_thread_key;
static bool have_per_thread_key;
static uint64_t next_thread = 1;
static _Thread_local uint64_t this_thread; /* 0: the thread has no cudaStreamPerThread */
static _Thread_local bool on_worker;

static struct simdev_clock seen;   /* work that some host thread has seen the end of */
static struct CUstream_st *chosen; /* the stream whose head may run, if there is a seed */
static unsigned queued, asked;     /* unfinished operations; queries since the last one */

static void free_op(struct simdev_op *op)
{
    free(op->clock);
    free(op);
}

static void release_op(struct simdev_op *op)
{
    if (--op->refs == 0)
        free_op(op);
}

/* Drops the dependencies, all or up to one that is not done. */
static void drop_deps(struct simdev_op *op, bool all)
{
    while (op->deps && (all || op->deps->on->done)) {
        struct dep *dep = op->deps;
        op->deps = dep->next;
        release_op(dep->on);
        free(dep);
    }
}

static bool is_ready(struct simdev_op *op)
{
    drop_deps(op, false);
    return !op->deps;
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
    return !stream->is_legacy && !(stream->flags & cudaStreamNonBlocking);
}

/* A context's legacy default stream and its blocking streams wait for each other. */
static bool waits_for(const struct CUstream_st *stream, const struct CUstream_st *other)
{
    const bool ordered =
        stream->is_legacy ? is_blocking(other) : is_blocking(stream) && other->is_legacy;
    return ordered && other->owner.context == stream->owner.context;
}

static bool add_implicit_deps(struct simdev_op *op, const struct CUstream_st *stream)
{
    for (const struct CUstream_st *s = streams; s; s = s->next)
        if (waits_for(stream, s) && !add_dep(op, s->tail))
            return false;
    return true;
}

/* The clock of a new operation: everything ordered before it, finished or not. */
static void set_clock(struct simdev_op *op, struct CUstream_st *stream)
{
    if (!simdev_race_on())
        return;
    if (!stream->clock)
        stream->clock = simdev_clock_new();
    op->clock = simdev_clock_new();
    if (!stream->clock || !op->clock)
        return;
    simdev_clock_join(op->clock, &seen);
    simdev_clock_join(op->clock, stream->clock);
    if (op->task.after)
        simdev_clock_join(op->clock, op->task.after->clock);
    for (const struct CUstream_st *s = streams; s; s = s->next)
        if (waits_for(stream, s))
            simdev_clock_join(op->clock, s->clock);
    op->clock->at[stream->chain]++;
    *stream->clock = *op->clock;
}

enum {
    MOST_STREAMS = 256,
    MOST_QUEUED = 48 /* operations that a seed may leave waiting */
};

/* With a seed, lets one operation run if one is due and none is running. */
static void choose_stream(void)
{
    struct CUstream_st *found[MOST_STREAMS];
    uint64_t id[MOST_STREAMS];
    size_t count = 0;
    if (!simdev_schedule_on() || chosen ||
        (host_waiters == 0 && asked == 0 && queued <= MOST_QUEUED))
        return;
    for (struct CUstream_st *s = streams; s && count < MOST_STREAMS; s = s->next) {
        if (!s->head || s->running || !is_ready(s->head))
            continue;
        size_t place = count++;
        for (; place > 0 && found[place - 1]->head->sequence > s->head->sequence; place--)
            found[place] = found[place - 1];
        found[place] = s;
    }
    for (size_t i = 0; i < count; i++)
        id[i] = found[i]->id;
    if (count == 0)
        return;
    asked -= asked > 0;
    chosen = found[simdev_schedule_pick(id, count)];
    pthread_cond_signal(&chosen->wake);
}

static void unlink_stream(struct CUstream_st *stream)
{
    struct CUstream_st **link = &streams;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    pthread_cond_destroy(&stream->wake);
    free(stream->clock);
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
    if (!simdev_account_on())
        op->done_ns = now_ns();
    op->done = true;
    release_op(op);
    queued--;
    if (chosen == stream)
        chosen = NULL;
    choose_stream();
    for (struct CUstream_st *s = streams; s; s = s->next)
        if (s->blocked)
            pthread_cond_signal(&s->wake);
    if (stream->has_worker)
        pthread_cond_signal(&stream->wake);
    if (host_waiters > 0)
        pthread_cond_broadcast(&progress);
}

/* Runs the ready head. The lock is released while it runs. */
static void run_head(struct CUstream_st *stream)
{
    const struct simdev_task task = stream->head->task;
    const struct simdev_clock *clock = stream->head->clock;
    stream->running = true;
    if (task.host_function && host_waiters > 0)
        pthread_cond_broadcast(&progress); /* simdev_queue_settle does not wait for it */
    pthread_mutex_unlock(&lock);
    simdev_owner_run(stream->owner);
    simdev_race_begin(clock, stream->chain);
    if (task.item)
        task.item->work.run(task.item->work.arg);
    simdev_item_release(task.item);
    simdev_race_end();
    pthread_mutex_lock(&lock);
    complete_head(stream);
}

static void *run_stream(void *arg)
{
    struct CUstream_st *stream = arg;
    on_worker = true;
    pthread_mutex_lock(&lock);
    while (stream->head || !stream->closing) {
        if (!stream->head || stream->running || !is_ready(stream->head) ||
            (simdev_schedule_on() && chosen != stream)) {
            stream->blocked = stream->head != NULL;
            pthread_cond_wait(&stream->wake, &lock);
            stream->blocked = false;
            continue;
        }
        run_head(stream);
    }
    unlink_stream(stream);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Blocks every signal in the worker, so that signal handlers run on the program's threads. */
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
    stream->has_worker = pthread_create(&thread, &attributes, run_stream, stream) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return stream->has_worker;
}

/* In the current context; NULL if memory is short. */
static struct CUstream_st *create_stream(unsigned flags, int priority)
{
    struct CUstream_st *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return NULL;
    if (pthread_cond_init(&stream->wake, NULL) != 0) {
        free(stream);
        return NULL;
    }
    stream->id = next_id++;
    stream->chain = simdev_race_chain(stream->id);
    stream->owner = simdev_owner_current();
    stream->flags = flags;
    stream->priority = priority;
    stream->next = streams;
    streams = stream;
    return stream;
}

static void destroy_stream(struct CUstream_st *stream)
{
    stream->closing = true;
    if (stream->has_worker)
        pthread_cond_signal(&stream->wake);
    else if (!stream->running)
        unlink_stream(stream);
}

static void end_of_thread(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (struct CUstream_st *s = streams, *next; s; s = next) {
        next = s->next;
        if (s->thread == this_thread && !s->closing)
            destroy_stream(s);
    }
    pthread_mutex_unlock(&lock);
}

static void make_per_thread_key(void)
{
    have_per_thread_key = pthread_key_create(&per_thread_key, end_of_thread) == 0;
}

/* False if no handler can destroy the thread's streams when it ends. */
static bool number_thread(void)
{
    pthread_once(&key_once, make_per_thread_key);
    if (this_thread == 0 && have_per_thread_key &&
        pthread_setspecific(per_thread_key, &this_thread) == 0)
        this_thread = next_thread++;
    return this_thread != 0;
}

/* A default stream of the current context, created on first use. */
static struct CUstream_st *default_stream(bool is_legacy)
{
    const uint64_t context = simdev_owner_current().context;
    if (context == 0 || (!is_legacy && !number_thread()))
        return NULL;
    const uint64_t of_thread = is_legacy ? 0 : this_thread;
    struct CUstream_st *stream = streams;
    while (stream && (stream->closing || stream->owner.context != context ||
                      stream->is_legacy != is_legacy || stream->thread != of_thread))
        stream = stream->next;
    if (!stream && (stream = create_stream(cudaStreamDefault, 0))) {
        stream->is_legacy = is_legacy;
        stream->thread = of_thread;
    }
    return stream;
}

/* NULL if the handle is not a stream. Caller holds the lock, here and below. */
static struct CUstream_st *stream_of(cudaStream_t handle)
{
    if (!handle || handle == cudaStreamLegacy || handle == cudaStreamPerThread)
        return default_stream(handle != cudaStreamPerThread);
    struct CUstream_st *stream = streams;
    while (stream && stream != handle)
        stream = stream->next;
    return stream && !stream->closing ? stream : NULL;
}

/* Time of completion on a GPU of the profile. It starts when its dependencies are done. */
static void set_time(struct simdev_op *op, struct CUstream_st *stream)
{
    uint64_t start = stream->time;
    if (!simdev_account_on())
        return;
    if (op->task.after)
        start = op->task.after->done_ns > start ? op->task.after->done_ns : start;
    for (const struct CUstream_st *s = streams; s; s = s->next)
        if (waits_for(stream, s) && s->time > start)
            start = s->time;
    op->done_ns = start + simdev_time_of(&op->task);
    stream->time = op->done_ns;
}

/* True if a task can run on the thread that queues it. */
static bool runs_at_once(const struct CUstream_st *stream, struct simdev_op *op)
{
    return simdev_account_on() && !simdev_schedule_on() && !stream->head && !on_worker &&
           !op->task.host_function && is_ready(op);
}

static cudaError_t append_op(struct CUstream_st *stream, struct simdev_op *op, bool *at_once)
{
    if (!add_dep(op, op->task.after) || !add_implicit_deps(op, stream))
        return cudaErrorMemoryAllocation;
    *at_once = runs_at_once(stream, op);
    if (!*at_once && !stream->has_worker && !start_worker(stream))
        return cudaErrorMemoryAllocation;
    if (!stream->is_used)
        simdev_report_stream();
    stream->is_used = true;
    set_clock(op, stream);
    set_time(op, stream);
    queued++;
    op->sequence = next_sequence++;
    if (stream->tail)
        stream->tail->next = op;
    else
        stream->head = op;
    stream->tail = op;
    pthread_cond_signal(&stream->wake);
    choose_stream();
    return cudaSuccess;
}

/* Runs the stream's only operation. The worker runs operations that are queued during that time. */
static void run_at_once(struct CUstream_st *stream)
{
    on_worker = true;
    run_head(stream);
    on_worker = false;
    simdev_owner_run((struct simdev_owner){.context = 0});
    if (stream->closing && !stream->head && !stream->has_worker)
        unlink_stream(stream);
}

/* exit() runs handlers in reverse order of registration. Libraries that queued work uses (oneDNN,
 * OpenMP) register theirs on first use, so ours must be registered again after them. Doubling
 * intervals keep their number small. */
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
    struct CUstream_st *stream = stream_of(handle);
    bool at_once = false;
    cudaError_t error = stream ? append_op(stream, op, &at_once) : cudaErrorInvalidResourceHandle;
    const uint64_t sequence = op->sequence;
    if (error == cudaSuccess) {
        op->task.after = NULL; /* its reference is the caller's */
        if (out)
            *out = op;
    } else {
        drop_deps(op, true);
        free_op(op);
    }
    if (at_once)
        run_at_once(stream);
    pthread_mutex_unlock(&lock);
    if (error == cudaSuccess && !at_once)
        settle_at_exit(sequence);
    else if (error != cudaSuccess)
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
    struct CUstream_st *made = create_stream(flags, priority);
    pthread_mutex_unlock(&lock);
    if (made)
        *stream = made;
    return made ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t simdev_queue_destroy(cudaStream_t handle)
{
    pthread_mutex_lock(&lock);
    struct CUstream_st *stream = stream_of(handle);
    const bool destroyable = stream && !stream->is_legacy && stream->thread == 0;
    if (destroyable)
        destroy_stream(stream);
    pthread_mutex_unlock(&lock);
    return destroyable ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t simdev_queue_describe(cudaStream_t handle, struct simdev_stream_info *info)
{
    pthread_mutex_lock(&lock);
    const struct CUstream_st *stream = stream_of(handle);
    if (stream) {
        *info = (struct simdev_stream_info){.id = stream->id,
                                            .owner = stream->owner,
                                            .flags = stream->flags,
                                            .priority = stream->priority,
                                            .is_legacy = stream->is_legacy};
    }
    pthread_mutex_unlock(&lock);
    return stream ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/* True if work up to `sequence` is unfinished on `target`, or (NULL) anywhere in the context. */
static bool is_pending(const struct CUstream_st *target, uint64_t context, uint64_t sequence)
{
    for (const struct CUstream_st *s = streams; s; s = s->next) {
        if ((target ? s == target : s->owner.context == context) && s->head &&
            s->head->sequence <= sequence)
            return true;
    }
    return false;
}

static void wait_for_progress(void)
{
    host_waiters++;
    choose_stream();
    pthread_cond_wait(&progress, &lock);
    host_waiters--;
}

/* Counts a wait even if the device has finished: independent of its speed. */
static void count_wait(void)
{
    simdev_count(simdev_driver_call() ? SIMDEV_DRIVER_WAITS : SIMDEV_WAITS);
}

cudaError_t simdev_queue_wait(cudaStream_t handle)
{
    count_wait();
    pthread_mutex_lock(&lock);
    const struct CUstream_st *stream = stream_of(handle);
    const uint64_t sequence = next_sequence - 1;
    const struct simdev_clock before = stream && stream->clock ? *stream->clock : seen;
    while (stream && is_pending(stream, 0, sequence))
        wait_for_progress();
    simdev_clock_join(&seen, &before);
    pthread_mutex_unlock(&lock);
    return stream ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/* The host made a query. With a seed, an operation may run before its next query. */
static void count_query(void)
{
    asked = asked < 4 ? asked + 1 : asked;
    choose_stream();
}

cudaError_t simdev_queue_query(cudaStream_t handle)
{
    pthread_mutex_lock(&lock);
    const struct CUstream_st *stream = stream_of(handle);
    const bool busy = stream && is_pending(stream, 0, next_sequence - 1);
    if (stream && !busy)
        simdev_clock_join(&seen, stream->clock);
    count_query();
    pthread_mutex_unlock(&lock);
    if (!stream)
        return cudaErrorInvalidResourceHandle;
    return busy ? cudaErrorNotReady : cudaSuccess;
}

void simdev_queue_wait_all(uint64_t context)
{
    count_wait();
    pthread_mutex_lock(&lock);
    const uint64_t sequence = next_sequence - 1;
    struct simdev_clock before = seen;
    for (const struct CUstream_st *s = streams; s; s = s->next)
        if (s->owner.context == context)
            simdev_clock_join(&before, s->clock);
    while (is_pending(NULL, context, sequence))
        wait_for_progress();
    simdev_clock_join(&seen, &before);
    pthread_mutex_unlock(&lock);
}

static bool device_active(uint64_t sequence)
{
    for (const struct CUstream_st *s = streams; s; s = s->next)
        if (s->head && s->head->sequence <= sequence &&
            (s->running ? !s->head->task.host_function : is_ready(s->head)))
            return true;
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

void simdev_queue_reset(uint64_t context)
{
    pthread_mutex_lock(&lock);
    for (struct CUstream_st *s = streams, *next; s; s = next) {
        next = s->next;
        if (s->owner.context == context && !s->closing)
            destroy_stream(s);
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
    if (done)
        simdev_clock_join(&seen, op->clock);
    count_query();
    pthread_mutex_unlock(&lock);
    return done;
}

void simdev_op_wait(struct simdev_op *op)
{
    count_wait();
    pthread_mutex_lock(&lock);
    while (!op->done)
        wait_for_progress();
    simdev_clock_join(&seen, op->clock);
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
    release_op(op);
    pthread_mutex_unlock(&lock);
}

void simdev_queue_known(const struct simdev_clock *clock)
{
    pthread_mutex_lock(&lock);
    simdev_clock_join(&seen, clock);
    pthread_mutex_unlock(&lock);
}

void simdev_queue_wake(void)
{
    pthread_mutex_lock(&lock);
    chosen = NULL;
    for (struct CUstream_st *s = streams; s; s = s->next)
        if (s->running)
            chosen = s;
    for (struct CUstream_st *s = streams; s; s = s->next)
        pthread_cond_signal(&s->wake);
    choose_stream();
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
