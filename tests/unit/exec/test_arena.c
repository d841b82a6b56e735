/* The arena on a fake device, which records the order of accesses. */
#include "arena_calls.h"
#include "heap.h"
#include <time.h>

enum {
    CONTEXTS = 40, /* more than the arena remembers */
    SMALL = 100    /* blocks, more than a slab is divided into */
};

static void repeated_calls_of_one_stream_make_no_device_call(void)
{
    struct cs_arena *arena = new_arena(64 * MIB);
    void *stream = device_new_stream();
    cs_arena_reserve(arena, device, 5 * MIB);
    CHECK(call(arena, stream, 5 * MIB, false));
    for (int i = 0; i < 100; i++)
        CHECK(call(arena, stream, (1 + i % 5) * MIB - i, false));
    int creations = fake_device.creations, calls = fake_device.calls;
    long long requests = heap_requests;
    for (int i = 0; i < 100; i++)
        CHECK(call(arena, stream, (1 + i % 5) * MIB - i, false));
    CHECK_INT(heap_requests, requests);
    void *volatile memory = malloc(1); /* it is counted at all */
    CHECK_INT(heap_requests, requests + 1);
    free(memory);
    CHECK_INT(fake_device.creations, creations);
    CHECK_INT(fake_device.calls - calls, 100); /* a record each */
    CHECK_INT(fake_device.allocations, 1);
    CHECK_INT(fake_device.waits, 0);
    CHECK_INT(fake_device.queries, 0);
    CHECK_INT(cs_arena_facts(arena).held, 6 * MIB);
    check_sound();
}

static void another_stream_waits_for_the_first(void)
{
    struct cs_arena *arena = new_arena(4 * MIB);
    void *first = device_new_stream(), *second = device_new_stream();
    CHECK(call(arena, first, 3 * MIB, false));
    CHECK(!call(arena, second, 3 * MIB, false));
    CHECK_INT(cs_arena_facts(arena).refused, 0);
    CHECK(call(arena, second, 3 * MIB, true));
    CHECK_INT(fake_device.waits, 1);
    CHECK_INT(cs_arena_facts(arena).waits, 1);
    CHECK(call(arena, second, 3 * MIB, false));
    CHECK_INT(fake_device.waits, 1);
    fake_device.everything_done = true;
    CHECK(call(arena, first, 4 * MIB, false));
    CHECK_INT(fake_device.waits, 1);
    CHECK_INT(fake_device.allocations, 1);
    check_sound();
    /* The check would have seen it: the same again without the wait. */
    arena = new_arena(4 * MIB);
    first = device_new_stream(), second = device_new_stream();
    fake_device.skip_wait = 1;
    CHECK(call(arena, first, 3 * MIB, false));
    CHECK(call(arena, second, 3 * MIB, true));
    CHECK(fake_device.races > 0);
}

static void streams_run_concurrently(void)
{
    struct cs_arena *arena = new_arena(8 * MIB);
    void *first = device_new_stream(), *second = device_new_stream();
    cs_arena_reserve(arena, device, 8 * MIB);
    for (int i = 0; i < 20; i++) {
        CHECK(call(arena, first, 4 * MIB, false));
        CHECK(call(arena, second, 4 * MIB, false));
    }
    CHECK_INT(fake_device.waits, 0);
    CHECK_INT(fake_device.allocations, 1);
    check_sound();
}

static void the_limit_is_that_of_all_contexts(void)
{
    struct cs_arena *arena = new_arena(6 * MIB);
    void *here = device_new_stream();
    CHECK(call(arena, here, 4 * MIB, true));
    fake_device.current = 2;
    void *there = device_new_stream();
    CHECK(!call(arena, there, 4 * MIB, true));
    CHECK(call(arena, there, 2 * MIB, true));
    CHECK_INT(cs_arena_facts(arena).held, 6 * MIB);
    CHECK_INT(cs_arena_facts(arena).refused, 1);
    fake_device.current = 0; /* no context at all */
    CHECK(!call(arena, there, 1, true));
    CHECK_INT(cs_arena_facts(arena).refused, 2);
    check_sound();
    arena = new_arena(0);
    here = device_new_stream();
    CHECK(!call(arena, here, 1, true));
    CHECK_INT(fake_device.allocations, 0);
    CHECK_INT(cs_arena_facts(arena).refused, 1);
}

/* The order of preference: the stream's last block, then unowned blocks, then blocks in which
 * others run. Of these the one with the least work before it, then the smallest. */
static void best_block_is_preferred(void)
{
    struct cs_arena *arena = new_arena(6 * MIB);
    void *stream[4];
    char *base, *memory;
    for (int i = 0; i < 4; i++)
        stream[i] = device_new_stream();
    cs_arena_reserve(arena, device, 6 * MIB);
    CHECK(call_in(arena, stream[0], &no_capture, 4 * MIB, true, (void **)&base));
    CHECK(call_in(arena, stream[0], &no_capture, MIB, true, (void **)&memory));
    CHECK(memory == base); /* although the unowned block is smaller */
    CHECK(call_in(arena, stream[1], &no_capture, MIB, true, (void **)&memory));
    CHECK(memory == base + 4 * MIB);
    CHECK(call_in(arena, stream[0], &no_capture, MIB, true, (void **)&memory));
    CHECK(memory == base);
    CHECK(call_in(arena, stream[2], &no_capture, MIB, true, (void **)&memory));
    CHECK(memory == base + 5 * MIB);
    CHECK_INT(fake_device.waits, 0);
    CHECK(call_in(arena, stream[3], &no_capture, 2 * MIB, true, (void **)&memory));
    CHECK(memory == base + MIB); /* 3 MiB after one event, 2 MiB would be after two */
    CHECK_INT(fake_device.waits, 1);
    CHECK(call_in(arena, stream[3], &no_capture, 5 * MIB, true, (void **)&memory));
    CHECK_INT(fake_device.waits, 4); /* after three of them */
    CHECK_INT(fake_device.allocations, 1);
    check_sound();
}

static void smallest_sufficient_block_is_preferred(void)
{
    struct cs_arena *arena = new_arena(16 * MIB);
    void *stream = device_new_stream(), *memory, *large, *small;
    cs_arena_reserve(arena, device, 2 * MIB);
    CHECK(call_in(arena, stream, &no_capture, 2 * MIB, true, &small));
    cs_arena_reserve(arena, device, 8 * MIB);
    CHECK(call_in(arena, stream, &no_capture, 8 * MIB, true, &large));
    for (int i = 0; i < 3; i++) {
        CHECK(call_in(arena, stream, &no_capture, 2 * MIB - i, true, &memory));
        CHECK(memory == small);
        CHECK(call_in(arena, stream, &no_capture, 3 * MIB, true, &memory));
        CHECK(memory == large);
    }
    check_sound();
}

/* A handle is reused for another stream after its own is destroyed, while work of the first stream
 * still runs. */
static void reused_handle_is_another_stream(void)
{
    struct cs_arena *arena = new_arena(4 * MIB);
    void *stream = device_new_stream();
    CHECK(call(arena, stream, 4 * MIB, true));
    device_stream_destroy(NULL, stream);
    CHECK(device_new_stream() == stream);
    CHECK(!call(arena, stream, 4 * MIB, false));
    CHECK(call(arena, stream, 4 * MIB, true));
    CHECK_INT(fake_device.waits, 1);
    fake_device.no_ids = true; /* then a stream is not like itself */
    CHECK(call(arena, stream, 4 * MIB, true));
    CHECK(call(arena, stream, 4 * MIB, true));
    CHECK_INT(fake_device.waits, 3);
    check_sound();
}

/* The arena allocates for captures and for calls that need more than it has, not to let streams run
 * concurrently. */
static void allocating_is_the_last_resort(void)
{
    struct cs_arena *arena = new_arena(16 * MIB);
    void *first = device_new_stream(), *second = device_new_stream(), *memory;
    CHECK(call(arena, first, 4 * MIB, false)); /* there was nothing */
    CHECK(!call(arena, second, 4 * MIB, false));
    CHECK(call(arena, second, 4 * MIB, true));
    CHECK_INT(fake_device.allocations, 1);
    struct cs_capture capture = begin_capture(first);
    CHECK(!call_in(arena, first, &capture, 4 * MIB, false, NULL));
    CHECK(call_in(arena, first, &capture, 4 * MIB, true, &memory));
    CHECK_INT(fake_device.allocations, 2);
    CHECK(device_end_capture(capture.id));
    CHECK(call(arena, second, 6 * MIB, false));
    CHECK_INT(fake_device.allocations, 3);
    CHECK_INT(cs_arena_facts(arena).held, 14 * MIB);
    device_drop_graph(capture.id);
    CHECK(call(arena, second, 4 * MIB, true));
    CHECK_INT(fake_device.allocations, 3);
    check_sound();
}

static void larger_need_replaces_smaller_memory(void)
{
    struct cs_arena *arena = new_arena(8 * MIB);
    void *stream = device_new_stream(), *capturing = device_new_stream();
    cs_arena_reserve(arena, device, 3 * MIB);
    CHECK(call(arena, stream, 3 * MIB, false));
    struct cs_capture capture = begin_capture(capturing);
    struct cs_lease lease;
    device_run(stream);
    CHECK(!call_in(arena, capturing, &capture, 7 * MIB, true, NULL)); /* no free in a capture */
    CHECK(device_end_capture(capture.id));
    CHECK(call(arena, stream, 3 * MIB, false));
    CHECK(!call(arena, stream, 7 * MIB, true)); /* nor a wait for running work */
    CHECK(cs_arena_take(arena, device, stream, &no_capture, MIB, true, &lease));
    cs_arena_reserve(arena, device, 7 * MIB); /* nor a block in use by a call */
    CHECK_INT(fake_device.frees, 0);
    CHECK(call(arena, capturing, 4 * MIB, true));
    cs_arena_reserve(arena, device, 7 * MIB); /* nor if it would not suffice */
    cs_arena_give(arena, device, stream, false, &lease);
    CHECK_INT(fake_device.frees, 0);
    device_run(capturing);
    CHECK(!call(arena, stream, 5 * MIB, true)); /* the first slab is still busy */
    device_run(stream);
    CHECK(call(arena, stream, 5 * MIB, true));
    CHECK_INT(fake_device.frees, 2);
    CHECK_INT(cs_arena_facts(arena).held, 6 * MIB);
    cs_arena_reserve(arena, device, 7 * MIB);
    CHECK_INT(fake_device.frees, 3);
    CHECK(call(arena, stream, 7 * MIB, false));
    CHECK_INT(cs_arena_facts(arena).held, 8 * MIB);
    cs_arena_reserve(arena, device, 9 * MIB);
    cs_arena_reserve(arena, device, 0);
    CHECK_INT(cs_arena_facts(arena).held, 8 * MIB);
    CHECK_INT(cs_arena_facts(arena).peak, 8 * MIB);
    CHECK_INT(fake_device.frees, 3);
    check_sound();
}

static void room_is_made_by_no_more_slabs_than_suffice(void)
{
    enum {
        SLABS = 4
    };
    struct cs_arena *arena = new_arena(2 * SLABS * MIB);
    void *stream = device_new_stream();
    struct cs_lease lease[SLABS];
    for (int i = 0; i < SLABS; i++)
        CHECK(cs_arena_take(arena, device, device_new_stream(), &no_capture, 2 * MIB, true,
                            &lease[i]));
    for (int i = 0; i < SLABS; i++)
        cs_arena_give(arena, device, stream, false, &lease[i]);
    device_run(stream);
    CHECK(call(arena, stream, 3 * MIB, true));
    CHECK_INT(fake_device.frees, 2);
    CHECK_INT(cs_arena_facts(arena).held, 2 * SLABS * MIB);
    check_sound();
}

static void lost_memory_is_never_reused(void)
{
    struct cs_arena *arena = new_arena(4 * MIB);
    void *stream = device_new_stream();
    struct cs_lease lease;
    CHECK(cs_arena_take(arena, device, stream, &no_capture, 3 * MIB, true, &lease));
    cs_arena_give(arena, device, stream, true, &lease);
    CHECK_INT(cs_arena_facts(arena).lost, 3 * MIB);
    CHECK_INT(cs_arena_facts(arena).used, 0);
    CHECK(!call(arena, stream, 2 * MIB, true));
    CHECK(call(arena, stream, MIB, true));
    cs_arena_give(arena, device, stream, true, &lease); /* empty */
    CHECK_INT(cs_arena_facts(arena).lost, 3 * MIB);
    check_sound();
}

/* A device that cannot mark where a call ends, or cannot wait. */
static void a_failing_device(void)
{
    struct cs_arena *arena = new_arena(4 * MIB);
    void *first = device_new_stream(), *second = device_new_stream();
    struct cs_lease lease;
    CHECK(call(arena, first, 2 * MIB, true));
    fake_device.fail_at = fake_device.calls + 1;
    CHECK(!call(arena, second, 2 * MIB, true)); /* the wait */
    CHECK(call(arena, second, 2 * MIB, true));
    CHECK(cs_arena_take(arena, device, second, &no_capture, 2 * MIB, true, &lease));
    fake_device.fail_at = fake_device.calls + 1;
    cs_arena_give(arena, device, second, false, &lease);
    CHECK_INT(cs_arena_facts(arena).lost, 2 * MIB);
    CHECK_INT(cs_arena_facts(arena).waits, 1);
    fake_device.fail_at = fake_device.calls + 1;
    CHECK(!call(arena, first, 2 * MIB, true)); /* the allocation */
    CHECK(call(arena, first, 2 * MIB, true));
    CHECK_INT(cs_arena_facts(arena).used, 0);
    check_sound();
}

/* More blocks than a slab can be divided into. Then blocks are larger than required. */
static void many_small_blocks(void)
{
    struct cs_arena *arena = new_arena(4 * MIB);
    void *stream = device_new_stream();
    struct cs_lease lease[SMALL];
    int taken = 0;
    cs_arena_reserve(arena, device, 2 * MIB);
    while (taken < SMALL &&
           cs_arena_take(arena, device, stream, &no_capture, 1, false, &lease[taken]))
        taken++;
    CHECK(taken >= 60 && taken < SMALL);
    CHECK_INT(cs_arena_facts(arena).used, 2 * MIB);
    for (int i = 0; i < taken; i++)
        device_touch(stream, lease[i].memory, CS_SCRATCH_ALIGNMENT, true);
    for (int i = 0; i < taken; i++)
        for (int j = 0; j < i; j++)
            CHECK(lease[i].memory != lease[j].memory);
    for (int i = 0; i < taken; i++)
        cs_arena_give(arena, device, stream, false, &lease[i]);
    CHECK_INT(cs_arena_facts(arena).used, 0);
    CHECK(call(arena, stream, 2 * MIB, false));
    CHECK_INT(fake_device.allocations, 1);
    check_sound();
}

/* More calls at once than events were made with the memory: only a capture keeps anything. */
static void eager_calls_have_no_owner(void)
{
    enum {
        CALLS = 12
    };
    struct cs_arena *arena = new_arena(64 * MIB);
    void *stream = device_new_stream();
    struct cs_lease lease[CALLS];
    for (int i = 0; i < CALLS; i++)
        CHECK(cs_arena_take(arena, device, stream, &no_capture, 1000, false, &lease[i]));
    CHECK_INT(fake_device.keeps, 0);
    for (int i = 0; i < CALLS; i++)
        cs_arena_give(arena, device, stream, false, &lease[i]);
    check_sound();
}

/* A destroyed context is not reported. Its memory is not used or freed, and is forgotten in the
 * end. */
static void destroyed_contexts_are_forgotten(void)
{
    struct cs_arena *arena = new_arena((int64_t)CONTEXTS * 2 * MIB);
    uint64_t capture[2];
    struct cs_lease lease;
    void *first = device_new_stream();
    CHECK(cs_arena_take(arena, device, first, &no_capture, 2 * MIB, true, &lease));
    for (int i = 1; i < CONTEXTS; i++) {
        fake_device.current = (uint64_t)i + 1;
        void *stream = device_new_stream();
        CHECK(call(arena, stream, 2 * MIB, true));
        if (i < 3) {
            device_run(stream);
            struct cs_capture now = begin_capture(stream);
            CHECK(call_in(arena, stream, &now, 2 * MIB, true, NULL));
            CHECK(device_end_capture(now.id));
            capture[i - 1] = now.id;
        }
        if (i == CONTEXTS / 2)
            device_drop_graph(capture[0]); /* before its pool is forgotten */
    }
    device_drop_graph(capture[1]); /* after it */
    CHECK_INT(fake_device.frees, 0);
    CHECK(cs_arena_facts(arena).held < CONTEXTS * 2 * MIB);
    CHECK(cs_arena_facts(arena).held >= 16 * 2 * MIB);
    CHECK_INT(cs_arena_facts(arena).captured, 0);
    int allocations = fake_device.allocations;
    fake_device.current = CONTEXTS;
    CHECK(call(arena, device_new_stream(), 2 * MIB, true));
    fake_device.current = 1; /* not forgotten, as a call has some of its memory */
    cs_arena_give(arena, device, first, false, &lease);
    CHECK(call(arena, first, 2 * MIB, true));
    CHECK_INT(fake_device.allocations, allocations);
    check_sound();
}

struct late {
    struct cs_arena *arena;
    void *stream;
    struct cs_lease lease;
    int64_t after; /* nanoseconds */
};

static void *give_late(void *arg)
{
    struct late *late = arg;
    nanosleep(&(struct timespec){.tv_nsec = late->after}, NULL);
    cs_arena_give(late->arena, device, late->stream, false, &late->lease);
    return NULL;
}

static int64_t now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * INT64_C(1000000000) + at.tv_nsec;
}

/* Memory that another thread holds to start a call is returned soon; otherwise the call does
 * without it. */
static void waiting_ends_after_a_limit(void)
{
    struct cs_arena *arena = new_arena(4 * MIB);
    void *first = device_new_stream(), *second = device_new_stream();
    struct late late = {arena, first, {NULL, NULL}, 20000000};
    pthread_t thread;
    CHECK(cs_arena_take(arena, device, first, &no_capture, 3 * MIB, true, &late.lease));
    device_touch(first, late.lease.memory, 3 * MIB, true);
    struct cs_capture capture = begin_capture(second);
    int64_t least = INT64_MAX; /* who would get nothing by waiting does not */
    for (int i = 0; i < 5; i++) {
        int64_t begin = now();
        CHECK(!call(arena, second, 2 * MIB, false));
        CHECK(!call_in(arena, second, &capture, 2 * MIB, true, NULL));
        least = now() - begin < least ? now() - begin : least;
    }
    CHECK(least < 100000000);
    CHECK(device_end_capture(capture.id));
    int64_t begin = now();
    CHECK(!call(arena, second, 2 * MIB, true));
    CHECK(now() - begin >= 100000000);
    CHECK_INT(pthread_create(&thread, NULL, give_late, &late), 0);
    CHECK(call(arena, second, 2 * MIB, true));
    CHECK_INT(fake_device.waits, 1);
    pthread_join(thread, NULL);
    check_sound();
}

static void *wait_for_scratch(void *arena)
{
    struct cs_lease lease;
    cs_arena_take(arena, device, device_new_stream(), &no_capture, 2 * MIB, true, &lease);
    return NULL;
}

/* A thread that is cancelled while it waits waits to the end, and leaves the lock free. */
static void a_waiter_is_cancelled(void)
{
    struct cs_arena *arena = new_arena(2 * MIB);
    struct cs_lease lease;
    pthread_t thread;
    void *stream = device_new_stream();
    CHECK(cs_arena_take(arena, device, stream, &no_capture, 2 * MIB, true, &lease));
    CHECK_INT(pthread_create(&thread, NULL, wait_for_scratch, arena), 0);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    CHECK_INT(pthread_mutex_trylock(&arena->lock.mutex), 0);
    pthread_mutex_unlock(&arena->lock.mutex);
    cs_arena_give(arena, device, stream, false, &lease);
    check_sound();
}

/* The memory of a destroyed context no longer counts against the limit. */
static void destroyed_context_returns_its_share(void)
{
    struct cs_arena *arena = new_arena(2 * MIB);
    long long taken = 0;
    for (uint64_t context = 1; context <= 8; context++) {
        fake_device.current = context;
        CHECK(call(arena, device_new_stream(), 2 * MIB, true));
        CHECK_INT(cs_arena_facts(arena).held, 2 * MIB);
        fake_device.gone = context;
        taken = context == 2 ? heap_taken : taken;
    }
    CHECK_INT(heap_taken, taken); /* nothing is kept of those that are gone */
    CHECK_INT(fake_device.frees, 0);
    CHECK_INT(cs_arena_facts(arena).peak, 2 * MIB);
    CHECK_INT(cs_arena_facts(arena).refused, 0);
    check_sound();
}

/* A context that goes while another one's pool is full makes room for it. */
static void memory_of_destroyed_contexts_is_freed_for_room(void)
{
    struct cs_arena *arena = new_arena(4 * MIB);
    struct cs_lease lease;
    CHECK(call(arena, device_new_stream(), 2 * MIB, true));
    fake_device.current = 2;
    void *stream = device_new_stream();
    CHECK(cs_arena_take(arena, device, stream, &no_capture, 2 * MIB, true, &lease));
    CHECK(!call(arena, device_new_stream(), 2 * MIB, true));
    fake_device.gone = 1;
    CHECK(call(arena, device_new_stream(), 2 * MIB, true));
    cs_arena_give(arena, device, stream, false, &lease);
    check_sound();
}

/* A child has no memory of its parent. */
static void a_fork_forgets(void)
{
    struct cs_arena *arena = new_arena(4 * MIB);
    void *stream = device_new_stream();
    CHECK(call(arena, stream, 4 * MIB, true));
    cs_arena_process_fork(arena, true, false);
    cs_arena_process_fork(arena, false, false);
    CHECK_INT(cs_arena_facts(arena).held, 4 * MIB);
    cs_arena_process_fork(arena, true, false);
    cs_arena_process_fork(arena, false, true);
    CHECK_INT(cs_arena_facts(arena).held, 0);
    CHECK_INT(cs_arena_facts(arena).limit, 4 * MIB);
    CHECK(call(arena, stream, 4 * MIB, true));
    CHECK_INT(fake_device.allocations, 2);
    check_sound();
}

int main(void)
{
    heap_watch();
    TEST(repeated_calls_of_one_stream_make_no_device_call);
    TEST(another_stream_waits_for_the_first);
    TEST(streams_run_concurrently);
    TEST(the_limit_is_that_of_all_contexts);
    TEST(best_block_is_preferred);
    TEST(smallest_sufficient_block_is_preferred);
    TEST(reused_handle_is_another_stream);
    TEST(allocating_is_the_last_resort);
    TEST(larger_need_replaces_smaller_memory);
    TEST(room_is_made_by_no_more_slabs_than_suffice);
    TEST(lost_memory_is_never_reused);
    TEST(a_failing_device);
    TEST(many_small_blocks);
    TEST(eager_calls_have_no_owner);
    TEST(destroyed_contexts_are_forgotten);
    TEST(waiting_ends_after_a_limit);
    TEST(a_waiter_is_cancelled);
    TEST(destroyed_context_returns_its_share);
    TEST(memory_of_destroyed_contexts_is_freed_for_room);
    TEST(a_fork_forgets);
    (void)new_arena(0);
    device_reset();
    CHECK_INT(heap_requests_locked, 0);
    CHECK_INT(cs_lock_faults(), 0);
    return REPORT();
}
