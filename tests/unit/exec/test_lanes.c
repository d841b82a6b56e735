/* The pool of lanes on a fake device, which records the order of accesses. */
#include "exec/lanes.h"
#include "fake_device.h"
#include "heap.h"
#include "random_problem.h"

enum {
    BYTES = 1024, /* of each lane's part of a call's memory */
    LANES = 4,
    STREAMS = 5,
    SEEDS = 30,
    STEPS = 1000,
    THREADS = 4,
    CALLS = 300
};

static const struct cs_device *const device = &fake_device_functions;

static struct cs_lanes *new_lanes(void)
{
    static struct cs_lanes lanes;
    static bool used;
    if (used) {
        cs_lanes_process_fork(&lanes, true, false);
        cs_lanes_process_fork(&lanes, false, true);
    }
    used = true;
    device_reset();
    cs_lanes_init(&lanes);
    return &lanes;
}

/* The memory that a call of application `client` uses. */
static const char *buffer(int client)
{
    return (const char *)(uintptr_t)(0x100000 * (client + 1));
}

/* Forks, writes on every lane, joins: the first failure. The whole is touched before and after by
 * the application. */
static int work(struct cs_lanes_lease *lease, int client)
{
    void *stream = lease->stream[0];
    device_touch(stream, buffer(client), (int64_t)LANES * BYTES, true);
    int status = cs_lanes_fork(device, lease);
    for (int i = 0; i < lease->lanes && status == 0; i++)
        device_touch(lease->stream[i], buffer(client) + i * BYTES, BYTES, true);
    int joined = cs_lanes_join(device, lease);
    if (joined == 0)
        device_touch(stream, buffer(client), (int64_t)LANES * BYTES, true);
    return status ? status : joined;
}

/* A call on at most `required` lanes: how many it had, 0 if the device failed. */
static int call(struct cs_lanes *lanes, void *stream, int required, int client)
{
    struct cs_lanes_lease lease;
    cs_lanes_take(lanes, device, stream, required, &lease);
    int had = lease.lanes;
    CHECK(had >= 1 && (had <= required || required < 1) && had <= CS_MAX_LANES);
    CHECK(lease.stream[0] == stream);
    CHECK((had > 1) == (lease.set != NULL));
    for (int i = 0; i < had; i++)
        for (int j = 0; j < i; j++)
            CHECK(lease.stream[i] != lease.stream[j]);
    int status = work(&lease, client);
    cs_lanes_give(lanes, device, &lease, status != 0);
    CHECK(lease.set == NULL);
    return status == 0 ? had : 0;
}

static void check_sound(void)
{
    CHECK_INT(fake_device.races, 0);
    CHECK_INT(fake_device.misuses, 0);
}

static void made_once(void)
{
    struct cs_lanes *lanes = new_lanes();
    void *stream = device_new_stream();
    CHECK_INT(call(lanes, stream, 1, 0), 1);
    CHECK_INT(call(lanes, stream, 0, 0), 1);
    CHECK_INT(fake_device.creations, 0);
    CHECK_INT(call(lanes, stream, 2, 0), 2);
    CHECK_INT(fake_device.creations, 3);
    CHECK_INT(call(lanes, stream, LANES, 0), LANES);
    int creations = fake_device.creations, queries = fake_device.queries;
    long long requests = heap_requests;
    CHECK_INT(creations, 1 + 2 * (LANES - 1));
    for (int i = 0; i < 100; i++)
        CHECK_INT(call(lanes, stream, 2 + i % 3, 0), 2 + i % 3);
    CHECK_INT(heap_requests, requests);
    CHECK_INT(fake_device.creations, creations);
    CHECK_INT(fake_device.queries, queries);
    CHECK_INT(call(lanes, stream, CS_MAX_LANES + 5, 0), CS_MAX_LANES);
    check_sound();
}

/* A stream may wait for a result that another stream's call computes. */
static void streams_are_not_ordered_after_each_other(void)
{
    struct cs_lanes *lanes = new_lanes();
    void *first = device_new_stream(), *second = device_new_stream(), *third = device_new_stream();
    struct cs_lanes_lease one, two;
    cs_lanes_take(lanes, device, first, 3, &one);
    void *firsts = one.stream[1];
    CHECK_INT(work(&one, 0), 0);
    cs_lanes_give(lanes, device, &one, false);
    cs_lanes_take(lanes, device, second, 3, &two);
    void *seconds = two.stream[1];
    CHECK(seconds != firsts);
    CHECK_INT(work(&two, 1), 0);
    cs_lanes_give(lanes, device, &two, false);
    int creations = fake_device.creations;
    for (int i = 0; i < 3; i++) {
        cs_lanes_take(lanes, device, first, 3, &one);
        CHECK(one.stream[1] == firsts);
        CHECK_INT(work(&one, 0), 0);
        cs_lanes_give(lanes, device, &one, false);
        cs_lanes_take(lanes, device, second, 3, &two);
        CHECK(two.stream[1] == seconds);
        CHECK_INT(work(&two, 1), 0);
        cs_lanes_give(lanes, device, &two, false);
    }
    CHECK_INT(fake_device.creations, creations);
    device_run(second); /* over, so that its lanes can be another's */
    cs_lanes_take(lanes, device, third, 3, &one);
    CHECK(one.stream[1] == seconds);
    cs_lanes_give(lanes, device, &one, false);
    CHECK_INT(fake_device.creations, creations);
    check_sound();
}

static void lanes_are_free_when_all_of_them_are_over(void)
{
    struct cs_lanes *lanes = new_lanes();
    struct cs_lanes_lease one, two;
    cs_lanes_take(lanes, device, device_new_stream(), 3, &one);
    void *side = one.stream[1], *other_side = one.stream[2];
    CHECK_INT(work(&one, 0), 0);
    cs_lanes_give(lanes, device, &one, false);
    device_run(side);
    cs_lanes_take(lanes, device, device_new_stream(), 3, &two);
    CHECK(two.stream[1] != side);
    cs_lanes_give(lanes, device, &two, false);
    device_run(other_side);
    cs_lanes_take(lanes, device, device_new_stream(), 3, &two);
    CHECK(two.stream[1] == side);
    cs_lanes_give(lanes, device, &two, false);
    check_sound();
}

/* A call that queries every set would be slower with every stream. */
static void few_sets_are_queried(void)
{
    struct cs_lanes *lanes = new_lanes();
    enum {
        BUSY = 10
    };
    for (int i = 0; i < BUSY; i++)
        CHECK_INT(call(lanes, device_new_stream(), 2, i), 2);
    int queries = fake_device.queries;
    void *stream = device_new_stream();
    CHECK_INT(call(lanes, stream, 2, BUSY), 2);
    CHECK_INT(fake_device.queries - queries, 4);
    CHECK_INT(lanes->sets, BUSY + 1);
    check_sound();
}

/* The fourth queried set is taken if its work has ended; the fifth is not queried. */
static void the_fourth_set_may_be_taken(void)
{
    for (int over = 1; over <= 6; over++) {
        struct cs_lanes *lanes = new_lanes();
        void *first = NULL;
        for (int i = 1; i <= 6; i++) {
            void *stream = device_new_stream();
            CHECK_INT(call(lanes, stream, 2, i), 2);
            first = i == over ? stream : first;
        }
        device_run(first);
        CHECK_INT(call(lanes, device_new_stream(), 2, 0), 2);
        CHECK_INT(lanes->sets, over <= 4 ? 6 : 7);
        check_sound();
    }
}

static void concurrent_calls_share_no_lanes(void)
{
    struct cs_lanes *lanes = new_lanes();
    void *stream = device_new_stream();
    struct cs_lanes_lease lease[3];
    for (int i = 0; i < 3; i++)
        cs_lanes_take(lanes, device, stream, 2, &lease[i]);
    for (int i = 0; i < 3; i++)
        CHECK(lease[i].lanes == 2 && lease[i].stream[1] != lease[(i + 1) % 3].stream[1]);
    for (int i = 0; i < 3; i++)
        cs_lanes_give(lanes, device, &lease[i], false);
    CHECK_INT(lanes->sets, 3);
    check_sound();
}

static void reused_handle_is_another_stream(void)
{
    struct cs_lanes *lanes = new_lanes();
    void *stream = device_new_stream();
    CHECK_INT(call(lanes, stream, 2, 0), 2);
    device_stream_destroy(NULL, stream);
    CHECK(device_new_stream() == stream);
    CHECK_INT(call(lanes, stream, 2, 1), 2);
    CHECK_INT(lanes->sets, 2);
    fake_device.no_ids = true;
    CHECK_INT(call(lanes, stream, 2, 1), 2);
    CHECK_INT(call(lanes, stream, 2, 1), 2);
    CHECK_INT(lanes->sets, 3);
    check_sound();
}

/* Not even those that another stream of the same context had. */
static void confined_stream_gets_no_lanes(void)
{
    struct cs_lanes *lanes = new_lanes();
    void *stream = device_new_stream();
    CHECK_INT(call(lanes, stream, 3, 0), 3);
    fake_device.confined = true;
    CHECK_INT(call(lanes, stream, 3, 0), 1);
    fake_device.confined = false;
    CHECK_INT(call(lanes, stream, 3, 0), 3);
    CHECK_INT(fake_device.races, 0);
    CHECK_INT(fake_device.misuses, 0);
}

/* Lanes whose join fails are destroyed. */
static void broken_lanes(void)
{
    struct cs_lanes *lanes = new_lanes();
    void *stream = device_new_stream();
    CHECK_INT(call(lanes, stream, 3, 0), 3);
    fake_device.fail_at = fake_device.calls + 4; /* record, wait, wait, then the first record */
    CHECK_INT(call(lanes, stream, 3, 0), 0);
    CHECK_INT(lanes->sets, 0);
    CHECK_INT(fake_device.destructions, fake_device.creations);
    device_synchronize();
    fake_device.fail_at = 0;
    CHECK_INT(call(lanes, stream, 3, 0), 3);
    check_sound();
}

/* A lane that was not forked may run another stream's work, for which a join would wait. */
static void forked_lanes_alone_are_joined(void)
{
    struct cs_lanes *lanes = new_lanes();
    void *stream = device_new_stream();
    CHECK_INT(call(lanes, stream, 4, 0), 4);
    for (int n = 1; n <= 4; n++) {
        struct cs_lanes_lease lease;
        cs_lanes_take(lanes, device, stream, 4, &lease);
        fake_device.fail_at = fake_device.calls + n;
        CHECK_INT(cs_lanes_fork(device, &lease), DEVICE_FAILED);
        CHECK_INT(cs_lanes_join(device, &lease), 0);
        cs_lanes_give(lanes, device, &lease, false);
    }
    CHECK_INT(lanes->sets, 1);
    check_sound();
}

static void all_are_joined_that_can_be(void)
{
    for (int n = 1; n <= 2 * (LANES - 1); n++) {
        struct cs_lanes *lanes = new_lanes();
        void *stream = device_new_stream();
        struct cs_lanes_lease lease;
        cs_lanes_take(lanes, device, stream, LANES, &lease);
        CHECK_INT(cs_lanes_fork(device, &lease), 0);
        for (int i = 1; i < LANES; i++)
            device_touch(lease.stream[i], buffer(i), BYTES, true);
        fake_device.fail_at = fake_device.calls + n; /* a record and a wait for each lane */
        CHECK_INT(cs_lanes_join(device, &lease), DEVICE_FAILED);
        for (int i = 1; i < LANES; i++)
            if (i != (n + 1) / 2)
                device_touch(stream, buffer(i), BYTES, true);
        cs_lanes_give(lanes, device, &lease, true);
        check_sound();
    }
}

static void each_context_has_its_own_lanes(void)
{
    struct cs_lanes *lanes = new_lanes();
    struct cs_lanes_lease lease[CS_MAX_LANE_SETS];
    void *stream = device_new_stream();
    CHECK_INT(call(lanes, stream, 2, 0), 2);
    fake_device.current = 2;
    void *other = device_new_stream();
    fake_device.everything_done = true;
    CHECK_INT(call(lanes, other, 2, 1), 2);
    CHECK_INT(lanes->sets, 2);
    fake_device.current = 0;
    CHECK_INT(call(lanes, other, 2, 1), 1);
    /* One context's make way for another's, but there is an end to it. */
    fake_device.current = 2;
    int taken = 0;
    for (; taken < CS_MAX_LANE_SETS && fake_device.streams < DEVICE_STREAMS; taken++) {
        cs_lanes_take(lanes, device, other, 2, &lease[taken]);
        CHECK_INT(lease[taken].lanes, 2);
    }
    struct cs_lanes_lease none;
    cs_lanes_take(lanes, device, other, 2, &none);
    CHECK_INT(none.lanes, 1);
    while (taken > 0)
        cs_lanes_give(lanes, device, &lease[--taken], false);
    CHECK(lanes->sets <= CS_MAX_LANE_SETS);
    check_sound();
}

/* Events alone are made, so that streams do not run out before sets do. */
static int same_stream(void *ctx, void *like, void **stream_p)
{
    (void)ctx;
    *stream_p = like;
    return 0;
}

static void number_of_lane_sets_is_limited(void)
{
    struct cs_lanes *lanes = new_lanes();
    struct cs_device cheap = fake_device_functions;
    struct cs_lanes_lease lease[CS_MAX_LANE_SETS], none, other;
    void *stream = device_new_stream();
    cheap.stream_create = same_stream;
    cs_lanes_take(lanes, &cheap, stream, 2, &other);
    cs_lanes_give(lanes, &cheap, &other, false);
    fake_device.current = 2;
    void *here = device_new_stream();
    for (int i = 0; i < CS_MAX_LANE_SETS; i++) {
        cs_lanes_take(lanes, &cheap, here, 2, &lease[i]);
        CHECK_INT(lease[i].lanes, 2); /* the last one replaces the other context's */
    }
    CHECK_INT(lanes->sets, CS_MAX_LANE_SETS);
    cs_lanes_take(lanes, &cheap, here, 2, &none);
    CHECK_INT(none.lanes, 1);
    CHECK(none.set == NULL && none.stream[0] == here);
    for (int i = 0; i < CS_MAX_LANE_SETS; i++)
        cs_lanes_give(lanes, &cheap, &lease[i], false);
    cs_lanes_take(lanes, &cheap, here, 2, &none);
    CHECK_INT(none.lanes, 2);
    cs_lanes_give(lanes, &cheap, &none, false);
    CHECK_INT(fake_device.misuses, 0);
}

struct traffic {
    struct rng rng;
    struct cs_lanes *lanes;
    void *stream[STREAMS];
    int most; /* lanes */
};

static void step(struct traffic *t)
{
    int i = (int)rng_between(&t->rng, 0, STREAMS - 1);
    fake_device.everything_done = rng_between(&t->rng, 0, 30) == 0;
    if (rng_between(&t->rng, 0, 11) == 0) {
        device_run(t->stream[i]);
        return;
    }
    int had = call(t->lanes, t->stream[i], (int)rng_between(&t->rng, 1, LANES), i);
    t->most = had > t->most ? had : t->most;
    if (had == 0)
        device_synchronize();
}

static struct traffic run_traffic(uint64_t seed, int fail_at, int steps)
{
    struct traffic t = {.rng = {seed}, .lanes = new_lanes()};
    fake_device.fail_at = fail_at;
    for (int i = 0; i < STREAMS; i++)
        t.stream[i] = device_new_stream();
    for (int i = 0; i < steps; i++) {
        step(&t);
        if (fake_device.touches > DEVICE_TOUCHES / 2)
            device_synchronize();
    }
    return t;
}

static void no_traffic_races(void)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct traffic t = run_traffic(seed, 0, STEPS);
        CHECK_INT(t.most, LANES);
        CHECK(t.lanes->sets <= 2 * STREAMS);
        check_sound();
    }
}

static void every_wait_is_needed(void)
{
    struct cs_lanes *lanes;
    void *stream;
    int n = 0;
    do {
        lanes = new_lanes();
        stream = device_new_stream();
        fake_device.skip_wait = ++n;
        CHECK_INT(call(lanes, stream, LANES, 0), LANES);
        CHECK_INT(fake_device.races > 0, n <= fake_device.waits);
        CHECK_INT(fake_device.waits, 2 * (LANES - 1));
    } while (n <= fake_device.waits);
}

/* After any single failure: no race, no misuse, and lanes are available again. */
static void no_failure_breaks_the_pool(void)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        for (int n = 1;; n++) {
            struct traffic t = run_traffic(seed, n, 60);
            check_sound();
            if (fake_device.calls < n)
                break;
            device_synchronize();
            for (int i = 0; i < STREAMS; i++)
                CHECK_INT(call(t.lanes, t.stream[i], LANES, i), LANES);
            check_sound();
        }
}

struct worker {
    struct cs_lanes *lanes;
    void *stream;
    int client, served;
};

static void *call_often(void *arg)
{
    struct worker *w = arg;
    for (int i = 0; i < CALLS; i++) {
        w->served += call(w->lanes, w->stream, 2 + i % 2, w->client) >= 2;
        if (i % 16 == 0)
            device_run(w->stream);
    }
    return NULL;
}

static void threads_share(void)
{
    struct cs_lanes *lanes = new_lanes();
    struct worker worker[THREADS];
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        worker[i] = (struct worker){lanes, device_new_stream(), i, 0};
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&thread[i], NULL, call_often, &worker[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        CHECK_INT(worker[i].served, CALLS);
    }
    /* One for each stream, and few more: a thread whose own set is being examined by another thread
     * makes a new one. */
    CHECK(lanes->sets <= 2 * THREADS);
    check_sound();
}

static long long taken_before; /* memory, when there were no lanes */

static void all_memory_is_freed(void)
{
    (void)new_lanes();
    CHECK_INT(heap_taken - taken_before, 0);
}

int main(void)
{
    heap_watch();
    TEST(made_once);
    (void)new_lanes();
    taken_before = heap_taken;
    TEST(streams_are_not_ordered_after_each_other);
    TEST(lanes_are_free_when_all_of_them_are_over);
    TEST(few_sets_are_queried);
    TEST(the_fourth_set_may_be_taken);
    TEST(concurrent_calls_share_no_lanes);
    TEST(reused_handle_is_another_stream);
    TEST(confined_stream_gets_no_lanes);
    TEST(broken_lanes);
    TEST(forked_lanes_alone_are_joined);
    TEST(all_are_joined_that_can_be);
    TEST(each_context_has_its_own_lanes);
    TEST(number_of_lane_sets_is_limited);
    TEST(no_traffic_races);
    TEST(every_wait_is_needed);
    TEST(no_failure_breaks_the_pool);
    TEST(all_memory_is_freed);
    TEST(threads_share);
    (void)new_lanes();
    return REPORT();
}
