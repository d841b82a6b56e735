/* Identities of handles, and engines that are kept by all their inputs. Both are right even without
 * memory. */
#include "cudnn/plan/execution_plan.h"

#include "base/lock.h"
#include "cudnn/plan/handle_id.h"
#include "heap.h"
#include "recorded_cudnn.h"
#include "sample_problem.h"

enum {
    HANDLES = 300,
    SEED = 20551
};

static cudnnHandle_t handle_at(int64_t i)
{
    return (cudnnHandle_t)(uintptr_t)(0x10000 + 16 * i);
}

/* A number is a handle's as long as it lives, and never another's; many share a bucket. */
static void numbers_are_unique(void)
{
    static int64_t number[HANDLES];
    struct rng rng = {SEED};
    int64_t most = 0;
    CHECK_INT(cs_handle_id(NULL).number, 0);
    for (int turn = 0; turn < 20 * HANDLES; turn++) {
        int64_t i = rng_between(&rng, 0, HANDLES - 1);
        if (rng_between(&rng, 0, 3) == 0) {
            cs_handle_retire(handle_at(i));
            number[i] = 0;
            continue;
        }
        int64_t now = cs_handle_id(handle_at(i)).number;
        if (number[i] != 0)
            CHECK_INT(now, number[i]);
        else
            CHECK(now > most);
        number[i] = now;
        most = now > most ? now : most;
    }
    for (int i = 0; i < HANDLES; i++)
        cs_handle_retire(handle_at(i));
    CHECK_INT(cs_handle_id(handle_at(0)).number, most + 1);
    cs_handle_retire(handle_at(0));
}

/* The GPU is that of the creation, with any context of the caller. */
static void the_gpu_of_a_handle_is_noted_when_it_is_created(void)
{
    cs_handle_created(handle_at(1), 3);
    cs_handle_created(handle_at(2), 0);
    CHECK_INT(cs_handle_id(handle_at(1)).gpu, 3);
    CHECK_INT(cs_handle_id(handle_at(2)).gpu, 0);
    CHECK_INT(cs_handle_id(handle_at(5)).gpu, CS_GPU_UNKNOWN);
    CHECK_INT(cs_handle_id(NULL).gpu, CS_GPU_UNKNOWN);
    const int64_t number = cs_handle_id(handle_at(1)).number;
    cs_handle_created(handle_at(1), 2); /* the end of the first one was not seen */
    CHECK_INT(cs_handle_id(handle_at(1)).gpu, 2);
    CHECK(cs_handle_id(handle_at(1)).number > number);
    cs_handle_retire(handle_at(1));
    CHECK_INT(cs_handle_id(handle_at(1)).gpu, CS_GPU_UNKNOWN);
    cs_handle_retire(handle_at(1));
    cs_handle_retire(handle_at(2));
    cs_handle_retire(handle_at(5));
}

/* A thread that claims to hold the innermost lock breaks the order with every other lock that it
 * takes. */
static int locks_since(int *faults)
{
    int before = *faults;
    *faults = cs_lock_faults();
    cs_locks_held = 1U << CS_RANKS;
    return *faults - before;
}

static void numbers_are_given_under_the_lock(void)
{
    int faults = 0;
    locks_since(&faults);
    int64_t number = cs_handle_id(handle_at(1)).number;
    CHECK_INT(locks_since(&faults), 2);
    CHECK_INT(cs_handle_id(handle_at(1)).number, number);
    CHECK_INT(locks_since(&faults), 1);
    cs_handle_retire(handle_at(1));
    CHECK_INT(locks_since(&faults), 1);
    cs_locks_held = 0;
    cs_handle_fork(true);
    CHECK_INT(cs_locks_held, 1U << CS_RANK_HANDLES);
    cs_handle_fork(false);
    CHECK_INT(cs_locks_held, 0);
}

static struct cs_target target;
static struct cs_problem problem;

static void start(void)
{
    recorded_start();
    problem = rows(CS_FORWARD, 1);
    target = (struct cs_target){.handle = handle_at(1), .uid = {7, 8, 9}};
}

/* Number of graphs made for a query, which returns its engine. */
static int made_for(const struct cs_target *of, int64_t number, const struct cs_problem *about,
                    int64_t index)
{
    int before = made_of(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    struct cs_kept_engine *engine = cs_kept_engine_take(of, number, about, index);
    CHECK(engine != NULL && engine->engine != NULL);
    if (engine) {
        const struct recorded *own = recorded_at(engine->engine);
        CHECK_INT(own->type, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
        CHECK(!own->destroyed);
        CHECK_SET(own, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, index);
    }
    cs_kept_engine_give(engine);
    return made_of(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) - before;
}

static void engines_are_separate_by_all_inputs(void)
{
    start();
    long long taken = heap_taken;
    CHECK_INT(made_for(&target, 5, &problem, 62), 1);
    CHECK_INT(made_for(&target, 5, &problem, 62), 0);
    for (int what = 0; what < 8; what++) {
        struct cs_target other = target;
        struct cs_problem about = problem;
        int64_t number = 5, index = 62;
        if (what == 0)
            number++;
        else if (what == 1)
            index++;
        else if (what == 2)
            other.settings.sm_count = 20;
        else if (what == 3)
            other.settings.shared_memory = 4096;
        else if (what == 4)
            other.settings.no_clusters = true;
        else if (what == 5)
            other.uid[0]++;
        else if (what == 6)
            other.uid[CS_Y]++;
        else
            about.pre[1]++, about.tensor[CS_Y].dims[CS_H]++;
        CHECK_INT(made_for(&other, number, &about, index), 1);
        CHECK_INT(made_for(&other, number, &about, index), 0);
    }
    target.uid[CS_OPERANDS] = 77; /* of no tensor; another one may have come into its place */
    (void)made_for(&target, 5, &problem, 62);
    target.uid[CS_OPERANDS] = 78;
    CHECK_INT(made_for(&target, 5, &problem, 62), 0);
    cs_kept_engine_forget();
    CHECK_INT(cudnn.alive, 0);
    CHECK_INT(heap_taken - taken, 0);
    CHECK_INT(made_for(&target, 5, &problem, 62), 1);
    cs_kept_engine_forget();
    CHECK_INT(cudnn.alive, 0);
}

/* An engine in use belongs to one caller. Of two that are returned, the last is kept. */
static void kept_engine_is_exclusive(void)
{
    start();
    struct cs_kept_engine *one = cs_kept_engine_take(&target, 5, &problem, 62);
    struct cs_kept_engine *two = cs_kept_engine_take(&target, 5, &problem, 62);
    CHECK(one != two);
    int each = cudnn.alive / 2;
    cs_kept_engine_give(one);
    CHECK_INT(cudnn.alive, 2 * each);
    cs_kept_engine_give(two);
    CHECK_INT(cudnn.alive, each);
    CHECK(cs_kept_engine_take(&target, 5, &problem, 62) == two);
    cs_kept_engine_give(two);
    cs_kept_engine_give(NULL);
    cs_kept_engine_forget();
    CHECK_INT(cudnn.alive, 0);
}

/* Engines that could not be made, and those without a handle, are not kept. */
static void incomplete_engines_are_not_kept(void)
{
    start();
    int calls = 0;
    for (int at = 0; at == 0 || at <= calls; at++) {
        start();
        cudnn.fails_at = at;
        cudnn.failure = CUDNN_STATUS_ALLOC_FAILED;
        struct cs_kept_engine *engine = cs_kept_engine_take(&target, 5, &problem, 62);
        calls = at == 0 ? cudnn.calls : calls;
        CHECK_INT(engine->builder.status,
                  at == 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED);
        cs_kept_engine_give(engine);
        CHECK_INT(cudnn.alive > 0, at == 0);
        cs_kept_engine_forget();
        CHECK_INT(cudnn.alive, 0);
    }
    CHECK(calls > 20);
    start();
    target.handle = NULL; /* only described */
    CHECK_INT(recorded_create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &target.device),
              CUDNN_STATUS_SUCCESS);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(made_for(&target, 0, &problem, 62), 1);
        CHECK_INT(cudnn.alive, 1);
    }
}

/* Results for a handle without a number are valid for no other handle, and no engine is returned.
 */
static void without_memory_no_engine_is_kept(void)
{
#ifdef HEAP_REFUSES
    start();
    heap_left = 0;
    int64_t once = cs_handle_id(handle_at(3)).number;
    heap_left = 0;
    CHECK(cs_handle_id(handle_at(3)).number > once);
    heap_left = 0;
    CHECK(cs_kept_engine_take(&target, 5, &problem, 62) == NULL);
    heap_left = -1;
    CHECK_INT(cudnn.alive, 0);
    int64_t number = cs_handle_id(handle_at(3)).number;
    CHECK(number > once + 1);
    heap_left = 0;
    CHECK_INT(cs_handle_id(handle_at(3)).number, number);
    heap_left = -1;
    cs_handle_retire(handle_at(3));
#endif
}

int main(void)
{
    heap_watch();
    TEST(numbers_are_unique);
    TEST(the_gpu_of_a_handle_is_noted_when_it_is_created);
    TEST(numbers_are_given_under_the_lock);
    TEST(engines_are_separate_by_all_inputs);
    TEST(kept_engine_is_exclusive);
    TEST(incomplete_engines_are_not_kept);
    TEST(without_memory_no_engine_is_kept);
    return REPORT();
}
