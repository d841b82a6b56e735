/* Threads with little stack: what they call runs on another one of theirs. */
#include "base/stack.h"
#include "check.h"
#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum {
    SMALL = 64 << 10,
    LARGE = 8 << 20,
    DEEP = 600 << 10,
    ANSWER = 42
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* Touches a frame that no small thread has room for. */
static int use_much(void *arg)
{
    volatile char deep[DEEP];
    memset((char *)deep, 1, sizeof deep);
    *(uintptr_t *)arg = (uintptr_t)__builtin_frame_address(0);
    return ANSWER + deep[DEEP / 2] - 1;
}

static bool on_a_thread(size_t bytes, void *(*function)(void *))
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *result = NULL;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, bytes);
    if (pthread_create(&thread, &attributes, function, NULL) != 0)
        return false;
    pthread_join(thread, &result);
    return result != NULL;
}

static void *call_deep(void *unused)
{
    uintptr_t first = 0, second = 1;
    (void)unused;
    bool good = !cs_stack_ample();
    good = cs_stack_run(use_much, &first) == ANSWER && good;
    good = cs_stack_run(use_much, &second) == ANSWER && good;
    return good && first == second ? (void *)(uintptr_t)ANSWER : NULL;
}

static int leave(void *unused)
{
    (void)unused;
    pthread_exit((void *)(uintptr_t)ANSWER);
}

/* A callback may end the thread. */
static void *exit_deep(void *unused)
{
    (void)unused;
    (void)cs_stack_run(leave, NULL);
    return NULL;
}

static void a_small_thread(void)
{
    CHECK(SANITIZED || on_a_thread(SMALL, call_deep));
}

static void *is_ample(void *unused)
{
    (void)unused;
    return cs_stack_ample() ? (void *)(uintptr_t)ANSWER : NULL;
}

static void a_large_thread_has_enough(void)
{
    CHECK(on_a_thread(LARGE, is_ample));
}

static void a_thread_that_ends_over_there(void)
{
    CHECK(SANITIZED || on_a_thread(SMALL, exit_deep));
}

static void the_first_thread_has_enough(void)
{
    CHECK(cs_stack_ample());
}

static int count;

static int again(void *arg)
{
    count++;
    if (arg)
        CHECK(!cs_stack_run_last(again, NULL));
    return 0;
}

/* A handler may interrupt the thread that is there: it does not wait for itself. */
static void the_last_stack_is_for_one(void)
{
    CHECK(cs_stack_run_last(again, &count));
    CHECK(count == 1);
    CHECK(cs_stack_run_last(again, NULL));
    CHECK(count == 2);
}

int main(void)
{
    TEST(the_first_thread_has_enough);
    TEST(a_small_thread);
    TEST(a_large_thread_has_enough);
    TEST(a_thread_that_ends_over_there);
    TEST(the_last_stack_is_for_one);
    return REPORT();
}
