/* Policy peak: passes, and what one run tells the next. */
#include "flow/peak.h"

#include "check.h"
#include "decide/pass.h"
#include "fake_vendor.h"
#include "flow/flow.h"
#include <unistd.h>

enum {
    PROGRAM = 4711,
    LAYERS = 3
};

static char path[300];

/* A process: rooms and store anew. */
struct process {
    struct cs_store store;
    struct cs_peak peak;
};

static struct process process;

static void start(uint64_t program)
{
    memset(&process, 0, sizeof process);
    cs_store_init(&process.store, path);
    cs_peak_init(&process.peak, true, program);
}

static void end(void)
{
    cs_peak_end(&process.peak, &process.store);
    cs_store_fini(&process.store);
}

/* A small, a large and a small layer, and what is reported for each. */
static struct cs_problem problem[LAYERS];
static int64_t reported[LAYERS] = {1000, 5000, 1000};

static void make_layers(void)
{
    problem[0] = same(1, 8, 1, 16, 16, 8);
    problem[1] = same(1, 8, 1, 64, 64, 8);
    problem[2] = same(1, 8, 1, 16, 16, 16);
}

static struct cs_peak_name name_of(int layer, int engine)
{
    const struct cs_vendor vendor = {.ctx = NULL};
    const struct cs_request request = {
        .problem = problem[layer], .engine = {.index = engine}, .required = 100000};
    return cs_peak_name(&request, &vendor);
}

static void call_layer(int layer, int engine, uintptr_t filter)
{
    const struct cs_addresses at = {.tensor = {(void *)0x100000, (void *)filter, (void *)0x200000}};
    cs_peak_note(&process.peak, &process.store, name_of(layer, engine), reported[layer],
                 &problem[layer], &at);
}

static void run_pass(void)
{
    for (int i = 0; i < LAYERS; i++)
        call_layer(i, 0, 0x1000 * (uintptr_t)(i + 1));
}

static int64_t room_of(int layer)
{
    return cs_peak_room(&process.peak, &process.store, name_of(layer, 0));
}

static int64_t bytes_of(int layer)
{
    int64_t x = 0, y = 0;
    CHECK_INT(cs_problem_tensor_bytes(&problem[layer].tensor[CS_X], &x), CS_OK);
    CHECK_INT(cs_problem_tensor_bytes(&problem[layer].tensor[CS_Y], &y), CS_OK);
    return x + y;
}

static int64_t model_of(void *ctx)
{
    return *(const int64_t *)ctx;
}

/* What makes another site: each part of the request, and the model of the device. */
static void names_differ_by_all_that_counts(void)
{
    static int64_t models[] = {1, 2};
    const struct cs_vendor vendor = {.ctx = &models[0], .model = model_of},
                           other = {.ctx = &models[1], .model = model_of};
    const struct cs_request request = {
        .problem = problem[0], .engine = {.index = 1}, .required = 100000, .limit = 5000};
    struct cs_request another = request;
    uint64_t site = cs_peak_name(&request, &vendor).site;
    CHECK(cs_peak_name(&request, &vendor).site == site);
    CHECK(cs_peak_name(&request, &other).site != site);
    another.required++;
    CHECK(cs_peak_name(&another, &vendor).site != site);
    another = request;
    another.limit++;
    CHECK(cs_peak_name(&another, &vendor).site != site);
    another = request;
    another.engine.index++;
    CHECK(cs_peak_name(&another, &vendor).site != site);
    CHECK(cs_peak_name(&another, &vendor).problem == cs_peak_name(&request, &vendor).problem);
}

/* Nothing in the first run; in the second what the pass has shown, and it stays so. */
static void the_next_run_knows(void)
{
    unlink(path);
    start(PROGRAM);
    for (int i = 0; i < LAYERS; i++)
        CHECK_INT(room_of(i), CS_PEAK_NEW);
    run_pass();
    run_pass();
    for (int i = 0; i < LAYERS; i++)
        CHECK_INT(room_of(i), CS_PEAK_NEW);
    CHECK_INT(cs_peak_earlier(&process.peak), 0);
    end();
    start(PROGRAM);
    int64_t level = bytes_of(1) + reported[1];
    CHECK_INT(room_of(0), level - bytes_of(0) - bytes_of(0) / 2);
    CHECK_INT(room_of(1), 0);
    CHECK(room_of(2) > 0 && room_of(2) < room_of(0));
    CHECK_INT(cs_peak_earlier(&process.peak), LAYERS);
    int64_t kept = room_of(0);
    reported[1] = 1;
    run_pass();
    end();
    reported[1] = 5000;
    start(PROGRAM);
    CHECK_INT(room_of(0), kept);
    end();
}

/* What a pass shows later than that is of memory that has been in use for long. */
static void only_the_first_passes_of_a_kind_are_looked_at(void)
{
    unlink(path);
    start(PROGRAM);
    run_pass();
    run_pass();
    end();
    start(PROGRAM);
    int64_t kept = room_of(0);
    end();
    unlink(path);
    start(PROGRAM);
    run_pass();
    run_pass();
    for (int i = 0; i < 3; i++) {
        run_pass();
        reported[1] = 1;
    }
    end();
    reported[1] = 5000;
    start(PROGRAM);
    CHECK_INT(room_of(0), kept);
    end();
}

/* Passes of images of ever new sizes: those of the first 64 sizes are looked at. */
static void passes_of_too_many_kinds_are_left_alone(void)
{
    unlink(path);
    start(PROGRAM);
    for (int size = 0; size < 66; size++) {
        problem[1] = same(1, 8, 1, 64 + size, 64, 8);
        run_pass();
    }
    end();
    start(PROGRAM);
    for (int size = 0; size < 66; size++) {
        problem[1] = same(1, 8, 1, 64 + size, 64, 8);
        CHECK_INT(room_of(1) == CS_PEAK_NEW, size >= 64);
    }
    end();
    make_layers();
}

static void others_know_nothing(void)
{
    const struct cs_vendor vendor = {.ctx = NULL};
    start(PROGRAM + 1);
    CHECK_INT(room_of(0), CS_PEAK_NEW);
    end();
    start(PROGRAM);
    CHECK_INT(cs_peak_room(&process.peak, &process.store, name_of(0, 7)), CS_PEAK_NEW);
    struct cs_request request = {.problem = problem[0], .required = 100001};
    CHECK_INT(cs_peak_room(&process.peak, &process.store, cs_peak_name(&request, &vendor)),
              CS_PEAK_NEW);
    end();
}

/* Of two passes that a site is in the one with less room counts, also if it comes later. */
static void the_least_room_counts(void)
{
    unlink(path);
    start(PROGRAM);
    run_pass();
    call_layer(0, 0, 0x1000);
    call_layer(0, 0, 0x9000);
    end();
    start(PROGRAM);
    CHECK_INT(room_of(0), 0);
    CHECK(room_of(2) > 0);
    end();
}

/* A pass of other problems lowers what is known of those that they share: not at once, but in the
 * next run. */
static void another_pass_lowers_it(void)
{
    unlink(path);
    start(PROGRAM);
    run_pass();
    end();
    start(PROGRAM);
    int64_t kept = room_of(0);
    CHECK(kept > 0);
    call_layer(0, 0, 0x1000);
    call_layer(2, 0, 0x3000);
    call_layer(0, 0, 0x1000);
    CHECK_INT(room_of(0), kept);
    end();
    start(PROGRAM);
    CHECK(room_of(0) < kept);
    CHECK_INT(cs_peak_earlier(&process.peak), LAYERS);
    end();
}

/* What a site was given more than fit takes is no measure of what others may have. */
static void what_was_given_is_no_level(void)
{
    const int64_t large = INT64_C(1) << 40;
    unlink(path);
    start(PROGRAM);
    reported[1] = large;
    run_pass();
    end();
    start(PROGRAM);
    CHECK(room_of(0) > large / 2);
    end();
    start(PROGRAM); /* which is not asked for rooms first, as by a program whose plans are kept */
    reported[0] = large; /* it has taken the room */
    call_layer(0, 0, 0x1000);
    call_layer(2, 0, 0x3000);
    end();
    start(PROGRAM);
    CHECK(room_of(0) < large / 2);
    end();
    reported[0] = 1000;
    reported[1] = 5000;
}

/* A layer whose engines are compared is one call, that of the last engine. */
static void engines_that_are_compared(void)
{
    const int64_t alone = reported[0];
    unlink(path);
    start(PROGRAM);
    run_pass();
    end();
    start(PROGRAM);
    const int64_t room = room_of(2);
    end();
    unlink(path);
    start(PROGRAM);
    for (int engine = 5; engine >= 0; engine--)
        for (int again = 0; again < 3; again++) {
            reported[0] = engine > 0 ? alone + (1 << 30) : alone;
            call_layer(0, engine, 0x1000);
        }
    call_layer(1, 0, 0x2000);
    call_layer(2, 0, 0x3000);
    CHECK_INT(process.peak.sites, 0); /* it was no pass yet */
    end();
    start(PROGRAM);
    CHECK(room_of(0) > 0);
    CHECK_INT(room_of(2), room);
    CHECK_INT(cs_peak_room(&process.peak, &process.store, name_of(0, 3)), CS_PEAK_NEW);
    end();
}

/* Of a pass that is too long nothing is remembered; of the next one it is. */
static void too_long_a_pass(void)
{
    unlink(path);
    start(PROGRAM);
    for (int i = 0; i <= CS_PASS_CALLS; i++)
        call_layer(i % 2, 0, 0x10000 + 0x100 * (uintptr_t)i);
    call_layer(0, 0, 0x10000);
    CHECK_INT(process.peak.sites, 0);
    call_layer(1, 0, 0x10100);
    end();
    start(PROGRAM);
    CHECK(room_of(0) > 0);
    end();
}

/* Words that are no rooms are passed over. */
static void foreign_records(void)
{
    unlink(path);
    start(PROGRAM);
    run_pass();
    end();
    cs_store_init(&process.store, path);
    struct cs_store_record record = {.words = 2, .word = {(int64_t)name_of(0, 0).site, -5}};
    record.key = cs_store_key(record.word, 2);
    const int64_t whose[] = {1, PROGRAM};
    record.key.part[0] = cs_store_key(whose, 2).part[0];
    cs_store_put(&process.store, &record);
    record.words = 3;
    record.key.part[1]++;
    cs_store_put(&process.store, &record);
    cs_store_fini(&process.store);
    start(PROGRAM);
    CHECK(room_of(0) > 0);
    CHECK_INT(cs_peak_earlier(&process.peak), LAYERS);
    end();
}

/* A room of a layer, as an earlier run has left it. */
static void put_room(int layer, int64_t room, uint64_t number)
{
    const int64_t whose[] = {1, PROGRAM};
    struct cs_store_record record = {.words = 2, .word = {(int64_t)name_of(layer, 0).site, room}};
    record.key = (struct cs_store_key){{cs_store_key(whose, 2).part[0], number}};
    cs_store_put(&process.store, &record);
}

/* In whichever order they stand. */
static void of_several_records_the_least_counts(void)
{
    static const int64_t orders[][3] = {{50, 60, 70}, {50, 70, 60}, {60, 50, 70},
                                        {60, 70, 50}, {70, 50, 60}, {70, 60, 50}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        unlink(path);
        start(PROGRAM);
        for (uint64_t k = 0; k < 3; k++)
            put_room(0, orders[i][k], k);
        put_room(1, CS_PEAK_PASS, 3);
        put_room(2, CS_PEAK_PASS - 1, 4);
        CHECK_INT(room_of(0), 50);
        CHECK_INT(room_of(1), CS_PEAK_PASS);
        CHECK_INT(room_of(2), CS_PEAK_NEW);
        CHECK_INT(process.peak.sites, 2);
        cs_store_fini(&process.store);
    }
}

/* Where there is no place for more sites, those that are known may still be lowered. */
static void there_are_no_more_sites_than_so_many(void)
{
    for (int left = 0; left <= 1; left++) {
        unlink(path);
        start(PROGRAM);
        put_room(0, INT64_C(1) << 50, 1);
        CHECK_INT(room_of(0), INT64_C(1) << 50);
        for (int i = 1; i < CS_PEAK_SITES - left; i++)
            process.peak.site[i] =
                (struct cs_peak_site){.site = (uint64_t)i, .room = 7, .given = CS_PEAK_NEW};
        process.peak.sites = CS_PEAK_SITES - left;
        process.peak.site[0].given = CS_PEAK_NEW; /* a later run's pass may lower it */
        run_pass();
        cs_peak_end(&process.peak, &process.store);
        CHECK_INT(process.peak.sites, CS_PEAK_SITES);
        CHECK(process.peak.site[0].room < INT64_C(1) << 50);
        for (int i = 1; i < CS_PEAK_SITES - left; i++)
            CHECK(process.peak.site[i].room == 7);
        cs_store_fini(&process.store);
    }
}

static void ask_room(void)
{
    (void)room_of(0);
}

static void ask_earlier(void)
{
    (void)cs_peak_earlier(&process.peak);
}

static void call_one(void)
{
    call_layer(0, 0, 0x1000);
}

static void end_it(void)
{
    cs_peak_end(&process.peak, &process.store);
}

/* A thread that says that it holds what comes last breaks the order with every lock that it takes:
 * this one's, and the store's where that is read. */
static void what_is_shared_is_locked(void)
{
    static const struct {
        void (*does)(void);
        int locks;
    } rows[] = {{ask_room, 2}, {ask_room, 1}, {ask_earlier, 1}, {call_one, 1}};
    unlink(path);
    start(PROGRAM);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int before = cs_lock_faults();
        cs_locks_held = 1U << CS_RANK_TRACE;
        rows[i].does();
        cs_locks_held = 0;
        CHECK_INT(cs_lock_faults() - before, rows[i].locks);
        CHECK_INT(pthread_mutex_trylock(&process.peak.lock.mutex), 0);
        pthread_mutex_unlock(&process.peak.lock.mutex);
    }
    const int before = cs_lock_faults();
    cs_locks_held = 1U << CS_RANK_TRACE;
    end_it(); /* and what there is to remember, site by site */
    cs_locks_held = 0;
    CHECK(cs_lock_faults() - before > 3);
    cs_store_fini(&process.store);
}

int main(void)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.200s/convshim-peak-%d", temporary ? temporary : "/tmp",
             (int)getpid());
    make_layers();
    TEST(names_differ_by_all_that_counts);
    TEST(the_next_run_knows);
    TEST(only_the_first_passes_of_a_kind_are_looked_at);
    TEST(passes_of_too_many_kinds_are_left_alone);
    TEST(others_know_nothing);
    TEST(the_least_room_counts);
    TEST(another_pass_lowers_it);
    TEST(what_was_given_is_no_level);
    TEST(engines_that_are_compared);
    TEST(too_long_a_pass);
    TEST(foreign_records);
    TEST(of_several_records_the_least_counts);
    TEST(there_are_no_more_sites_than_so_many);
    TEST(what_is_shared_is_locked);
    unlink(path);
    return REPORT();
}
