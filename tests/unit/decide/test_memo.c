#include "check.h"
#include "decide/memo.h"
#include "random_problem.h"
#include <pthread.h>

enum {
    THREADS = 8,
    CALLS = 20000,
    PROBLEMS = 5000, /* more than a memo holds of some sets */
    SEED = 20264
};

static struct cs_memo *memo_new(void)
{
    struct cs_memo *memo = calloc(1, sizeof *memo);
    if (memo)
        cs_memo_init(memo);
    else
        CHECK(memo != NULL);
    return memo;
}

static const struct cs_engine plain = {
    .index = 62, .knobs = 2, .knob_type = {1, 4}, .knob_value = {7, 8}};

static struct cs_problem numbered(int number)
{
    struct rng rng = {SEED + (uint64_t)number};
    return random_small(&rng);
}

/* A decision that is recognized by the number of its problem. */
static struct cs_decision decision_of(int number)
{
    return (struct cs_decision){.tiling = {.axis = {CS_AXIS_K, CS_AXIS_H}, .step = {8, number}},
                                .tiles = number + 1,
                                .reported = number * 3};
}

static bool decision_is_of(const struct cs_decision *decision, int number)
{
    return decision->tiling.axis[0] == CS_AXIS_K && decision->tiling.axis[1] == CS_AXIS_H &&
           decision->tiling.step[0] == 8 && decision->tiling.step[1] == number &&
           decision->tiles == number + 1 && decision->reported == number * 3;
}

/* Records kept between runs are found by these numbers, so each build of one version must give the
 * same. */
static void key_numbers_are_stable_between_builds(void)
{
    struct cs_problem problem = numbered(1);
    uint64_t all = 0, number[6];
    for (int knobs = 0; knobs < 6; knobs++) {
        struct cs_engine engine = {.index = 62, .knobs = knobs};
        struct cs_key key;
        for (int i = 0; i < knobs; i++) {
            engine.knob_type[i] = i + 1;
            engine.knob_value[i] = 100 * i + 7;
        }
        cs_memo_key_make(&problem, &engine, 1000, knobs % 2, 3, &key);
        number[knobs] = key.hash;
        for (int i = 0; i < knobs; i++)
            CHECK(number[i] != number[knobs]);
        all = all * 31 + key.hash;
    }
    CHECK_INT((int64_t)(all >> 1), INT64_C(8884445438636387448));
}

static void remembers(void)
{
    struct cs_memo *memo = memo_new();
    struct cs_problem problem = numbered(1);
    struct cs_key key, same;
    struct cs_decision decision = decision_of(1), found = decision_of(0);
    memset(&key, 0x11, sizeof key);
    memset(&same, 0x77, sizeof same); /* padding between the words is not part of a key */
    cs_memo_key_make(&problem, &plain, 100, 0, 3, &key);
    cs_memo_key_make(&problem, &plain, 100, 0, 3, &same);
    CHECK(cs_memo_key_equal(&key, &same));
    CHECK(!cs_memo_get(memo, &key, &found));
    CHECK(decision_is_of(&found, 0));
    cs_memo_put(memo, &key, &decision);
    CHECK(cs_memo_get(memo, &same, &found));
    CHECK(decision_is_of(&found, 1));

    decision = decision_of(2); /* the same key again takes no second place */
    cs_memo_put(memo, &same, &decision);
    CHECK(cs_memo_get(memo, &key, &found));
    CHECK(decision_is_of(&found, 2));
    int used = 0;
    for (int way = 0; way < CS_MEMO_WAYS; way++)
        used += memo->entry[key.hash % CS_MEMO_SETS][way].age != 0;
    CHECK_INT(used, 1);
    free(memo);
}

static void later_duplicate_is_not_used(void)
{
    struct cs_memo *memo = memo_new();
    struct cs_problem problem = numbered(1);
    struct cs_decision first = {.reported = 1}, later = {.reported = 2}, found;
    struct cs_key key;
    cs_memo_key_make(&problem, &plain, 10, 0, 0, &key);
    cs_memo_add(memo, &key, &first);
    CHECK_INT(first.reported, 1);
    cs_memo_add(memo, &key, &later);
    CHECK_INT(later.reported, 1);
    later.reported = 3;
    cs_memo_put(memo, &key, &later);
    CHECK(cs_memo_get(memo, &key, &found));
    CHECK_INT(found.reported, 3);
    free(memo);
}

static void every_part_is_in_the_key(void)
{
    struct cs_problem problem = numbered(1), other = numbered(1);
    struct cs_engine engine = plain;
    struct cs_key key, changed;
    cs_memo_key_make(&problem, &plain, 100, 5, 3, &key);
    other.stride[2]++;
    cs_memo_key_make(&other, &plain, 100, 5, 3, &changed);
    CHECK(!cs_memo_key_equal(&key, &changed));
    cs_memo_key_make(&problem, &plain, 101, 5, 3, &changed);
    CHECK(!cs_memo_key_equal(&key, &changed));
    cs_memo_key_make(&problem, &plain, 100, 6, 3, &changed);
    CHECK(!cs_memo_key_equal(&key, &changed));
    cs_memo_key_make(&problem, &plain, 100, 5, 4, &changed);
    CHECK(!cs_memo_key_equal(&key, &changed));
    engine.index++;
    cs_memo_key_make(&problem, &engine, 100, 5, 3, &changed);
    CHECK(!cs_memo_key_equal(&key, &changed));
    for (int i = 0; i < 4; i++) {
        engine = plain;
        (i % 2 ? engine.knob_type : engine.knob_value)[i / 2]++;
        cs_memo_key_make(&problem, &engine, 100, 5, 3, &changed);
        CHECK(!cs_memo_key_equal(&key, &changed));
    }
    engine = plain;
    engine.knobs = 1;
    cs_memo_key_make(&problem, &engine, 100, 5, 3, &changed);
    CHECK(!cs_memo_key_equal(&key, &changed));
    engine.knobs = CS_MAX_KNOBS;
    cs_memo_key_make(&problem, &engine, 100, 5, 3, &changed);
    CHECK(changed.words <= CS_KEY_WORDS);
}

/* Keys whose hashes were forced into one set. */
static struct cs_key key_in_set(int number, int set)
{
    struct cs_problem problem = numbered(1);
    struct cs_key key;
    cs_memo_key_make(&problem, &plain, number, 0, 0, &key);
    key.hash = (uint64_t)number * CS_MEMO_SETS + (uint64_t)set;
    return key;
}

static void least_recently_used_is_replaced(void)
{
    struct cs_memo *memo = memo_new();
    struct cs_decision found;
    for (int i = 0; i < CS_MEMO_WAYS; i++) {
        struct cs_key key = key_in_set(i, 7);
        struct cs_decision decision = decision_of(i);
        cs_memo_put(memo, &key, &decision);
    }
    struct cs_key first = key_in_set(0, 7), second = key_in_set(1, 7);
    CHECK(cs_memo_get(memo, &first, &found)); /* so the second is now the longest unused */
    struct cs_key late = key_in_set(CS_MEMO_WAYS, 7), elsewhere = key_in_set(50, 8);
    struct cs_decision decision = decision_of(CS_MEMO_WAYS);
    cs_memo_put(memo, &elsewhere, &decision);
    cs_memo_put(memo, &late, &decision);
    CHECK(!cs_memo_get(memo, &second, &found));
    CHECK(cs_memo_get(memo, &late, &found) && decision_is_of(&found, CS_MEMO_WAYS));
    CHECK(cs_memo_get(memo, &first, &found) && decision_is_of(&found, 0));
    for (int i = 2; i < CS_MEMO_WAYS; i++) {
        struct cs_key key = key_in_set(i, 7);
        CHECK(cs_memo_get(memo, &key, &found) && decision_is_of(&found, i));
    }
    free(memo);
}

/* Keys that share a hash are still reported apart. */
static void equal_hashes(void)
{
    struct cs_memo *memo = memo_new();
    struct cs_key one = key_in_set(1, 3), two = key_in_set(2, 3);
    struct cs_decision decision = decision_of(1), found;
    two.hash = one.hash;
    cs_memo_put(memo, &one, &decision);
    CHECK(!cs_memo_get(memo, &two, &found));
    decision = decision_of(2);
    cs_memo_put(memo, &two, &decision);
    CHECK(cs_memo_get(memo, &one, &found) && decision_is_of(&found, 1));
    CHECK(cs_memo_get(memo, &two, &found) && decision_is_of(&found, 2));
    free(memo);
}

static void hashes_spread(void)
{
    static int in_set[CS_MEMO_SETS];
    int fullest = 0, empty = 0;
    for (int i = 0; i < 4 * CS_MEMO_SETS; i++) {
        struct cs_problem problem = numbered(1);
        struct cs_key key;
        problem.tensor[CS_X].dims[CS_H] = 8 * i; /* problems as near to each other as layers are */
        cs_memo_key_make(&problem, &plain, 1024 * i, 0, 0, &key);
        in_set[key.hash % CS_MEMO_SETS]++;
    }
    for (int set = 0; set < CS_MEMO_SETS; set++) {
        fullest = in_set[set] > fullest ? in_set[set] : fullest;
        empty += in_set[set] == 0;
    }
    CHECK(fullest <= 16); /* 4 on average */
    CHECK(empty < CS_MEMO_SETS / 10);
}

struct worker {
    struct cs_memo *memo;
    uint64_t seed;
    long hits, wrong;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct rng rng = {worker->seed};
    for (int i = 0; i < CALLS; i++) {
        int number = (int)rng_between(&rng, 0, PROBLEMS);
        struct cs_problem problem = numbered(number);
        struct cs_key key;
        struct cs_decision decision;
        cs_memo_key_make(&problem, &plain, number, 0, 0, &key);
        if (cs_memo_get(worker->memo, &key, &decision)) {
            worker->hits++;
            worker->wrong += !decision_is_of(&decision, number);
        } else {
            decision = decision_of(number);
            cs_memo_put(worker->memo, &key, &decision);
        }
    }
    return NULL;
}

static void threads_agree(void)
{
    struct cs_memo *memo = memo_new();
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    long hits = 0;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.memo = memo, .seed = SEED + (uint64_t)i};
        CHECK_INT(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_INT(workers[i].wrong, 0);
        hits += workers[i].hits;
    }
    printf("# %d threads, %d calls each, %ld hits\n", THREADS, CALLS, hits);
    CHECK(hits > THREADS * CALLS / 10 && hits < THREADS * CALLS - PROBLEMS / 2);
    free(memo);
}

int main(void)
{
    TEST(key_numbers_are_stable_between_builds);
    TEST(remembers);
    TEST(later_duplicate_is_not_used);
    TEST(every_part_is_in_the_key);
    TEST(least_recently_used_is_replaced);
    TEST(equal_hashes);
    TEST(hashes_spread);
    TEST(threads_agree);
    return REPORT();
}
