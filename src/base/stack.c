/* A second stack for threads that have too little of their own. */
#include "base/stack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    AMPLE = 256 << 10, /* twice what the deepest decision takes, and as much for cuDNN */
    BYTES = 1 << 20,   /* of ours; pages that nobody touches cost nothing */
    GUARD = 64 << 10   /* at its end, where nothing may be touched */
};

/* Sanitizers follow no thread to another stack. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* As base/nest.h says. */
static __thread struct {
    uintptr_t low, high; /* of the thread's stack; 0, 0: not asked yet */
    char *own;           /* GUARD + BYTES; NULL: not needed yet */
} thread __attribute__((tls_model("initial-exec")));

/* A stack that nobody knows is small: a fiber's, or one without /proc. The first thread's is as
 * large as programs expect. */
static void find_bounds(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    thread.low = thread.high = 1;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
            thread.low = (uintptr_t)low;
            thread.high = (uintptr_t)low + size;
        }
        pthread_attr_destroy(&attributes);
    } else if (getpid() == gettid()) {
        thread.low = 0;
        thread.high = UINTPTR_MAX;
    }
}

bool cs_stack_ample(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (thread.high == 0)
        find_bounds();
    return SANITIZED || (here >= thread.low && here < thread.high && here - thread.low >= AMPLE);
}

static void release(void *own)
{
    thread.own = NULL;
    munmap(own, GUARD + BYTES);
}

/* The key whose value is a thread's own stack, freed when the thread ends; false if there are no
 * more keys. */
static bool key_of(pthread_key_t *key_p)
{
    static _Atomic(unsigned) made; /* the key + 1 */
    unsigned known = atomic_load(&made);
    pthread_key_t key;
    if (known == 0 && pthread_key_create(&key, release) == 0) {
        if (atomic_compare_exchange_strong(&made, &known, key + 1))
            known = key + 1;
        else
            pthread_key_delete(key);
    }
    *key_p = known - 1;
    return known != 0;
}

/* True if the thread has one now. */
static bool own_stack(void)
{
    pthread_key_t key;
    if (thread.own || !key_of(&key))
        return thread.own;
    char *own = mmap(NULL, GUARD + BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (own == MAP_FAILED)
        return false;
    if (mprotect(own, GUARD, PROT_NONE) != 0 || pthread_setspecific(key, own) != 0) {
        release(own);
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

/* What makecontext hands on are ints. */
static __thread struct visit *visit __attribute__((tls_model("initial-exec")));

static void begin(void)
{
    struct visit *now = visit;
    now->result = now->function(now->arg);
}

int cs_stack_run(int (*function)(void *arg), void *arg)
{
    struct visit now = {.function = function, .arg = arg};
    ucontext_t here, there;
    if (getcontext(&there) != 0 || !own_stack())
        return function(arg);
    there.uc_stack.ss_sp = thread.own + GUARD;
    there.uc_stack.ss_size = BYTES;
    there.uc_link = &here;
    makecontext(&there, begin, 0);
    visit = &now;
    if (swapcontext(&here, &there) != 0)
        return function(arg);
    return now.result;
}
