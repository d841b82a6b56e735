/* Mutexes that check the order of locks.def, and condition variables for them. */
#include "base/lock.h"

#include "base/clock.h"
#include "base/log.h"
#include <errno.h>
#include <stdatomic.h>

__thread unsigned cs_locks_held;

static atomic_int faults;

static const char *const rank_names[CS_RANKS] = {
#define CS_LOCK(id, guards, where) #id,
#include "base/locks.def"
#undef CS_LOCK
};

/* The name of the highest rank that the thread holds, which it took last. */
static const char *held_name(void)
{
    return cs_locks_held ? rank_names[31 - __builtin_clz(cs_locks_held)] : "none";
}

void cs_lock_fault(const char *what)
{
    static struct cs_log_cap cap;
    atomic_fetch_add(&faults, 1);
#ifdef CS_DEBUG
    cs_log_capped(&cap, CS_LOG_ERROR, "lock order broken: %s while %s is held", what, held_name());
#else
    (void)cap;
    (void)what;
    (void)held_name;
#endif
}

int cs_lock_faults(void)
{
    return atomic_load(&faults);
}

void cs_lock_init(struct cs_lock *lock, enum cs_lock_rank rank)
{
    pthread_mutex_init(&lock->mutex, NULL);
    lock->rank = rank;
}

/* Takes a lock. Its bit is set before that and cleared after the release. So a signal handler that
 * finds no bit may wait for any lock. */
static void acquire_mutex(struct cs_lock *lock)
{
    cs_locks_held |= 1U << lock->rank;
    atomic_signal_fence(memory_order_seq_cst);
    pthread_mutex_lock(&lock->mutex);
}

void cs_lock(struct cs_lock *lock)
{
    if (cs_locks_held >> lock->rank)
        cs_lock_fault(rank_names[lock->rank]);
    acquire_mutex(lock);
}

void cs_lock_next(struct cs_lock *lock)
{
    if (cs_locks_held >> lock->rank >> 1)
        cs_lock_fault(rank_names[lock->rank]);
    acquire_mutex(lock);
}

void cs_unlock(struct cs_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
    atomic_signal_fence(memory_order_seq_cst);
    cs_locks_held &= ~(1U << lock->rank);
}

void cs_lock_condition_init(struct cs_condition *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition->condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

void cs_lock_condition_wake(struct cs_condition *condition)
{
    pthread_cond_broadcast(&condition->condition);
}

bool cs_lock_condition_wait(struct cs_condition *condition, struct cs_lock *lock,
                            long long nanoseconds)
{
    struct timespec until = {.tv_sec = nanoseconds / CS_SECOND, .tv_nsec = nanoseconds % CS_SECOND};
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int status = pthread_cond_timedwait(&condition->condition, &lock->mutex, &until);
    pthread_setcancelstate(cancel, NULL);
    return status != ETIMEDOUT;
}
