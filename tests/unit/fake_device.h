/* A device for unit tests: streams, events, memory and captures as vector clocks, so that a test
 * can check whether two accesses are ordered, independently of the order in which they ran.
 *
 * Work is begun by device_touch. Two touches of one byte, at least one of them a write, must be
 * ordered by a stream, an event or the host. Otherwise they are a race, which is counted; the first
 * one is printed. The host orders work only after `done` or device_synchronize has reported its
 * end. Work that has ended without such a report is not ordered.
 *
 * Touches in a capture run when the capture is replayed. No other work may touch memory of
 * device_allocate that a capture has touched, until the graph of the capture is dropped. The
 * capture itself may touch it only if the host had seen the end of all earlier work there, because
 * a replay is ordered after nothing. Other addresses belong to the program, which orders its
 * replays itself: they are compared when device_replay runs them.
 *
 * Any call may fail (fail_at) and any event wait may be left out (skip_wait), by number. A call
 * that a GPU would refuse or that would crash it is a misuse. All functions are thread-safe. */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include "base/lock.h"
#include "check.h"
#include "convshim/gpu.h"
#include <pthread.h>

enum {
    DEVICE_STREAMS = 64, /* ever made; clocks have a place for each */
    DEVICE_EVENTS = 512,
    DEVICE_TOUCHES = 4096,
    DEVICE_BLOCKS = 256,
    DEVICE_KEEPS = 512,
    DEVICE_CAPTURES = 1024,
    DEVICE_GRAPH = 1000, /* a capture's graph is its id + DEVICE_GRAPH */
    DEVICE_FAILED = 5001
};

struct device_clock {
    int at[DEVICE_STREAMS];
};

struct device_stream {
    bool alive;
    int place;   /* in clocks; a handle that is used again is another stream's */
    uint64_t id; /* never given twice */
    uint64_t context;
    uint64_t capture; /* 0: none */
    struct device_clock clock, captured;
};

struct device_event {
    bool alive, recorded;
    uint64_t context, capture; /* of the stream that it was recorded on */
    struct device_clock clock;
};

struct device_touch {
    uintptr_t begin, end;
    bool write, scratch; /* scratch: in memory of device_allocate */
    int place;
    int tick;
    uint64_t capture; /* 0: it runs; else it would in a replay */
};

struct device_keep {
    void *graph;
    void (*gone)(void *arg);
    void *arg;
};

struct device_capture {
    int origin; /* handle */
    bool ended, invalid;
};

static struct fake_device {
    uint64_t current;     /* context */
    uint64_t gone;        /* contexts up to this number are */
    int fail_at, calls;   /* of the functions that can fail */
    int skip_wait, waits; /* a wait that is left out counts */
    int creations, destructions, allocations, frees, queries;
    bool everything_done; /* done() reports its end, and the host has seen it from then on */
    bool confined;        /* streams are those of a part of the device */
    bool no_ids;          /* streams are not known by a number */
    int races, misuses;
    int64_t allocated;
    pthread_mutex_t lock;
    struct device_clock host;    /* work whose end the host has seen */
    struct device_clock running; /* work that has ended: device_run */
    int streams, handles, events, touches, blocks, keeps;
    uint64_t captures;
    struct device_stream stream[DEVICE_STREAMS];
    struct device_event event[DEVICE_EVENTS];
    struct device_touch touch[DEVICE_TOUCHES];
    struct {
        uintptr_t begin, end;
        bool alive;
    } block[DEVICE_BLOCKS];
    struct device_keep keep[DEVICE_KEEPS];
    struct device_capture capture[DEVICE_CAPTURES]; /* by id */
} fake_device = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline void device_misuse(const char *what)
{
    if (fake_device.misuses++ == 0)
        printf("# fake device: %s\n", what);
}

/* A real device has its own locks. A thread that holds one may wait for us, so no call may come
 * with a lock of ours held. */
static inline void device_lock(void)
{
    pthread_mutex_lock(&fake_device.lock);
    if (cs_locks_held != 0)
        device_misuse("the device is asked while a lock is held");
}

static inline void device_unlock(void)
{
    pthread_mutex_unlock(&fake_device.lock);
}

/* Callers of functions whose names end in _locked hold the lock. Handles are indices + 1, so that
 * NULL is no handle. The legacy default stream is not modelled. */
static inline int device_index(const void *handle)
{
    return (int)(uintptr_t)handle - 1;
}

static inline void *device_handle(int index)
{
    return (void *)(uintptr_t)(index + 1);
}

static inline bool device_fails_locked(void)
{
    return ++fake_device.calls == fake_device.fail_at;
}

/* For further operations that a test makes fail: counts as a call of the device. */
static inline bool device_fails(void)
{
    device_lock();
    bool fails = device_fails_locked();
    device_unlock();
    return fails;
}

static inline void clock_join(struct device_clock *clock, const struct device_clock *other)
{
    for (int i = 0; i < DEVICE_STREAMS; i++)
        if (other->at[i] > clock->at[i])
            clock->at[i] = other->at[i];
}

static inline bool clock_covers(const struct device_clock *clock, const struct device_clock *other)
{
    for (int i = 0; i < DEVICE_STREAMS; i++)
        if (other->at[i] > clock->at[i])
            return false;
    return true;
}

static inline void *device_new_stream_locked(void)
{
    struct fake_device *d = &fake_device;
    int index = 0;
    if (d->streams == DEVICE_STREAMS)
        return NULL;
    while (index < d->handles && d->stream[index].alive)
        index++;
    d->handles += index == d->handles;
    d->stream[index] = (struct device_stream){
        .alive = true, .place = d->streams++, .id = (uint64_t)d->streams, .context = d->current};
    return device_handle(index);
}

static inline struct device_stream *device_stream_at(void *stream)
{
    int index = device_index(stream);
    if (index < 0 || index >= fake_device.handles || !fake_device.stream[index].alive) {
        device_misuse("no such stream");
        return &fake_device.stream[0];
    }
    return &fake_device.stream[index];
}

static inline struct device_event *device_event_at(void *event)
{
    int index = device_index(event);
    if (index < 0 || index >= fake_device.events || !fake_device.event[index].alive) {
        device_misuse("no such event");
        return &fake_device.event[0];
    }
    return &fake_device.event[index];
}

static inline struct device_clock *device_clock_of(struct device_stream *stream)
{
    return stream->capture ? &stream->captured : &stream->clock;
}

static inline bool device_owns_locked(uintptr_t begin, uintptr_t end)
{
    for (int i = 0; i < fake_device.blocks; i++)
        if (fake_device.block[i].alive && begin >= fake_device.block[i].begin &&
            end <= fake_device.block[i].end)
            return true;
    return false;
}

static inline bool device_ordered(const struct device_touch *then, const struct device_touch *now,
                                  const struct device_clock *clock)
{
    if (then->capture == now->capture)
        return clock->at[then->place] >= then->tick;
    if (!then->scratch || !now->scratch)
        return true;
    return then->capture == 0 && fake_device.host.at[then->place] >= then->tick;
}

static inline void device_touch_locked(struct device_stream *on, uintptr_t begin, uintptr_t end,
                                       bool write)
{
    struct fake_device *d = &fake_device;
    struct device_clock *clock = device_clock_of(on);
    if (on->capture && d->capture[on->capture].invalid)
        return; /* it will never run */
    if (!on->capture)
        clock_join(clock, &d->host);
    struct device_touch now = {.begin = begin,
                               .end = end,
                               .write = write,
                               .scratch = device_owns_locked(begin, end),
                               .place = on->place,
                               .tick = ++clock->at[on->place],
                               .capture = on->capture};
    int kept = 0;
    for (int i = 0; i < d->touches; i++) {
        const struct device_touch then = d->touch[i];
        bool overlap = now.begin < then.end && then.begin < now.end;
        bool ordered = device_ordered(&then, &now, clock);
        /* Work ordered after this write is also ordered after the touches that the write covers. */
        bool hidden = write && ordered && then.capture == now.capture && then.begin >= now.begin &&
                      then.end <= now.end;
        if (!hidden)
            d->touch[kept++] = then;
        if (!overlap || (!write && !then.write) || ordered)
            continue;
        if (d->races++ == 0)
            printf("# fake device: race between streams %d and %d at %#lx%s\n", then.place,
                   on->place, (unsigned long)begin,
                   now.capture || then.capture ? ", captured" : "");
    }
    d->touches = kept;
    if (d->touches < DEVICE_TOUCHES)
        d->touch[d->touches++] = now;
    else
        device_misuse("too many touches: the test synchronizes too seldom");
}

static inline void device_forget_touches_locked(uintptr_t begin, uintptr_t end, uint64_t capture)
{
    int kept = 0;
    for (int i = 0; i < fake_device.touches; i++) {
        const struct device_touch touch = fake_device.touch[i];
        if (touch.capture != capture || touch.begin < begin || touch.end > end)
            fake_device.touch[kept++] = touch;
    }
    fake_device.touches = kept;
}

static inline void device_synchronize_locked(void)
{
    for (int i = 0; i < fake_device.handles; i++)
        clock_join(&fake_device.running, &fake_device.stream[i].clock);
    fake_device.host = fake_device.running;
    device_forget_touches_locked(0, UINTPTR_MAX, 0);
}

/* --- the library's view: functions of cs_gpu --- */

static inline uint64_t device_context(void *ctx)
{
    (void)ctx;
    return fake_device.current;
}

static inline void *device_context_handle(void *ctx)
{
    (void)ctx;
    return (void *)(uintptr_t)fake_device.current;
}

static inline bool device_lives(void *ctx, void *handle, uint64_t context)
{
    (void)ctx;
    device_lock();
    bool lives = context > fake_device.gone;
    if ((uintptr_t)handle != context)
        device_misuse("a context by another one's handle");
    device_unlock();
    return lives;
}

static inline uint64_t device_stream_id(void *ctx, void *stream)
{
    (void)ctx;
    device_lock();
    uint64_t id = fake_device.no_ids ? 0 : device_stream_at(stream)->id;
    device_unlock();
    return id;
}

static inline int device_get_capture(void *ctx, void *stream, struct cs_capture *capture)
{
    int status = 0;
    (void)ctx;
    device_lock();
    uint64_t id = device_stream_at(stream)->capture;
    if (device_fails_locked() || (id && fake_device.capture[id].invalid))
        status = DEVICE_FAILED;
    else
        *capture = (struct cs_capture){id, id ? (void *)(uintptr_t)(id + DEVICE_GRAPH) : NULL};
    device_unlock();
    return status;
}

static inline bool device_confined(void *ctx, void *stream)
{
    (void)ctx;
    device_lock();
    (void)device_stream_at(stream);
    bool confined = fake_device.confined;
    device_unlock();
    return confined;
}

static inline int device_stream_create(void *ctx, void *like, void **stream_p)
{
    (void)ctx;
    device_lock();
    (void)device_stream_at(like);
    void *stream = device_fails_locked() ? NULL : device_new_stream_locked();
    if (stream) {
        fake_device.creations++;
        *stream_p = stream;
    }
    device_unlock();
    return stream ? 0 : DEVICE_FAILED;
}

static inline void device_stream_destroy(void *ctx, void *handle)
{
    (void)ctx;
    device_lock();
    struct device_stream *stream = device_stream_at(handle);
    if (stream->capture)
        device_misuse("a stream is destroyed while it is captured");
    stream->alive = false;
    fake_device.destructions++;
    device_unlock();
}

static inline int device_event_create(void *ctx, void **event_p)
{
    struct fake_device *d = &fake_device;
    int index = 0, status = DEVICE_FAILED;
    (void)ctx;
    device_lock();
    while (index < d->events && d->event[index].alive)
        index++;
    if (!device_fails_locked() && index < DEVICE_EVENTS) {
        d->events += index == d->events;
        d->creations++;
        d->event[index] = (struct device_event){.alive = true, .context = d->current};
        *event_p = device_handle(index);
        status = 0;
    }
    device_unlock();
    return status;
}

static inline void device_event_destroy(void *ctx, void *event)
{
    (void)ctx;
    device_lock();
    device_event_at(event)->alive = false;
    fake_device.destructions++;
    device_unlock();
}

static inline int device_record(void *ctx, void *opaque, void *stream)
{
    int status = DEVICE_FAILED;
    (void)ctx;
    device_lock();
    struct device_stream *on = device_stream_at(stream);
    struct device_event *event = device_event_at(opaque);
    if (event->context != on->context)
        device_misuse("event of another context");
    if (!device_fails_locked() && !(on->capture && fake_device.capture[on->capture].invalid)) {
        event->recorded = true;
        event->capture = on->capture;
        event->clock = *device_clock_of(on);
        status = 0;
    }
    device_unlock();
    return status;
}

/* A wait on an event of a capture draws the stream into it; captured work waits for nothing
 * outside. */
static inline int device_wait_locked(struct device_stream *on, const struct device_event *event)
{
    struct fake_device *d = &fake_device;
    uint64_t theirs = event->recorded ? event->capture : 0;
    if ((on->capture && d->capture[on->capture].invalid) || (theirs && d->capture[theirs].invalid))
        return DEVICE_FAILED;
    if ((on->capture && theirs != on->capture) || (theirs && d->capture[theirs].ended)) {
        device_misuse("wait across a capture");
        d->capture[on->capture].invalid = true;
        return DEVICE_FAILED;
    }
    if (theirs && !on->capture) {
        on->capture = theirs;
        memset(&on->captured, 0, sizeof on->captured);
    }
    if (event->recorded)
        clock_join(device_clock_of(on), &event->clock);
    return 0;
}

static inline int device_wait(void *ctx, void *stream, void *opaque)
{
    int status = DEVICE_FAILED;
    (void)ctx;
    device_lock();
    struct device_stream *on = device_stream_at(stream);
    const struct device_event *event = device_event_at(opaque);
    if (!device_fails_locked())
        status = ++fake_device.waits == fake_device.skip_wait ? 0 : device_wait_locked(on, event);
    device_unlock();
    return status;
}

static inline bool device_done(void *ctx, void *opaque)
{
    (void)ctx;
    device_lock();
    const struct device_event *event = device_event_at(opaque);
    fake_device.queries++;
    if (event->capture != 0)
        device_misuse("query of an event that was captured");
    bool done = fake_device.everything_done || clock_covers(&fake_device.running, &event->clock);
    if (done) {
        clock_join(&fake_device.running, &event->clock);
        clock_join(&fake_device.host, &event->clock);
    }
    device_unlock();
    return done;
}

/* Addresses are compared, never followed. */
static inline int device_allocate(void *ctx, int64_t bytes, void **memory_p)
{
    static uintptr_t next = 0x1000000;
    struct fake_device *d = &fake_device;
    int index = 0, status = DEVICE_FAILED;
    (void)ctx;
    device_lock();
    while (index < d->blocks && d->block[index].alive)
        index++;
    if (!device_fails_locked() && index < DEVICE_BLOCKS) {
        d->blocks += index == d->blocks;
        d->allocations++;
        d->allocated += bytes;
        d->block[index].begin = next;
        d->block[index].end = next + (uintptr_t)bytes;
        d->block[index].alive = true;
        *memory_p = (void *)next;
        next += ((uintptr_t)bytes | 0xffff) + 1;
        status = 0;
    }
    device_unlock();
    return status;
}

/* Waits for the device, as cudaFree does. */
static inline void device_free(void *ctx, void *memory)
{
    struct fake_device *d = &fake_device;
    int index = 0;
    (void)ctx;
    device_lock();
    d->frees++;
    device_synchronize_locked();
    while (index < d->blocks &&
           !(d->block[index].alive && d->block[index].begin == (uintptr_t)memory))
        index++;
    if (index == d->blocks) {
        device_misuse("free of an address that was not allocated");
    } else {
        for (int i = 0; i < d->touches; i++)
            if (d->touch[i].begin < d->block[index].end && d->block[index].begin < d->touch[i].end)
                device_misuse("free of memory that a graph uses");
        d->block[index].alive = false;
        d->allocated -= (int64_t)(d->block[index].end - d->block[index].begin);
    }
    device_unlock();
}

static inline int device_keep(void *ctx, void *graph, void (*gone)(void *arg), void *arg)
{
    struct fake_device *d = &fake_device;
    int status = DEVICE_FAILED;
    (void)ctx;
    device_lock();
    if (!device_fails_locked() && d->keeps < DEVICE_KEEPS) {
        d->keep[d->keeps++] = (struct device_keep){graph, gone, arg};
        status = 0;
    }
    device_unlock();
    return status;
}

static const struct cs_device fake_device_functions = {.context = device_context,
                                                       .handle = device_context_handle,
                                                       .lives = device_lives,
                                                       .stream_id = device_stream_id,
                                                       .capture = device_get_capture,
                                                       .confined = device_confined,
                                                       .stream_create = device_stream_create,
                                                       .stream_destroy = device_stream_destroy,
                                                       .event_create = device_event_create,
                                                       .event_destroy = device_event_destroy,
                                                       .record = device_record,
                                                       .wait = device_wait,
                                                       .done = device_done,
                                                       .allocate = device_allocate,
                                                       .free = device_free,
                                                       .keep = device_keep};

/* --- for tests --- */

/* A stream of the application; destroyed by device_stream_destroy, its handle is the next stream's.
 */
static inline void *device_new_stream(void)
{
    device_lock();
    void *stream = device_new_stream_locked();
    device_unlock();
    return stream;
}

/* Work on a stream that reads or writes [memory, memory + bytes). */
static inline void device_touch(void *stream, const void *memory, int64_t bytes, bool write)
{
    uintptr_t begin = (uintptr_t)memory;
    device_lock();
    device_touch_locked(device_stream_at(stream), begin, begin + (uintptr_t)bytes, write);
    device_unlock();
}

/* The host learns that everything is over: no later work can race with it. */
static inline void device_synchronize(void)
{
    device_lock();
    device_synchronize_locked();
    device_unlock();
}

/* Ends the work started on a stream, and the work before it. The host has not yet seen that end. */
static inline void device_run(void *stream)
{
    device_lock();
    clock_join(&fake_device.running, &device_stream_at(stream)->clock);
    device_unlock();
}

/* Begins a capture on a stream: its id. */
static inline uint64_t device_begin_capture(void *stream)
{
    device_lock();
    struct device_stream *on = device_stream_at(stream);
    uint64_t id = ++fake_device.captures;
    if (on->capture || id >= DEVICE_CAPTURES)
        device_misuse("no capture can begin");
    fake_device.capture[id % DEVICE_CAPTURES] =
        (struct device_capture){.origin = device_index(stream)};
    on->capture = id;
    memset(&on->captured, 0, sizeof on->captured);
    device_unlock();
    return id;
}

/* All graphs made from a capture go. */
static inline void device_drop_graph(uint64_t capture)
{
    device_lock();
    device_forget_touches_locked(0, UINTPTR_MAX, capture);
    int keeps = fake_device.keeps;
    device_unlock();
    for (int i = 0; i < keeps && i < DEVICE_KEEPS; i++) {
        device_lock();
        struct device_keep keep = fake_device.keep[i];
        if (keep.graph == (void *)(uintptr_t)(capture + DEVICE_GRAPH))
            fake_device.keep[i].gone = NULL;
        device_unlock();
        if (keep.graph == (void *)(uintptr_t)(capture + DEVICE_GRAPH) && keep.gone)
            keep.gone(keep.arg);
    }
}

/* Something that a capture does not allow was done to it. */
static inline void device_break_capture(uint64_t capture)
{
    device_lock();
    fake_device.capture[capture].invalid = true;
    device_unlock();
}

/* Ends a capture: the streams that took part go on as before. False if it was invalid or left a
 * stream unjoined: then its graph is gone at once. */
static inline bool device_end_capture(uint64_t id)
{
    struct fake_device *d = &fake_device;
    device_lock();
    struct device_capture *capture = &d->capture[id];
    const struct device_clock *origin = &d->stream[capture->origin].captured;
    for (int i = 0; i < d->handles; i++) {
        struct device_stream *stream = &d->stream[i];
        if (!stream->alive || stream->capture != id)
            continue;
        if (!clock_covers(origin, &stream->captured))
            capture->invalid = true;
        stream->capture = 0;
    }
    capture->ended = true;
    bool valid = !capture->invalid;
    device_unlock();
    if (!valid)
        device_drop_graph(id);
    return valid;
}

/* Runs a captured graph on a stream. */
static inline void device_replay(uint64_t capture, void *stream)
{
    device_lock();
    struct device_stream *on = device_stream_at(stream);
    static struct device_touch touch[DEVICE_TOUCHES];
    int touches = fake_device.touches;
    memcpy(touch, fake_device.touch, sizeof touch);
    for (int i = 0; i < touches; i++)
        if (touch[i].capture == capture && !touch[i].scratch)
            device_touch_locked(on, touch[i].begin, touch[i].end, touch[i].write);
    device_unlock();
}

static inline bool device_owns(const void *memory, int64_t bytes)
{
    uintptr_t begin = (uintptr_t)memory;
    device_lock();
    bool owns = device_owns_locked(begin, begin + (uintptr_t)bytes);
    device_unlock();
    return owns;
}

/* A new device. All graphs of the last one go. */
static inline void device_reset(void)
{
    for (uint64_t id = 1; id <= fake_device.captures && id < DEVICE_CAPTURES; id++)
        device_drop_graph(id);
    memset(&fake_device, 0, sizeof fake_device);
    pthread_mutex_init(&fake_device.lock, NULL);
    fake_device.current = 1;
}

#endif
