/* Policy measure on a vendor that reports the time of a plan: the contenders, the choice, the
 * stored record, and the result if no time can be measured. */
#include "base/log.h"
#include "check.h"
#include "fake_vendor.h"
#include "file_contents.h"
#include "flow/flow.h"
#include "flow/measure.h"
#include <math.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    RANDOM = 400,
    SEED = 20268
};

static char path[300];
static struct fake fake;

/* Times that the vendor reports for plans cut along each axis, and the number of its calls. */
static double seconds_of[CS_AXES];
static int timed, refuses_from; /* the call, from 1; 0: none */
static int64_t model_number;
static int64_t most_limit;
static bool later_is_faster; /* for each plan */
static struct cs_store
    *other_store; /* written by another thread during the measurement; may be NULL */
static struct cs_store_record other_record;

static enum cs_status fake_time(void *ctx, const struct cs_plan *plan, int64_t limit,
                                double *seconds_p)
{
    CHECK(ctx == &fake);
    timed++;
    most_limit = limit;
    if (other_store)
        cs_store_put(other_store, &other_record);
    if (refuses_from > 0 && timed >= refuses_from)
        return CS_REFUSED;
    *seconds_p = later_is_faster ? 1.0 / timed : seconds_of[plan->cut[0].axis];
    return CS_OK;
}

static int64_t fake_model(void *ctx)
{
    CHECK(ctx == &fake);
    return model_number;
}

static struct cs_vendor vendor_of(void)
{
    return (struct cs_vendor){.ctx = &fake,
                              .compiles = fake.compiles,
                              .build = fake_build,
                              .fallback = fake_fallback,
                              .destroy = fake_destroy,
                              .time = fake_time,
                              .model = fake_model};
}

/* A volume that is cut along N, D or H; along N the least halo. */
static struct cs_request volume(void)
{
    struct cs_request request = {.problem = same(4, 16, 8, 64, 64, 16), .engine = {.index = 5}};
    request.required = formula(&fake, &request.problem);
    return request;
}

static struct cs_limits limits_of(const struct cs_request *request)
{
    return (struct cs_limits){.workspace = request->required / 3, .threshold = -1, .lanes = 1};
}

static struct cs_decision measured(struct cs_store *store, const struct cs_request *request,
                                   const struct cs_limits *limits)
{
    const struct cs_vendor vendor = vendor_of();
    struct cs_measure measure = {store, request, &vendor, limits};
    const struct cs_referee referee = cs_measure_referee(&measure);
    timed = 0;
    struct cs_decision decision = cs_decide_judged(
        &request->problem, request->required, cs_policy_find("measure"), limits, &vendor, &referee);
    CHECK_INT(fake.live, 0);
    return decision;
}

static enum cs_axis axis_of(struct cs_store *store, const struct cs_request *request)
{
    struct cs_limits limits = limits_of(request);
    struct cs_decision decision = measured(store, request, &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    check_true(&fake, &request->problem, &decision);
    return decision.tiling.axis[0];
}

/* No file, and a vendor on which the way that costs most is the fastest. */
static void fresh(struct cs_store *store)
{
    unlink(path);
    cs_store_init(store, path);
    fake = vae_vendor();
    fake.fixed = 1024;
    for (int i = 0; i < CS_AXES; i++)
        seconds_of[i] = 5e-3;
    seconds_of[CS_AXIS_N] = 3e-3;
    seconds_of[CS_AXIS_D] = 2e-3;
    seconds_of[CS_AXIS_H] = 1e-3;
    refuses_from = 0;
    model_number = 90;
}

static void the_fastest_wins(void)
{
    static const enum cs_axis axes[] = {CS_AXIS_N, CS_AXIS_D, CS_AXIS_H};
    struct cs_store store;
    for (int i = 0; i < 3; i++) {
        fresh(&store);
        struct cs_request request = volume();
        seconds_of[axes[i]] = 1e-4;
        CHECK_INT(axis_of(&store, &request), axes[i]);
        CHECK_INT(timed, 4);
        CHECK(most_limit >= request.required && most_limit <= 2 * request.required + 16 * MIB);
        cs_store_fini(&store);
    }
}

/* One line for each timed tiling: its cut, tiles, streams and time. */
static void each_measurement_is_logged(void)
{
    static char log[600];
    struct cs_store store;
    fresh(&store);
    const struct cs_request request = volume();
    snprintf(log, sizeof log, "%s.log", path);
    cs_log_open(CS_LOG_DEBUG, log);
    CHECK_INT(axis_of(&store, &request), CS_AXIS_H);
    const char *text = contents(log);
    int lines = 0;
    for (const char *at = text; (at = strstr(at, "]: measured: ")); at++)
        lines++;
    CHECK_INT(lines, 4);
    CHECK(strstr(text, " on 1, 3.000 ms\n") && strstr(text, " on 1, 1.000 ms\n"));
    cs_log_open(CS_LOG_WARN, "");
    unlink(log);
    cs_store_fini(&store);
}

static void without_a_referee_the_policy_decides(void)
{
    struct cs_store store;
    fresh(&store);
    struct cs_request request = volume();
    struct cs_limits limits = limits_of(&request);
    const struct cs_vendor vendor = vendor_of();
    struct cs_decision a =
        cs_decide(&request.problem, request.required, cs_policy_find("measure"), &limits, &vendor);
    struct cs_decision b =
        cs_decide(&request.problem, request.required, cs_policy_find("fit"), &limits, &vendor);
    CHECK(a.tiling.axis[0] == b.tiling.axis[0] && a.tiling.step[0] == b.tiling.step[0]);
    CHECK_INT(a.tiling.axis[0], CS_AXIS_N);
    cs_store_fini(&store);
}

/* A later process decides alike and measures nothing. */
static void remembered(void)
{
    struct cs_store store, later;
    fresh(&store);
    struct cs_request request = volume();
    CHECK_INT(axis_of(&store, &request), CS_AXIS_H);
    seconds_of[CS_AXIS_N] = 1e-9;
    CHECK_INT(axis_of(&store, &request), CS_AXIS_H);
    CHECK_INT(timed, 0);
    cs_store_init(&later, path);
    CHECK_INT(axis_of(&later, &request), CS_AXIS_H);
    CHECK_INT(timed, 0);
    cs_store_fini(&later);
    cs_store_fini(&store);
}

static void measured_anew(struct cs_store *store, const struct cs_request *request,
                          const struct cs_limits *limits)
{
    measured(store, request, limits);
    CHECK(timed > 0);
    measured(store, request, limits);
    CHECK_INT(timed, 0);
}

/* Each input of a measurement is part of the key of its record. */
static void each_input_is_part_of_the_key(void)
{
    struct cs_store store;
    fresh(&store);
    struct cs_request request = volume();
    struct cs_limits limits = limits_of(&request);
    measured_anew(&store, &request, &limits);
    model_number++;
    measured_anew(&store, &request, &limits);
    request.engine.index++;
    measured_anew(&store, &request, &limits);
    limits.workspace += 4096;
    measured_anew(&store, &request, &limits);
    request.required += 4096;
    measured_anew(&store, &request, &limits);
    request.problem.tensor[CS_X].alignment = request.problem.tensor[CS_Y].alignment = 8;
    measured_anew(&store, &request, &limits);
    request.scope++; /* a handle's, which other processes do not have */
    measured(&store, &request, &limits);
    CHECK_INT(timed, 0);
    cs_store_fini(&store);
}

/* If the GPU cannot be queried, the policy's own choice holds for this process and is not written,
 * because the next process may succeed. */
static void not_measured(void)
{
    struct cs_store store, later;
    for (int from = 1; from <= 3; from++) {
        fresh(&store);
        struct cs_request request = volume();
        refuses_from = from;
        CHECK_INT(axis_of(&store, &request), CS_AXIS_N);
        CHECK_INT(timed, from);
        refuses_from = 0;
        CHECK_INT(axis_of(&store, &request), CS_AXIS_N);
        CHECK_INT(timed, 0);
        cs_store_init(&later, path);
        CHECK_INT(axis_of(&later, &request), CS_AXIS_H);
        CHECK_INT(timed, 4);
        cs_store_fini(&later);
        CHECK_INT(axis_of(&store, &request), CS_AXIS_N);
        cs_store_fini(&store);
    }
}

static void not_asked(void)
{
    struct cs_store store;
    fresh(&store);
    struct cs_request request = volume();
    model_number = 0;
    CHECK_INT(axis_of(&store, &request), CS_AXIS_N);
    CHECK_INT(timed, 0);
    model_number = 90;
    fake.compiles = true;
    axis_of(&store, &request);
    CHECK_INT(timed, 0);
    CHECK(access(path, F_OK) != 0);
    cs_store_fini(&store);
}

static void invalid_times_are_ignored(void)
{
    static const double odd[] = {NAN, -1, INFINITY, -INFINITY};
    struct cs_store store;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        fresh(&store);
        struct cs_request request = volume();
        seconds_of[CS_AXIS_H] = odd[i];
        CHECK_INT(axis_of(&store, &request), CS_AXIS_N);
        CHECK(access(path, F_OK) != 0);
        cs_store_fini(&store);
    }
}

/* The key of the only record of the file. */
static struct cs_store_key key_in_file(void)
{
    static char text[4096];
    unsigned long long part[2] = {0};
    FILE *file = fopen(path, "r");
    CHECK(file && fread(text, 1, sizeof text - 1, file) > 40);
    CHECK_INT(sscanf(strchr(text, '\n') + 2, "%16llx%16llx", &part[0], &part[1]), 2);
    fclose(file);
    return (struct cs_store_key){{part[0], part[1]}};
}

/* A record with the right key that matches no contender. */
static struct cs_store_record record_of_nobody(const struct cs_request *request)
{
    struct cs_store_record record = {.words = 6, .word = {77, 1, 0, 1, 1, 5}};
    struct cs_store store;
    fresh(&store);
    CHECK_INT(axis_of(&store, request), CS_AXIS_H);
    cs_store_fini(&store);
    record.key = key_in_file();
    unlink(path);
    return record;
}

static void record_that_matches_no_contender_is_ignored(void)
{
    struct cs_store store;
    const struct cs_request request = volume();
    const struct cs_store_record record = record_of_nobody(&request);
    cs_store_init(&store, path);
    cs_store_put(&store, &record);
    CHECK_INT(axis_of(&store, &request), CS_AXIS_N);
    CHECK_INT(timed, 0);
    cs_store_fini(&store);
}

/* The record that is stored if the cut along an axis is the fastest. */
static struct cs_store_record record_of(const struct cs_request *request, enum cs_axis axis)
{
    struct cs_store_record record = {.words = 0};
    struct cs_store store;
    fresh(&store);
    seconds_of[axis] = 1e-4;
    CHECK_INT(axis_of(&store, request), axis);
    CHECK(cs_store_get(&store, key_in_file(), &record));
    cs_store_fini(&store);
    return record;
}

/* A record is written while the contenders are timed: the contender that it names stays the
 * fastest. If it names none, the measured one is used, and without a measurement the policy's own.
 */
static void record_written_during_a_measurement_is_used(void)
{
    static const struct {
        enum cs_axis other, fastest; /* CS_AXES: no contender */
        bool refused;
    } rows[] = {{CS_AXES, CS_AXIS_H, false},   {CS_AXES, CS_AXIS_N, true},
                {CS_AXIS_N, CS_AXIS_N, false}, {CS_AXIS_N, CS_AXIS_N, true},
                {CS_AXIS_D, CS_AXIS_D, false}, {CS_AXIS_D, CS_AXIS_D, true},
                {CS_AXIS_H, CS_AXIS_H, true}};
    fake = vae_vendor();
    fake.fixed = 1024;
    const struct cs_request request = volume();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_store store;
        other_record = rows[i].other == CS_AXES ? record_of_nobody(&request)
                                                : record_of(&request, rows[i].other);
        fresh(&store);
        refuses_from = rows[i].refused ? 1 : 0;
        other_store = &store;
        CHECK_INT(axis_of(&store, &request), rows[i].fastest);
        CHECK_INT(timed, rows[i].refused ? 1 : 4);
        other_store = NULL;
        cs_store_fini(&store);
    }
}

/* Tilings that differ in one property are separate contenders: each pair is measured separately,
 * and the record names the right one. */
static void tilings_that_differ_in_one_property_are_separate(void)
{
    static const struct cs_tiling tiling[] = {
        {.axis = {CS_AXIS_H}, .step = {16, 1}},
        {.axis = {CS_AXIS_D}, .step = {4, 1}},
        {.axis = {CS_AXIS_H}, .step = {15, 1}},
        {.axis = {CS_AXIS_N, CS_AXIS_H}, .step = {1, 16}},
        {.axis = {CS_AXIS_N, CS_AXIS_D}, .step = {1, 4}},
        {.axis = {CS_AXIS_N, CS_AXIS_H}, .step = {1, 4}},
        {.axis = {CS_AXIS_N, CS_AXIS_H}, .step = {1, 32}},
        {.axis = {CS_AXIS_N, CS_AXIS_H}, .step = {2, 16}},
        {.axis = {CS_AXIS_H}, .step = {16, 1}, .lanes = 2},
        {.axis = {CS_AXIS_H}, .step = {16, 1}, .lanes = 3},
        {.axis = {CS_AXIS_H}, .step = {16, 1}, .relaxation = CS_DEFAULT_KNOBS},
        {.axis = {CS_AXIS_H}, .step = {16, 1}, .relaxation = CS_SIMILAR_ENGINE},
        {.axis = {CS_AXIS_H}, .step = {16, 1}, .equal_padding = true},
        {.axis = {CS_AXIS_H}, .step = {16, 1}, .staged = true},
        {.axis = {CS_AXIS_H}, .step = {16, 1}, .runs = 1, .run = {{20, 1, CS_SAME_KNOBS}}},
        {.axis = {CS_AXIS_H}, .step = {16, 1}, .runs = 1, .run = {{20, 2, CS_SAME_KNOBS}}},
        {.axis = {CS_AXIS_H}, .step = {16, 1}, .runs = 1, .run = {{24, 1, CS_SAME_KNOBS}}},
        {.axis = {CS_AXIS_H}, .step = {16, 1}, .runs = 1, .run = {{20, 1, CS_DEFAULT_KNOBS}}},
    };
    enum {
        TILINGS = sizeof tiling / sizeof *tiling
    };
    struct cs_store store;
    fresh(&store);
    struct cs_request request = volume();
    const struct cs_limits limits = limits_of(&request);
    const struct cs_vendor vendor = vendor_of();
    struct cs_measure measure = {&store, &request, &vendor, &limits};
    const struct cs_referee referee = cs_measure_referee(&measure);
    for (int again = 0; again < 2; again++)
        for (int i = 0; i < TILINGS; i++)
            for (int j = 0; j < TILINGS; j++) {
                const struct cs_candidate a = {.tiling = tiling[i]}, b = {.tiling = tiling[j]};
                const struct cs_candidate *const both[] = {&a, &b};
                if (i == j)
                    continue;
                timed = 0;
                later_is_faster = true;
                CHECK_INT(referee.choose(referee.ctx, both, 2), 1);
                CHECK_INT(timed, again ? 0 : 2);
            }
    later_is_faster = false;
    cs_store_fini(&store);
}

/* Plans are timed on one stream; on several lanes a call takes a fifth less. */
static void tiles_on_lanes_are_faster_than_timed(void)
{
    static const struct {
        double seconds;
        int lanes, faster;
    } rows[] = {{1.2e-3, 1, 0}, {1.2e-3, 2, 1}, {1.2e-3, 3, 1}, {1.3e-3, 2, 0}, {0.9e-3, 1, 1}};
    struct cs_store store;
    struct cs_request request = volume();
    const struct cs_limits limits = limits_of(&request);
    const struct cs_vendor vendor = vendor_of();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fresh(&store);
        struct cs_measure measure = {&store, &request, &vendor, &limits};
        const struct cs_referee referee = cs_measure_referee(&measure);
        const struct cs_candidate one = {.tiling = {.axis = {CS_AXIS_H}, .step = {16, 1}}},
                                  other = {.tiling = {.axis = {CS_AXIS_D},
                                                      .step = {4, 1},
                                                      .lanes = rows[i].lanes}};
        const struct cs_candidate *const both[] = {&one, &other};
        seconds_of[CS_AXIS_D] = rows[i].seconds;
        CHECK_INT(referee.choose(referee.ctx, both, 2), rows[i].faster);
        cs_store_fini(&store);
    }
}

/* Who was called before a referee. */
struct seen {
    const struct cs_candidate *contender[CS_MAX_CONTENDERS];
    int count;
};

static int look(void *ctx, const struct cs_candidate *const contender[], int count)
{
    struct seen *seen = ctx;
    CHECK(count > 1 && count <= CS_MAX_CONTENDERS);
    memcpy(seen->contender, contender, (size_t)count * sizeof *contender);
    seen->count = count;
    return count - 1;
}

/* The contenders of a policy that requests `most` of them. The last of several is chosen, and a
 * single one without a query. */
static void see(const struct cs_shortlist *list, const struct cs_limits *limits, int most,
                struct seen *seen)
{
    static const struct cs_candidate own = {.tiling = {.axis = {CS_AXIS_N}}};
    struct cs_policy policy = *cs_policy_find("fit");
    const struct cs_referee referee = {seen, look};
    policy.contenders = most;
    seen->count = 0;
    const struct cs_candidate *chosen = cs_contest(list, &policy, limits, &referee, &own);
    if (seen->count > 0)
        CHECK(chosen == seen->contender[seen->count - 1]);
    else if (chosen != &own)
        seen->contender[seen->count++] = chosen;
}

/* The best of each kind of cut, in order. The first is the policy's own choice. */
static void contenders(void)
{
    static struct cs_shortlist list;
    struct rng rng = {SEED};
    const struct cs_policy *fit = cs_policy_find("fit");
    const struct cs_limits limits = {.workspace = 1000};
    int several = 0;
    for (int turn = 0; turn < RANDOM; turn++) {
        struct seen seen = {.count = 0};
        list.count = (int)rng_between(&rng, 1, 20);
        for (int i = 0; i < list.count; i++)
            list.candidate[i] = (struct cs_candidate){
                .tiling = {.axis = {i ? (enum cs_axis)rng_between(&rng, CS_AXIS_N, CS_AXIS_C) : 0,
                                    i && rng_between(&rng, 0, 4) == 0 ? CS_AXIS_W : 0},
                           .lanes = (int)rng_between(&rng, 0, 2)},
                .tiles = i ? rng_between(&rng, 2, 9) : 1,
                .workspace = i ? rng_between(&rng, 500, 1200) : 5000};
        int most = (int)rng_between(&rng, 2, 10);
        see(&list, &limits, most, &seen);
        int count = seen.count;
        CHECK(count <= most && count <= CS_MAX_CONTENDERS);
        several += count > 2;
        for (int i = 0; i < count; i++) {
            double cost = fit->cost(seen.contender[i], &limits);
            CHECK(isfinite(cost) && seen.contender[i]->tiling.axis[0] != CS_AXIS_NONE);
            CHECK(i == 0 || fit->cost(seen.contender[i - 1], &limits) <= cost);
        }
        /* The list is complete: a better candidate than the last is in it, or another of its kind
         * of cut is. */
        for (int i = 1; i < list.count; i++) {
            const struct cs_candidate *one = &list.candidate[i];
            double cost = fit->cost(one, &limits);
            bool met = false;
            for (int j = 0; j < count; j++)
                met |= seen.contender[j]->tiling.axis[0] == one->tiling.axis[0] &&
                       seen.contender[j]->tiling.axis[1] == one->tiling.axis[1] &&
                       (seen.contender[j]->tiling.lanes > 1) == (one->tiling.lanes > 1) &&
                       fit->cost(seen.contender[j], &limits) <= cost;
            bool full = count == most || count == CS_MAX_CONTENDERS;
            CHECK(met || !isfinite(cost) ||
                  (full && cost >= fit->cost(seen.contender[count - 1], &limits)));
        }
    }
    CHECK(several > RANDOM / 4);
}

struct turn {
    struct cs_store *store;
    enum cs_axis axis;
    pthread_barrier_t *meet;
};

static int64_t some_model(void *ctx)
{
    (void)ctx;
    return 1;
}

/* Each thread's measurement has another result. */
static enum cs_status time_differently(void *ctx, const struct cs_plan *plan, int64_t limit,
                                       double *seconds_p)
{
    struct turn *turn = ctx;
    (void)limit;
    if (plan->cut[0].axis == CS_AXIS_N)
        pthread_barrier_wait(turn->meet); /* all have found nothing remembered */
    *seconds_p = plan->cut[0].axis == turn->axis ? 1e-3 : 2e-3;
    return CS_OK;
}

static void *contest(void *arg)
{
    struct turn *turn = arg;
    struct cs_request request = {.problem = same(4, 16, 8, 64, 64, 16), .required = 900};
    struct cs_limits limits = {.workspace = 100};
    struct cs_candidate candidate[3] = {{.tiling = {{CS_AXIS_N}, {1, 1}, 1}},
                                        {.tiling = {{CS_AXIS_D}, {1, 1}, 1}},
                                        {.tiling = {{CS_AXIS_H}, {8, 1}, 1}}};
    const struct cs_candidate *const contender[] = {&candidate[0], &candidate[1], &candidate[2]};
    struct cs_vendor vendor = {.ctx = turn, .time = time_differently, .model = some_model};
    struct cs_measure measure = {turn->store, &request, &vendor, &limits};
    struct cs_referee referee = cs_measure_referee(&measure);
    return (void *)(intptr_t)(1 + referee.choose(referee.ctx, contender, 3));
}

/* Threads that measure at the same time and see different times give one answer. */
static void one_answer(void)
{
    struct cs_store store;
    pthread_t thread[3];
    pthread_barrier_t meet;
    void *answer[3];
    fresh(&store);
    pthread_barrier_init(&meet, NULL, 3);
    static const enum cs_axis axes[] = {CS_AXIS_N, CS_AXIS_D, CS_AXIS_H};
    struct turn turn[3];
    for (int i = 0; i < 3; i++) {
        turn[i] = (struct turn){&store, axes[i], &meet};
        CHECK_INT(pthread_create(&thread[i], NULL, contest, &turn[i]), 0);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], &answer[i]);
    CHECK((intptr_t)answer[0] >= 1 && (intptr_t)answer[0] <= 3);
    CHECK(answer[0] == answer[1] && answer[1] == answer[2]);
    pthread_barrier_destroy(&meet);
    cs_store_fini(&store);
}

int main(void)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.200s/convshim-measure-%d", temporary ? temporary : "/tmp",
             (int)getpid());
    cs_log_open(CS_LOG_WARN, NULL);
    TEST(the_fastest_wins);
    TEST(each_measurement_is_logged);
    TEST(without_a_referee_the_policy_decides);
    TEST(remembered);
    TEST(each_input_is_part_of_the_key);
    TEST(not_measured);
    TEST(not_asked);
    TEST(invalid_times_are_ignored);
    TEST(record_that_matches_no_contender_is_ignored);
    TEST(record_written_during_a_measurement_is_used);
    TEST(tilings_that_differ_in_one_property_are_separate);
    TEST(tiles_on_lanes_are_faster_than_timed);
    TEST(contenders);
    TEST(one_answer);
    unlink(path);
    return REPORT();
}
