/* The arena in captures: memory belongs to the graphs made from them. */
#include "arena_calls.h"
#include "heap.h"

static void capture_keeps_its_memory(void)
{
    struct cs_arena *arena = new_arena(8 * MIB);
    void *eager = device_new_stream(), *stream = device_new_stream(), *side = device_new_stream();
    void *first, *second, *third, *later;
    CHECK(call(arena, eager, 4 * MIB, true));
    struct cs_capture capture = begin_capture(stream);
    /* A capture must not reuse blocks with pending eager work, nor eager work those of a capture.
     */
    CHECK(call_in(arena, stream, &capture, 3 * MIB, true, &first));
    CHECK(call_in(arena, stream, &capture, 3 * MIB, true, &second));
    CHECK(first == second);
    CHECK(!call_in(arena, stream, &capture, 5 * MIB, true, NULL));
    CHECK_INT(cs_arena_facts(arena).captured, 3 * MIB); /* no more than it took */
    join(side, stream);
    int waits = fake_device.waits;
    CHECK(call_in(arena, stream, &capture, 3 * MIB, true, NULL));
    CHECK_INT(fake_device.waits, waits + 1);
    CHECK(call_in(arena, side, &capture, 3 * MIB, true, &third));
    CHECK(third == first); /* after the work that has it */
    CHECK_INT(fake_device.waits, waits + 2);
    join(stream, side);
    CHECK(device_end_capture(capture.id));
    CHECK(!call(arena, stream, 5 * MIB, true));
    for (int i = 0; i < 4; i++) {
        CHECK(call(arena, stream, 4 * MIB, true));
        CHECK(call(arena, eager, MIB, true));
    }
    struct cs_capture another = begin_capture(stream);
    CHECK(!call_in(arena, stream, &another, 3 * MIB, true, NULL));
    CHECK(device_end_capture(another.id));
    device_drop_graph(capture.id);
    /* A signal handler may request it in the middle of the allocator. */
    const long long taken = heap_taken;
    CHECK_INT(cs_arena_facts(arena).captured, 0);
    CHECK_INT(heap_taken, taken);
    fake_device.everything_done = true;
    CHECK(call_in(arena, stream, &no_capture, 3 * MIB, true, &later));
    CHECK(heap_taken < taken);
    CHECK(call(arena, eager, 4 * MIB, false));
    CHECK_INT(fake_device.keeps, 1);
    check_sound();
}

/* Actions of other threads while one queries, without the lock, whether a block is free. */
static struct {
    struct cs_arena *arena;
    void *owner, *capturing; /* streams: of the queried block, and in a capture */
    struct cs_capture capture;
} meanwhile;

static bool done_late(void *ctx, void *event)
{
    struct cs_arena *arena = meanwhile.arena;
    meanwhile.arena = NULL;
    if (arena) {
        CHECK(call(arena, meanwhile.owner, 3 * MIB, true)); /* stores the queried event */
        CHECK(call_in(arena, meanwhile.capturing, &meanwhile.capture, 4 * MIB, true, NULL));
    }
    return device->done(ctx, event);
}

static void queried_event_is_not_captured_before_the_reply(void)
{
    struct cs_arena *arena = new_arena(8 * MIB);
    void *owner = device_new_stream(), *stream = device_new_stream(), *other = device_new_stream();
    struct cs_device asking = fake_device_functions;
    struct cs_lease lease;
    asking.done = done_late;
    cs_arena_reserve(arena, device, 8 * MIB); /* all events there are */
    CHECK(call(arena, owner, 3 * MIB, true));
    meanwhile.owner = owner;
    meanwhile.capturing = stream;
    meanwhile.capture = begin_capture(stream);
    meanwhile.arena = arena;
    CHECK(!cs_arena_take(arena, &asking, other, &no_capture, 6 * MIB, false, &lease));
    CHECK(meanwhile.arena == NULL);
    CHECK(device_end_capture(meanwhile.capture.id));
    check_sound();
}

/* A program may change which work the next work of a capture depends on
 * (cudaStreamUpdateCaptureDependencies). Then two calls on one stream are no longer ordered. */
static void a_capture_whose_dependencies_are_set(void)
{
    for (int skip = 0; skip <= 1; skip++) {
        struct cs_arena *arena = new_arena(4 * MIB);
        void *stream = device_new_stream(), *first = NULL, *second = NULL;
        struct cs_capture capture = begin_capture(stream);
        for (int i = 0; i < 3; i++) /* so that times before and after differ */
            device_touch(stream, &capture, 1, true);
        CHECK(call_in(arena, stream, &capture, 3 * MIB, true, &first));
        memset(&device_stream_at(stream)->captured, 0, sizeof(struct device_clock));
        fake_device.skip_wait = skip;
        CHECK(call_in(arena, stream, &capture, 3 * MIB, true, &second));
        CHECK(first == second);
        CHECK_INT(fake_device.races, skip);
        CHECK(device_end_capture(capture.id));
    }
}

/* An invalid capture becomes no graph, and work lost in a capture never runs. Both return their
 * memory. */
static void abandoned_capture_returns_its_memory(void)
{
    struct cs_arena *arena = new_arena(4 * MIB);
    void *stream = device_new_stream();
    struct cs_lease lease;
    for (int broken = 0; broken <= 1; broken++) {
        struct cs_capture capture = begin_capture(stream);
        CHECK(cs_arena_take(arena, device, stream, &capture, 4 * MIB, true, &lease));
        device_touch(stream, lease.memory, 4 * MIB, true);
        if (broken)
            device_break_capture(capture.id);
        cs_arena_give(arena, device, stream, !broken, &lease);
        CHECK_INT(cs_arena_facts(arena).captured, 4 * MIB);
        CHECK(!call_in(arena, stream, &capture, MIB, true, NULL));
        CHECK(device_end_capture(capture.id) == !broken);
        CHECK(call(arena, stream, MIB, true) == broken); /* a graph may be launched still */
        device_drop_graph(capture.id);
        CHECK(call(arena, stream, 4 * MIB, true));
        CHECK_INT(cs_arena_facts(arena).lost, 0);
        device_run(stream);
    }
    check_sound();
}

/* Memory that a dropped graph had lost can be reserved again. */
static void memory_of_a_dropped_graph_is_reused(void)
{
    for (int gone = 0; gone <= 1; gone++) {
        struct cs_arena *arena = new_arena(16 * MIB);
        void *stream = device_new_stream();
        struct cs_lease lease;
        struct cs_capture capture = begin_capture(stream);
        CHECK(cs_arena_take(arena, device, stream, &capture, 4 * MIB, true, &lease));
        cs_arena_give(arena, device, stream, true, &lease);
        CHECK(device_end_capture(capture.id));
        if (gone)
            device_drop_graph(capture.id);
        cs_arena_reserve(arena, device, 4 * MIB);
        CHECK_INT(arena->facts.allocations, gone ? 1 : 2);
        if (!gone)
            device_drop_graph(capture.id);
        check_sound();
    }
}

/* No program does that, but it must not end in freed memory. */
static void graph_destroyed_during_a_call_uses_no_freed_memory(void)
{
    struct cs_arena *arena = new_arena(4 * MIB);
    void *stream = device_new_stream();
    struct cs_capture capture = begin_capture(stream);
    struct cs_lease lease;
    CHECK(cs_arena_take(arena, device, stream, &capture, 4 * MIB, true, &lease));
    CHECK(device_end_capture(capture.id));
    device_drop_graph(capture.id);
    CHECK_INT(cs_arena_facts(arena).captured, 4 * MIB);
    CHECK(!call(arena, stream, MIB, false));
    cs_arena_give(arena, device, stream, false, &lease);
    CHECK_INT(cs_arena_facts(arena).captured, 0);
    CHECK(call(arena, stream, 4 * MIB, false));
    check_sound();
}

static void capture_whose_end_is_unknown_gets_no_memory(void)
{
    struct cs_arena *arena = new_arena(8 * MIB);
    void *stream = device_new_stream();
    struct cs_capture capture = begin_capture(stream);
    fake_device.keeps = DEVICE_KEEPS;
    CHECK(!call_in(arena, stream, &capture, MIB, true, NULL));
    fake_device.keeps = 0;
    CHECK(device_end_capture(capture.id));
    CHECK(call(arena, stream, MIB, true));
    check_sound();
}

int main(void)
{
    heap_watch();
    TEST(capture_keeps_its_memory);
    TEST(queried_event_is_not_captured_before_the_reply);
    TEST(a_capture_whose_dependencies_are_set);
    TEST(abandoned_capture_returns_its_memory);
    TEST(memory_of_a_dropped_graph_is_reused);
    TEST(graph_destroyed_during_a_call_uses_no_freed_memory);
    TEST(capture_whose_end_is_unknown_gets_no_memory);
    (void)new_arena(0);
    device_reset();
    CHECK_INT(heap_requests_locked, 0);
    CHECK_INT(cs_lock_faults(), 0);
    return REPORT();
}
