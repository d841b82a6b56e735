/* The arena under random traffic, failures and threads, on a fake device, which records the order
 * of accesses. */
#include "base/clock.h"
#include "convshim/plan.h"
#include "exec/arena.h"
#include "fake_device.h"
#include "random_problem.h"

enum {
    MIB = 1 << 20,
    LIMIT = 10 * MIB,
    SEEDS = 40,
    STEPS = 2000,
    STREAMS = 6, /* the last two of another context */
    GRAPHS = 3,
    OPEN = 2,
    THREADS = 4,
    CALLS = 400
};

static const struct cs_device *const device = &fake_device_functions;

/* Calls have the patience that they need here, however busy the machine is: a thread that loses the
 * processor would cost others a call. */
WRAPPED(int, pthread_cond_timedwait, pthread_cond_t *condition, pthread_mutex_t *mutex,
        const struct timespec *until)
{
    const struct timespec later = {until->tv_sec + 300, until->tv_nsec};
    return __real_pthread_cond_timedwait(condition, mutex, &later);
}

static struct cs_arena *new_arena(void)
{
    static struct cs_arena arena;
    if (arena.facts.limit > 0) {
        cs_arena_process_fork(&arena, true, false);
        cs_arena_process_fork(&arena, false, true);
    }
    device_reset();
    cs_arena_init(&arena, LIMIT);
    return &arena;
}

static uint64_t context_of(int stream)
{
    return stream < STREAMS - 2 ? 1 : 2;
}

/* A call that another thread is starting. */
struct open {
    struct cs_lease lease;
    int stream;
    int64_t bytes;
};

struct traffic {
    struct rng rng;
    struct cs_arena *arena;
    void *stream[STREAMS];
    uint64_t capture[STREAMS]; /* under way */
    uint64_t graph[GRAPHS];
    struct open open[OPEN];
    int served, captured, refused;
};

static int pick(struct traffic *t, int below)
{
    return (int)rng_between(&t->rng, 0, below - 1);
}

static bool is_open(const struct traffic *t, int stream)
{
    for (int i = 0; i < OPEN; i++)
        if (t->open[i].lease.block && (stream < 0 || t->open[i].stream == stream))
            return true;
    return false;
}

static bool take(struct traffic *t, int stream, int64_t bytes, bool patient, struct cs_lease *lease)
{
    uint64_t id = t->capture[stream];
    struct cs_capture capture = {id, id ? (void *)(uintptr_t)(id + DEVICE_GRAPH) : NULL};
    fake_device.current = context_of(stream);
    bool taken =
        cs_arena_take(t->arena, device, t->stream[stream], &capture, bytes, patient, lease);
    CHECK(taken == (lease->block != NULL));
    if (taken) {
        CHECK(device_owns(lease->memory, bytes));
        CHECK_INT((uintptr_t)lease->memory % CS_SCRATCH_ALIGNMENT, 0);
    }
    return taken;
}

static void touch_and_give(struct traffic *t, int stream, int64_t bytes, struct cs_lease *lease)
{
    bool lost = pick(t, 400) == 0;
    fake_device.current = context_of(stream);
    device_touch(t->stream[stream], lease->memory, bytes, true);
    cs_arena_give(t->arena, device, t->stream[stream], lost, lease);
    CHECK(lease->block == NULL);
}

/* No program begins or ends a capture on a stream that another thread is starting a call on. */
static void begin_or_end_capture(struct traffic *t, int stream)
{
    if (is_open(t, stream))
        return;
    if (t->capture[stream] == 0) {
        t->capture[stream] = device_begin_capture(t->stream[stream]);
        return;
    }
    uint64_t *graph = &t->graph[pick(t, GRAPHS)], id = t->capture[stream];
    if (*graph)
        device_drop_graph(*graph);
    if (pick(t, 4) == 0)
        device_break_capture(id);
    *graph = device_end_capture(id) ? id : 0;
    t->capture[stream] = 0;
}

static void open_or_close(struct traffic *t, struct open *open, int stream)
{
    if (open->lease.block) {
        touch_and_give(t, open->stream, open->bytes, &open->lease);
        return;
    }
    open->stream = stream;
    open->bytes = rng_between(&t->rng, 1, 2 * MIB);
    (void)take(t, stream, open->bytes, false, &open->lease);
}

static void call(struct traffic *t, int stream)
{
    struct cs_lease lease;
    int64_t bytes = pick(t, 8) ? rng_between(&t->rng, 1, 4 * MIB) : rng_magnitude(&t->rng, 24);
    bool captured = t->capture[stream] != 0;
    bool patient = !is_open(t, -1) && pick(t, 2); /* no thread would return the awaited memory */
    if (!take(t, stream, bytes, patient, &lease)) {
        t->refused++;
        return;
    }
    t->served++;
    t->captured += captured;
    touch_and_give(t, stream, bytes, &lease);
}

/* Another stream, perhaps with the same handle. */
static void replace_stream(struct traffic *t, int stream)
{
    if (t->capture[stream] || is_open(t, stream) || fake_device.streams == DEVICE_STREAMS)
        return;
    fake_device.current = context_of(stream);
    device_stream_destroy(NULL, t->stream[stream]);
    t->stream[stream] = device_new_stream();
}

static void step(struct traffic *t)
{
    int stream = pick(t, STREAMS);
    fake_device.everything_done = pick(t, 100) == 0;
    switch (pick(t, 20)) {
    case 0:
        begin_or_end_capture(t, stream);
        break;
    case 1:
        open_or_close(t, &t->open[pick(t, OPEN)], stream);
        break;
    case 2:
    case 3:
    case 4:
        for (int i = 0; i < OPEN; i++)
            if (t->open[i].lease.block)
                open_or_close(t, &t->open[i], stream);
        break;
    case 5:
        fake_device.current = context_of(stream);
        cs_arena_reserve(t->arena, device, rng_between(&t->rng, 1, LIMIT / 2));
        break;
    case 6:
        device_run(t->stream[stream]);
        break;
    case 7:
        if (pick(t, 20) == 0)
            replace_stream(t, stream);
        break;
    default:
        call(t, stream);
    }
}

static void finish(struct traffic *t)
{
    for (int i = 0; i < OPEN; i++)
        if (t->open[i].lease.block)
            open_or_close(t, &t->open[i], 0);
    for (int i = 0; i < STREAMS; i++)
        if (t->capture[i])
            (void)device_end_capture(t->capture[i]);
}

static void check_step(const struct traffic *t)
{
    struct cs_arena_facts facts = cs_arena_facts(t->arena);
    CHECK(facts.held <= LIMIT && facts.peak <= LIMIT && facts.used <= facts.held);
    CHECK_INT(facts.held, fake_device.allocated);
    CHECK_INT(facts.allocations, fake_device.allocations);
}

static struct traffic run_traffic(uint64_t seed, int fail_at, int skip_wait, int steps)
{
    struct traffic t = {.rng = {seed}, .arena = new_arena()};
    fake_device.fail_at = fail_at;
    fake_device.skip_wait = skip_wait;
    for (int i = 0; i < STREAMS; i++) {
        fake_device.current = context_of(i);
        t.stream[i] = device_new_stream();
    }
    for (int i = 0; i < steps; i++) {
        step(&t);
        check_step(&t);
        if (fake_device.touches > DEVICE_TOUCHES / 2)
            device_synchronize();
    }
    finish(&t);
    CHECK_INT(cs_arena_facts(t.arena).used, 0);
    CHECK_INT(fake_device.misuses, 0);
    return t;
}

static void no_traffic_races(void)
{
    int captured = 0;
    int64_t waits = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct traffic t = run_traffic(seed, 0, 0, STEPS);
        CHECK_INT(fake_device.races, 0);
        CHECK(t.served > STEPS / 8);
        captured += t.captured;
        waits += cs_arena_facts(t.arena).waits;
        CHECK_INT(cs_arena_facts(t.arena).waits, fake_device.waits);
    }
    CHECK(captured > SEEDS * 100);
    CHECK(waits > SEEDS * 50);
}

static void no_failure_makes_a_race(void)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        for (int n = 1;; n++) {
            (void)run_traffic(seed, n, 0, 150);
            CHECK_INT(fake_device.races, 0);
            if (fake_device.calls < n)
                break;
        }
}

/* A wait that is left out is a race, unless another one orders the same or the same bytes are not
 * touched; or, as most are, it is of a capture's own stream, whose order no program changes here.
 */
static void waits_are_needed(void)
{
    int raced = 0, skipped = 0;
    for (int n = 1; n <= 240; n++) {
        (void)run_traffic(7, 0, n, STEPS);
        if (fake_device.waits < n)
            break;
        skipped++;
        raced += fake_device.races > 0;
    }
    CHECK(skipped >= 200);
    CHECK(raced * 20 > skipped);
}

struct worker {
    struct cs_arena *arena;
    void *stream;
    uint64_t seed;
    int served;
};

static void *work(void *arg)
{
    static const struct cs_capture none;
    struct worker *w = arg;
    struct rng rng = {w->seed};
    for (int i = 0; i < CALLS; i++) {
        struct cs_lease lease;
        int64_t bytes = rng_between(&rng, 1, 3 * MIB);
        if (i % 16 == 0)
            cs_arena_reserve(w->arena, device, bytes);
        if (i % 8 == 0)
            device_run(w->stream);
        if (!cs_arena_take(w->arena, device, w->stream, &none, bytes, true, &lease))
            continue;
        device_touch(w->stream, lease.memory, bytes, true);
        cs_arena_give(w->arena, device, w->stream, false, &lease);
        w->served++;
    }
    return NULL;
}

/* Each waits for the others to have started, never for the device. */
static void threads_share(void)
{
    struct cs_arena *arena = new_arena();
    struct worker worker[THREADS];
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        worker[i] = (struct worker){arena, device_new_stream(), (uint64_t)i, 0};
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&thread[i], NULL, work, &worker[i]), 0);
    int served = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        served += worker[i].served;
    }
    CHECK_INT(served, THREADS * CALLS);
    CHECK_INT(cs_arena_facts(arena).refused, 0);
    CHECK(cs_arena_facts(arena).peak <= LIMIT);
    CHECK_INT(cs_arena_facts(arena).used, 0);
    CHECK_INT(fake_device.races, 0);
    CHECK_INT(fake_device.misuses, 0);
}

/* A device that blocks its caller for so long that other threads call the arena. */
static struct slow {
    struct cs_arena *arena;
    struct cs_device device;
    void *third; /* stream */
    int run_other_threads_call;
} slow;

static void run_other_threads_call(void)
{
    slow.run_other_threads_call++;
    cs_arena_reserve(slow.arena, device, LIMIT / 2 + MIB);
    CHECK(cs_arena_facts(slow.arena).held <= LIMIT);
}

static int slow_wait(void *ctx, void *stream, void *event)
{
    static const struct cs_capture none;
    struct cs_lease lease;
    run_other_threads_call();
    if (cs_arena_take(slow.arena, device, slow.third, &none, MIB, false, &lease)) {
        device_touch(slow.third, lease.memory, MIB, true);
        cs_arena_give(slow.arena, device, slow.third, false, &lease);
    }
    return device_wait(ctx, stream, event);
}

static int slow_record(void *ctx, void *event, void *stream)
{
    run_other_threads_call();
    return device_record(ctx, event, stream);
}

static int slow_allocate(void *ctx, int64_t bytes, void **memory_p)
{
    run_other_threads_call();
    return device_allocate(ctx, bytes, memory_p);
}

static void slow_free(void *ctx, void *memory)
{
    run_other_threads_call();
    device_free(ctx, memory);
}

static void no_wait_holds_the_lock(void)
{
    struct cs_arena *arena = new_arena();
    void *first = device_new_stream(), *second = device_new_stream();
    static const struct cs_capture none;
    struct cs_lease lease;
    slow = (struct slow){arena, fake_device_functions, device_new_stream(), 0};
    slow.device.wait = slow_wait;
    slow.device.record = slow_record;
    slow.device.allocate = slow_allocate;
    slow.device.free = slow_free;
    cs_arena_reserve(arena, &slow.device, LIMIT / 2 + MIB);
    CHECK_INT(slow.run_other_threads_call, 1);
    CHECK(cs_arena_take(arena, &slow.device, first, &none, MIB, true, &lease));
    device_touch(first, lease.memory, MIB, true);
    cs_arena_give(arena, &slow.device, first, false, &lease);
    CHECK_INT(slow.run_other_threads_call, 2);
    CHECK(cs_arena_take(arena, &slow.device, second, &none, LIMIT / 2 + MIB, true, &lease));
    device_touch(second, lease.memory, LIMIT / 2 + MIB, true);
    CHECK_INT(slow.run_other_threads_call, 3);
    cs_arena_give(arena, &slow.device, second, false, &lease);
    cs_arena_reserve(arena, &slow.device, LIMIT);
    CHECK(slow.run_other_threads_call >= 6);
    CHECK(cs_arena_facts(arena).peak <= LIMIT);
    CHECK_INT(fake_device.allocated, cs_arena_facts(arena).held);
    CHECK_INT(fake_device.races, 0);
    CHECK_INT(fake_device.misuses, 0);
}

/* Graphs are dropped on a thread of the device's. */
static void *drop(void *arg)
{
    device_drop_graph(*(const uint64_t *)arg);
    return NULL;
}

static void graphs_go_on_any_thread(void)
{
    struct cs_arena *arena = new_arena();
    void *stream = device_new_stream();
    for (int i = 0; i < 100; i++) {
        uint64_t id = device_begin_capture(stream);
        struct cs_capture capture = {id, (void *)(uintptr_t)(id + DEVICE_GRAPH)};
        struct cs_lease lease;
        pthread_t thread;
        CHECK(cs_arena_take(arena, device, stream, &capture, LIMIT / 2, true, &lease));
        device_touch(stream, lease.memory, LIMIT / 2, true);
        cs_arena_give(arena, device, stream, false, &lease);
        CHECK(device_end_capture(id));
        CHECK_INT(pthread_create(&thread, NULL, drop, &id), 0);
        (void)cs_arena_facts(arena);
        pthread_join(thread, NULL);
    }
    CHECK_INT(cs_arena_facts(arena).captured, 0);
    CHECK_INT(fake_device.allocations, 1);
    CHECK_INT(fake_device.races, 0);
}

int main(void)
{
    TEST(no_traffic_races);
    TEST(no_failure_makes_a_race);
    TEST(waits_are_needed);
    TEST(threads_share);
    TEST(no_wait_holds_the_lock);
    TEST(graphs_go_on_any_thread);
    (void)new_arena();
    device_reset();
    return REPORT();
}
