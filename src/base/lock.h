/* The library's locks. All of them go through here, so that one rule can be checked: a thread takes
 * them in the order of locks.def, and holds none while code runs that is not ours: the loader,
 * NVIDIA's libraries, the application's allocator. Such code may wait for a lock of its own, whose
 * holder may be waiting for one of ours.
 *
 * A thread notes what it holds in one word. What breaks the rule is counted, and a debug build
 * (CS_DEBUG) says so on standard error; nothing is ever refused. */
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

/* A condition that is waited for with such a lock, by the monotonic clock. */
struct cs_condition {
    pthread_cond_t condition;
};

void cs_lock_init(struct cs_lock *lock, enum cs_lock_rank rank);
void cs_lock(struct cs_lock *lock);
void cs_unlock(struct cs_lock *lock);

/* One more lock of a rank that the thread holds already: the caller takes them in one order. */
void cs_lock_next(struct cs_lock *lock);

/* Also makes one usable again in a forked child, where those who waited are not. */
void cs_lock_condition_init(struct cs_condition *condition);
void cs_lock_condition_tell(struct cs_condition *condition); /* all who wait */

/* Frees the lock until reported or until the monotonic clock shows `nanoseconds`; false if it was
 * the clock. The thread cannot be cancelled meanwhile: it would end with the lock taken. */
bool cs_lock_condition_wait(struct cs_condition *condition, struct cs_lock *lock,
                            long long nanoseconds);

/* The ranks that the calling thread holds, a bit each. */
extern __thread unsigned cs_locks_held __attribute__((tls_model("initial-exec")));

/* To be called where foreign code is entered: notes a fault if the thread holds a lock. */
void cs_lock_fault(const char *what);
static inline void cs_locks_free(const char *what)
{
    if (__builtin_expect(cs_locks_held != 0, false))
        cs_lock_fault(what);
}

/* How often the rule was broken. */
int cs_lock_faults(void);

#endif
