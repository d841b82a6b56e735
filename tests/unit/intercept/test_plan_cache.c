/* How long the tiles of legacy calls live: a CUDA graph that holds some must find their plans. */
#include "intercept/legacy/plan_cache.h"

#include "check.h"

enum {
    MANY = 300, /* more than a handle keeps */
    EVERY = 100 /* of them one was captured */
};

static int destroyed[MANY];

static void destroy(void *execution_plan)
{
    if (execution_plan)
        destroyed[(int *)execution_plan - destroyed]++;
}

static void key_of(int number, struct cs_key *key)
{
    const struct cs_engine engine = {.index = number};
    const struct cs_problem problem = {.direction = CS_FORWARD};
    cs_memo_key_make(&problem, &engine, 0, 0, 0, key);
}

static void insert(cudnnHandle_t handle, int number)
{
    struct cs_key key;
    struct cs_rewrite *rewrite = calloc(1, sizeof *rewrite);
    key_of(number, &key);
    struct cs_plan_cache_entry *entry = cs_plan_cache_new(&key);
    CHECK(entry && rewrite);
    *rewrite = (struct cs_rewrite){.fallback = &destroyed[number], .destroy = destroy};
    entry->handle = handle;
    entry->verdict = (struct cs_verdict){.rewrite = rewrite};
    entry->captured = number % EVERY == 0;
    cs_plan_cache_insert(entry);
}

static int destroyed_of(bool captured)
{
    int sum = 0;
    for (int i = 0; i < MANY; i++)
        sum += (i % EVERY == 0) == captured ? destroyed[i] : 0;
    return sum;
}

static void plans_that_a_graph_may_hold_outlive_the_others_and_their_handle(void)
{
    static char one[8];
    cudnnHandle_t handle = (cudnnHandle_t)(void *)one;
    struct cs_key key;
    for (int i = 0; i < MANY; i++)
        insert(handle, i);
    CHECK(destroyed_of(false) > 0);
    CHECK_INT(destroyed_of(true), 0);
    key_of(EVERY, &key);
    CHECK(cs_plan_cache_find(&key) != NULL);
    cs_plan_cache_forget(handle);
    CHECK_INT(destroyed_of(false), MANY - MANY / EVERY);
    CHECK_INT(destroyed_of(true), 0);
    CHECK(cs_plan_cache_find(&key) == NULL);
}

/* A child that found the lock held would wait forever at its first convolution. */
static void the_lock_is_held_across_a_fork_alone(void)
{
    struct cs_key key;
    cs_plan_cache_fork(true);
    CHECK_INT(cs_locks_held, 1U << CS_RANK_LEGACY);
    cs_plan_cache_fork(false);
    CHECK_INT(cs_locks_held, 0);
    alarm(10);
    key_of(EVERY, &key);
    (void)cs_plan_cache_find(&key);
    alarm(0);
}

int main(void)
{
    TEST(plans_that_a_graph_may_hold_outlive_the_others_and_their_handle);
    TEST(the_lock_is_held_across_a_fork_alone);
    return REPORT();
}
