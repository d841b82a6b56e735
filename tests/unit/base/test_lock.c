/* The order of locks, and that none is held where foreign code begins. */
#include "base/lock.h"
#include "check.h"
#include <string.h>
#include <time.h>

#ifdef __SANITIZE_THREAD__
/* What is wrong here is so on purpose: ThreadSanitizer is not to look for it, too. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "detect_deadlocks=0";
}
#endif

static struct cs_lock memo = CS_LOCK_INITIALIZER(MEMO), arena, other;

static void begin(void)
{
    cs_lock_init(&arena, CS_RANK_ARENA);
    cs_lock_init(&other, CS_RANK_ARENA);
}

static void the_order_of_the_list(void)
{
    int before = cs_lock_faults();
    cs_lock(&memo);
    cs_lock(&arena);
    cs_unlock(&memo);
    cs_unlock(&arena);
    CHECK_INT(cs_lock_faults(), before);
    cs_lock(&arena);
    cs_lock(&memo);
    CHECK_INT(cs_lock_faults(), before + 1);
    cs_unlock(&memo);
    cs_unlock(&arena);
    CHECK_INT((int)cs_locks_held, 0);
}

static void two_of_one_rank(void)
{
    int before = cs_lock_faults();
    cs_lock_next(&arena);
    cs_lock_next(&other);
    CHECK_INT(cs_lock_faults(), before);
    cs_unlock(&other);
    cs_unlock(&arena);
    cs_lock(&arena);
    cs_lock(&other);
    CHECK_INT(cs_lock_faults(), before + 1);
    cs_unlock(&other);
    cs_unlock(&arena);
}

static void foreign_code(void)
{
    int before = cs_lock_faults();
    cs_locks_free("a call");
    CHECK_INT(cs_lock_faults(), before);
    cs_lock(&memo);
    cs_locks_free("a call");
    CHECK_INT(cs_lock_faults(), before + 1);
    cs_unlock(&memo);
    cs_locks_free("a call");
    CHECK_INT(cs_lock_faults(), before + 1);
}

static struct cs_condition reported;

static void *wait_for_it(void *result)
{
    struct timespec now;
    cs_lock(&arena);
    clock_gettime(CLOCK_MONOTONIC, &now);
    *(bool *)result =
        cs_lock_condition_wait(&reported, &arena, now.tv_sec * 1000000000LL + now.tv_nsec);
    cs_unlock(&arena);
    return NULL;
}

/* Nobody tells: the clock ends the wait, a cancellation does not. */
static void waiting_is_not_cancelled(void)
{
    pthread_t thread;
    bool result = true;
    cs_lock_condition_init(&reported);
    cs_lock(&arena);
    CHECK_INT(pthread_create(&thread, NULL, wait_for_it, &result), 0);
    pthread_cancel(thread);
    cs_unlock(&arena);
    pthread_join(thread, NULL);
    CHECK(!result);
    CHECK_INT(pthread_mutex_trylock(&arena.mutex), 0);
    pthread_mutex_unlock(&arena.mutex);
}

int main(void)
{
    begin();
    TEST(the_order_of_the_list);
    TEST(two_of_one_rank);
    TEST(foreign_code);
    TEST(waiting_is_not_cancelled);
    return REPORT();
}
