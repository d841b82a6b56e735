/* A second stack for threads whose stack is too small. */
#include "base/stack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    AMPLE = 256 << 10,      /* bytes: up to 110 KiB for a decision, the rest for cuDNN */
    BYTES = 1 << 20,        /* bytes of the second stack; untouched pages use no memory */
    GUARD = 64 << 10,       /* inaccessible pages at its end */
    LAST_BYTES = 128 << 10, /* four times the need of a report at exit */
    LAST_PAUSE = 5000000,   /* nanoseconds between two attempts to take the last stack */
    LAST_ATTEMPTS = 400
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

__thread struct cs_stack_part cs_stack_part;

/* The TLS model is explained in base/nest.h. */
static __thread struct {
    bool measured;
    char *own; /* GUARD + BYTES; NULL until it is needed */
} thread __attribute__((tls_model("initial-exec")));

/* Finds the part of the thread's stack that has AMPLE bytes below it. A fiber's stack is outside.
 * If the stack is unknown, for example without /proc, only the first thread's is assumed to be
 * large. */
static struct cs_stack_part find_part(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return (struct cs_stack_part){0, getpid() == gettid() ? UINTPTR_MAX : 0};
    bool known = pthread_attr_getstack(&attributes, &low, &size) == 0;
    pthread_attr_destroy(&attributes);
    return (struct cs_stack_part){(uintptr_t)low + AMPLE, known && size > AMPLE ? size - AMPLE : 0};
}

/* Sanitizers cannot follow a thread to another stack. */
bool cs_stack_measure(uintptr_t here)
{
    if (!thread.measured) {
        thread.measured =
            true; /* first, because the allocator that this may call may be foreign code */
        cs_stack_part = find_part();
    }
    return SANITIZED || here - cs_stack_part.from < cs_stack_part.size;
}

static void release_stack(void *own)
{
    thread.own = NULL;
    munmap(own, GUARD + BYTES);
}

/* Finds or creates the key whose value is a thread's second stack. The stack is freed when the
 * thread ends. False if the process has no more keys. */
static bool get_key(pthread_key_t *key_p)
{
    static _Atomic(unsigned) made; /* the key + 1 */
    unsigned known = atomic_load(&made);
    pthread_key_t key;
    if (known == 0 && pthread_key_create(&key, release_stack) == 0) {
        if (atomic_compare_exchange_strong(&made, &known, key + 1))
            known = key + 1;
        else
            pthread_key_delete(key);
    }
    *key_p = known - 1;
    return known != 0;
}

/* Makes the thread's second stack if it has none. False if that fails. */
static bool ensure_own_stack(void)
{
    pthread_key_t key;
    if (thread.own || !get_key(&key))
        return thread.own;
    char *own = mmap(NULL, GUARD + BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (own == MAP_FAILED)
        return false;
    if (mprotect(own, GUARD, PROT_NONE) != 0 || pthread_setspecific(key, own) != 0) {
        release_stack(own);
        return false;
    }
    thread.own = own;
    return true;
}

struct visit {
    int (*function)(void *arg);
    void *arg;
    int result;
};

/* The call that runs on another stack. makecontext passes only ints, so it is passed here. */
static __thread struct visit *visit __attribute__((tls_model("initial-exec")));

static void run_visit(void)
{
    struct visit *now = visit;
    now->result = now->function(now->arg);
}

/* Calls the function on the stack at `low`. A signal handler may do so at any point of another call
 * of this thread, so `visit` is restored. */
static int run_on(char *low, size_t bytes, int (*function)(void *arg), void *arg)
{
    struct visit now = {.function = function, .arg = arg}, *before = visit;
    ucontext_t here, there;
    if (getcontext(&there) != 0)
        return function(arg);
    there.uc_stack.ss_sp = low;
    there.uc_stack.ss_size = bytes;
    there.uc_link = &here;
    makecontext(&there, run_visit, 0);
    visit = &now;
    bool failed = swapcontext(&here, &there) != 0;
    visit = before;
    return failed ? function(arg) : now.result;
}

int cs_stack_run(int (*function)(void *arg), void *arg)
{
    return ensure_own_stack() ? run_on(thread.own + GUARD, BYTES, function, arg) : function(arg);
}

static _Atomic(pid_t) last_user; /* the thread that uses the last stack; 0 if it is free */

/* Takes the last stack. False if another thread keeps it for two seconds, or if this thread uses it
 * already. */
static bool take_last(void)
{
    const struct timespec interval = {.tv_nsec = LAST_PAUSE};
    const pid_t self = gettid();
    for (int i = 0; i < LAST_ATTEMPTS; i++) {
        pid_t user = 0;
        if (atomic_compare_exchange_strong(&last_user, &user, self))
            return true;
        if (user == self)
            break;
        nanosleep(&interval, NULL);
    }
    return false;
}

bool cs_stack_run_last(int (*function)(void *arg), void *arg)
{
    static char last[LAST_BYTES] __attribute__((aligned(64)));
    if (!take_last())
        return false;
    (void)(SANITIZED ? function(arg) : run_on(last, sizeof last, function, arg));
    atomic_store(&last_user, 0);
    return true;
}

void cs_stack_fork(void)
{
    atomic_store(&last_user, 0);
}
