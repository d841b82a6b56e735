/* An arena on the fake device, which records the order of accesses, for the arena's tests: calls
 * that take, write and return memory. Streams and events are the fake device's. */
#ifndef TESTS_UNIT_ARENA_CALLS_H
#define TESTS_UNIT_ARENA_CALLS_H

#include "convshim/plan.h"
#include "exec/arena.h"
#include "fake_device.h"

enum {
    MIB = 1 << 20
};

static const struct cs_device *const device = &fake_device_functions;
static const struct cs_capture no_capture;

static inline struct cs_arena *new_arena(int64_t limit)
{
    static struct cs_arena arena;
    if (arena.pools) {
        cs_arena_process_fork(&arena, true, false);
        cs_arena_process_fork(&arena, false, true);
    }
    device_reset();
    cs_arena_init(&arena, limit);
    return &arena;
}

/* A call: takes, writes, gives. False if there was nothing. */
static inline bool call_in(struct cs_arena *arena, void *stream, const struct cs_capture *capture,
                           int64_t bytes, bool patient, void **memory_p)
{
    struct cs_lease lease;
    if (!cs_arena_take(arena, device, stream, capture, bytes, patient, &lease)) {
        CHECK(lease.block == NULL);
        return false;
    }
    CHECK(device_owns(lease.memory, bytes));
    CHECK_INT((uintptr_t)lease.memory % CS_SCRATCH_ALIGNMENT, 0);
    device_touch(stream, lease.memory, bytes, true);
    if (memory_p)
        *memory_p = lease.memory;
    cs_arena_give(arena, device, stream, false, &lease);
    CHECK(lease.block == NULL);
    return true;
}

static inline bool call(struct cs_arena *arena, void *stream, int64_t bytes, bool patient)
{
    return call_in(arena, stream, &no_capture, bytes, patient, NULL);
}

static inline void check_sound(void)
{
    CHECK_INT(fake_device.races, 0);
    CHECK_INT(fake_device.misuses, 0);
}

static inline struct cs_capture begin_capture(void *stream)
{
    uint64_t id = device_begin_capture(stream);
    return (struct cs_capture){id, (void *)(uintptr_t)(id + DEVICE_GRAPH)};
}

/* Draws a stream into a capture, or joins it. */
static inline void join(void *stream, void *behind)
{
    void *event;
    CHECK_INT(device->event_create(device->ctx, &event), 0);
    CHECK_INT(device->record(device->ctx, event, behind), 0);
    CHECK_INT(device->wait(device->ctx, stream, event), 0);
    device->event_destroy(device->ctx, event);
}

#endif
