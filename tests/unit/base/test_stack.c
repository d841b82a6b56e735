/* A thread with a small stack runs its callee on a second stack of the thread. */
#include "base/stack.h"
#include "check.h"
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

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

/* The linker puts these before libc's: the call with that number fails. */
enum fault {
    NO_FAULT,
    NO_KEY,
    NO_MEMORY,
    NO_GUARD,
    NO_VALUE,
    NO_CONTEXT,
    NO_SWAP,
    FAULTS
};
static enum fault fault;
static int64_t mapped; /* bytes of stacks */

WRAPPED(int, pthread_key_create, pthread_key_t *key, void (*release)(void *))
{
    return fault == NO_KEY ? 1 : __real_pthread_key_create(key, release);
}

WRAPPED(int, pthread_setspecific, pthread_key_t key, const void *value)
{
    return fault == NO_VALUE ? 1 : __real_pthread_setspecific(key, value);
}

WRAPPED(void *, mmap, void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (fault == NO_MEMORY)
        return MAP_FAILED;
    mapped += (int64_t)bytes;
    return __real_mmap(at, bytes, protection, flags, fd, offset);
}

WRAPPED(int, munmap, void *at, size_t bytes)
{
    mapped -= (int64_t)bytes;
    return __real_munmap(at, bytes);
}

WRAPPED(int, mprotect, void *at, size_t bytes, int protection)
{
    return fault == NO_GUARD ? -1 : __real_mprotect(at, bytes, protection);
}

WRAPPED(int, getcontext, ucontext_t *context)
{
    return fault == NO_CONTEXT ? -1 : __real_getcontext(context);
}

WRAPPED(int, swapcontext, ucontext_t *here, const ucontext_t *there)
{
    return fault == NO_SWAP ? -1 : __real_swapcontext(here, there);
}

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

static void large_thread_needs_no_second_stack(void)
{
    CHECK(on_a_thread(LARGE, is_ample));
}

static void a_thread_that_ends_over_there(void)
{
    CHECK(SANITIZED || on_a_thread(SMALL, exit_deep));
}

static void first_thread_needs_no_second_stack(void)
{
    CHECK(cs_stack_ample());
}

static int where(void *arg)
{
    *(uintptr_t *)arg = (uintptr_t)__builtin_frame_address(0);
    return ANSWER;
}

/* Within a few frames of this one, unless it is on another stack. */
static void *run_twice(void *unused)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), at[2] = {0, 0};
    (void)unused;
    bool good = cs_stack_run(where, &at[0]) == ANSWER && cs_stack_run(where, &at[1]) == ANSWER;
    bool same = here - at[0] < SMALL && here - at[1] < SMALL;
    return good && same == (fault != NO_FAULT) ? (void *)(uintptr_t)ANSWER : NULL;
}

static void without_a_second_stack_the_call_runs_on_its_own(void)
{
    if (SANITIZED)
        return;
    for (fault = NO_KEY; fault < FAULTS; fault++) {
        CHECK(on_a_thread(LARGE, run_twice));
        CHECK_INT(mapped, 0);
    }
    fault = NO_FAULT;
    CHECK(on_a_thread(LARGE, run_twice));
    CHECK_INT(mapped, 0);
}

static pthread_barrier_t both;

static int hold(void *unused)
{
    const struct timespec moment = {.tv_nsec = 20000000};
    (void)unused;
    pthread_barrier_wait(&both);
    nanosleep(&moment, NULL);
    return 0;
}

static void *hold_last(void *unused)
{
    (void)unused;
    return cs_stack_run_last(hold, NULL) ? (void *)(uintptr_t)ANSWER : NULL;
}

static void the_last_stack_is_waited_for(void)
{
    pthread_t other;
    uintptr_t at = 0;
    pthread_barrier_init(&both, NULL, 2);
    CHECK(pthread_create(&other, NULL, hold_last, NULL) == 0);
    pthread_barrier_wait(&both);
    CHECK(cs_stack_run_last(where, &at) && at);
    pthread_join(other, NULL);
    pthread_barrier_destroy(&both);
}

static int count;

static int again(void *arg)
{
    count++;
    if (arg)
        CHECK(!cs_stack_run_last(again, NULL));
    return 0;
}

/* A handler may interrupt the thread that uses the stack. It does not wait for itself. */
static void last_stack_serves_one_thread(void)
{
    CHECK(cs_stack_run_last(again, &count));
    CHECK(count == 1);
    CHECK(cs_stack_run_last(again, NULL));
    CHECK(count == 2);
}

int main(void)
{
    TEST(without_a_second_stack_the_call_runs_on_its_own); /* first: the key is made once */
    TEST(first_thread_needs_no_second_stack);
    TEST(a_small_thread);
    TEST(large_thread_needs_no_second_stack);
    TEST(a_thread_that_ends_over_there);
    TEST(last_stack_serves_one_thread);
    TEST(the_last_stack_is_waited_for);
    return REPORT();
}
