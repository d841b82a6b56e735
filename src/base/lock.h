/* The library's locks. All code uses these functions, so that one rule can be checked: a thread
 * takes locks in the order of locks.def, and holds none while foreign code runs. Foreign code is
 * the loader, NVIDIA's libraries and the application's allocator. It may wait for its own lock,
 * whose holder may be waiting for one of these.
 *
 * Each thread records the locks that it holds in one word. Violations are counted, and a debug
 * build (CS_DEBUG) prints them to standard error. A violation never refuses a lock. */
#ifndef CS_BASE_LOCK_H
#define CS_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>

enum cs_lock_rank {
#define CS_LOCK(id, guards, where) CS_RANK_##id,
#include "base/locks.def"
#undef CS_LOCK
    CS_RANKS
};

struct cs_lock {
    pthread_mutex_t mutex;
    enum cs_lock_rank rank;
};

#define CS_LOCK_INITIALIZER(id)                                                                    \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, CS_RANK_##id                                                    \
    }

/* A condition variable for such a lock, with timeouts by the monotonic clock. */
struct cs_condition {
    pthread_cond_t condition;
};

void cs_lock_init(struct cs_lock *lock, enum cs_lock_rank rank);
void cs_lock(struct cs_lock *lock);
void cs_unlock(struct cs_lock *lock);

/* Takes one more lock of a rank that the thread holds already. Callers take these in one order. */
void cs_lock_next(struct cs_lock *lock);

/* Initializes a condition. Also makes one usable again in a forked child, which has no waiting
 * threads. */
void cs_lock_condition_init(struct cs_condition *condition);
void cs_lock_condition_wake(struct cs_condition *condition); /* wakes all waiting threads */

/* Releases the lock until the condition is signalled or the monotonic clock reaches `nanoseconds`.
 * False on timeout. The thread cannot be cancelled during the wait, because it would then end with
 * the lock held. */
bool cs_lock_condition_wait(struct cs_condition *condition, struct cs_lock *lock,
                            long long nanoseconds);

/* The ranks that the calling thread holds, one bit each. */
extern __thread unsigned cs_locks_held __attribute__((tls_model("initial-exec")));

/* Counts a violation. `what`: the lock or the foreign function, for the debug build's line. */
void cs_lock_fault(const char *what);

/* Called before foreign code is entered: counts a violation if the thread holds a lock. */
static inline void cs_lock_expect_none(const char *what)
{
    if (__builtin_expect(cs_locks_held != 0, false))
        cs_lock_fault(what);
}

/* The number of violations so far. */
int cs_lock_faults(void);

#endif
