/* Stacks of threads where the system refuses: what is known of the calling thread's, memory that is
 * not there, threads without keys. The system's answers are those of the test. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static int getattr_as_told(pthread_t whose, pthread_attr_t *attributes);
static int getstack_as_told(void **low, size_t *size);
static void *map_as_told(size_t bytes);
static int unmap_as_told(void *at, size_t bytes);
static int protect_as_told(void *at, size_t bytes, int protection);
static int key_create_as_told(pthread_key_t *key, void (*release)(void *own));
static int setspecific_as_told(pthread_key_t key, const void *own);
static int context_as_told(ucontext_t *context);
static int swap_as_told(ucontext_t *here, const ucontext_t *there);
static pid_t thread_as_told(void);
static int sleep_as_told(const struct timespec *time);
#define pthread_getattr_np(thread, attributes) getattr_as_told(thread, attributes)
#define pthread_attr_getstack(attributes, low, size) getstack_as_told(low, size)
#define mmap(at, bytes, protection, flags, fd, offset) map_as_told(bytes)
#define munmap(at, bytes) unmap_as_told(at, bytes)
#define mprotect(at, bytes, protection) protect_as_told(at, bytes, protection)
#define pthread_key_create(key, release) key_create_as_told(key, release)
#define pthread_setspecific(key, own) setspecific_as_told(key, own)
#define getcontext(context) context_as_told(context)
#define swapcontext(here, there) swap_as_told(here, there)
#define gettid() thread_as_told()
#define nanosleep(time, left) sleep_as_told(time)
#define cs_stack_part stack_part
#define cs_stack_measure stack_measure
#define cs_stack_run stack_run
#define cs_stack_run_last stack_run_last
#define cs_stack_fork stack_fork
#include "base/stack.c" /* NOLINT(bugprone-suspicious-include) */
#undef pthread_getattr_np
#undef mmap
#undef munmap
#undef mprotect
#undef pthread_key_create
#undef pthread_setspecific
#undef getcontext
#undef swapcontext
#undef gettid
#include "check.h"

enum {
    ANSWER = 42
};

/* What the next calls do. */
static struct {
    bool no_attributes, no_stack, no_memory, no_guard, no_key, no_value, no_context, no_swap;
    uintptr_t low;
    size_t size;
    pid_t thread;
    int keys, asked, sleeps; /* how often */
    int64_t slept;
    char *mapped;
    size_t mapped_bytes, unmapped_bytes;
} told;

static int getattr_as_told(pthread_t whose, pthread_attr_t *attributes)
{
    told.asked++;
    (void)whose;
    return told.no_attributes ? 1 : pthread_attr_init(attributes);
}

static int getstack_as_told(void **low, size_t *size)
{
    *low = (void *)told.low;
    *size = told.size;
    return told.no_stack;
}

static void *map_as_told(size_t bytes)
{
    if (told.no_memory)
        return MAP_FAILED;
    told.mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    told.mapped_bytes = bytes;
    return told.mapped;
}

static int unmap_as_told(void *at, size_t bytes)
{
    CHECK(at == told.mapped);
    told.unmapped_bytes += bytes;
    return munmap(at, bytes);
}

static int protect_as_told(void *at, size_t bytes, int protection)
{
    CHECK(at == told.mapped && bytes == GUARD && protection == PROT_NONE);
    return told.no_guard ? -1 : mprotect(at, bytes, protection);
}

static int key_create_as_told(pthread_key_t *key, void (*release_own)(void *own))
{
    told.keys++;
    return told.no_key ? 1 : pthread_key_create(key, release_own);
}

static int setspecific_as_told(pthread_key_t key, const void *own)
{
    return told.no_value ? 1 : pthread_setspecific(key, own);
}

static int context_as_told(ucontext_t *context)
{
    return told.no_context ? -1 : getcontext(context);
}

static int swap_as_told(ucontext_t *here, const ucontext_t *there)
{
    CHECK(there->uc_stack.ss_size == BYTES || there->uc_stack.ss_size == LAST_BYTES);
    return told.no_swap ? -1 : swapcontext(here, there);
}

static pid_t thread_as_told(void)
{
    return told.thread ? told.thread : getpid();
}

/* Whoever is on the last stack leaves it at the third moment. */
static int sleep_as_told(const struct timespec *time)
{
    told.slept += time->tv_nsec + time->tv_sec * 1000000000;
    if (++told.sleeps == 3 && told.thread == 0)
        atomic_store(&last_user, 0);
    return 0;
}

static bool measure(uintptr_t here)
{
    thread.measured = false;
    stack_part = (struct cs_stack_part){0, 0};
    return stack_measure(here);
}

static void enough_is_so_much_above_the_end(void)
{
    if (SANITIZED)
        return;
    memset(&told, 0, sizeof told);
    told.low = 1 << 30;
    told.size = AMPLE + 1000;
    CHECK(!measure(told.low + AMPLE - 1) && measure(told.low + AMPLE));
    CHECK(measure(told.low + told.size - 1) && !measure(told.low + told.size));
    CHECK(!measure(0));
    for (told.size = AMPLE - 1; told.size <= AMPLE + 1; told.size++)
        CHECK_INT(measure(told.low + AMPLE), told.size > AMPLE);
    told.size = AMPLE + 1000;
    told.no_stack = true;
    CHECK(!measure(told.low + AMPLE) && !measure(AMPLE));
}

/* It is asked once a thread, whatever the answer was. */
static void it_is_asked_once(void)
{
    memset(&told, 0, sizeof told);
    CHECK_INT(measure(1 << 20), SANITIZED);
    CHECK_INT(told.asked, 1);
    CHECK_INT(stack_measure(1 << 20), SANITIZED);
    CHECK_INT(told.asked, 1);
}

static void of_unknown_ones_the_first_thread_has_enough(void)
{
    memset(&told, 0, sizeof told);
    told.no_attributes = true;
    CHECK(measure(1 << 20) && measure(1) && measure((uintptr_t)&told));
    told.thread = getpid() + 1;
    CHECK_INT(measure(1 << 20), SANITIZED);
}

static int where(void *arg)
{
    *(char **)arg = __builtin_frame_address(0);
    return ANSWER;
}

static bool on_own_stack(const char *at)
{
    return told.mapped && at >= told.mapped + GUARD && at < told.mapped + GUARD + BYTES;
}

static void *run_here(void *arg)
{
    char **at = arg;
    CHECK_INT(stack_run(where, &at[0]), ANSWER);
    CHECK_INT(stack_run(where, &at[1]), ANSWER);
    return NULL;
}

static void run_on_a_thread(char *at[2])
{
    pthread_t other;
    CHECK(pthread_create(&other, NULL, run_here, at) == 0);
    pthread_join(other, NULL);
}

/* Without a key, memory, guard or place for it: on the stack that there is, and nothing stays. */
static void where_the_system_refuses(void)
{
    bool *const refusals[] = {&told.no_key, &told.no_memory, &told.no_guard, &told.no_value};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char *at[2] = {NULL, NULL};
        memset(&told, 0, sizeof told);
        *refusals[i] = true;
        run_on_a_thread(at);
        CHECK(at[0] && at[1] && !on_own_stack(at[0]) && !on_own_stack(at[1]));
        CHECK_INT(told.unmapped_bytes, told.mapped ? 2 * (GUARD + BYTES) : 0);
        CHECK(!told.mapped || told.mapped_bytes == GUARD + BYTES);
        CHECK_INT(told.keys, i == 0 ? 2 : i == 1);
    }
}

/* One stack a thread, and one key for all; what a thread had is given back as it ends. */
static void a_stack_for_each_thread(void)
{
    if (SANITIZED)
        return;
    for (int i = 0; i < 3; i++) {
        char *at[2] = {NULL, NULL};
        memset(&told, 0, sizeof told);
        run_on_a_thread(at);
        CHECK(on_own_stack(at[0]) && at[0] == at[1]);
        CHECK_INT(told.mapped_bytes, GUARD + BYTES);
        CHECK_INT(told.unmapped_bytes, GUARD + BYTES);
        CHECK_INT(told.keys, 0); /* the one that was made before */
    }
}

static void no_way_to_another_stack(void)
{
    for (int i = 0; i < 2; i++) {
        char *at[2] = {NULL, NULL};
        memset(&told, 0, sizeof told);
        told.no_context = i == 0;
        told.no_swap = i == 1;
        run_on_a_thread(at);
        CHECK(at[0] && at[1] && !on_own_stack(at[0]) && !on_own_stack(at[1]));
        CHECK_INT(told.unmapped_bytes, GUARD + BYTES);
    }
}

static void the_last_stack_is_waited_for(void)
{
    char *at = NULL;
    memset(&told, 0, sizeof told);
    atomic_store(&last_user, 1);
    CHECK(stack_run_last(where, &at) && at);
    CHECK(told.sleeps == 3 && told.slept == 3 * LAST_MOMENT);
    CHECK_INT(atomic_load(&last_user), 0);
    at = NULL;
    told.sleeps = 0;
    told.slept = 0;
    told.thread = 7;
    atomic_store(&last_user, 8);
    CHECK(!stack_run_last(where, &at) && !at);
    CHECK_INT(told.slept, INT64_C(2000000000));
    CHECK_INT(atomic_load(&last_user), 8);
    stack_fork();
    CHECK(stack_run_last(where, &at) && at);
    atomic_store(&last_user, 7); /* the same thread: a signal's handler */
    at = NULL;
    told.sleeps = 0;
    CHECK(!stack_run_last(where, &at) && !at && told.sleeps == 0);
    stack_fork();
}

int main(void)
{
    TEST(enough_is_so_much_above_the_end);
    TEST(it_is_asked_once);
    TEST(of_unknown_ones_the_first_thread_has_enough);
    TEST(where_the_system_refuses);
    TEST(a_stack_for_each_thread);
    TEST(no_way_to_another_stack);
    TEST(the_last_stack_is_waited_for);
    return REPORT();
}
