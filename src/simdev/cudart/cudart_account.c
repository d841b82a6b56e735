/* Account mode: counters by name of work that is counted instead of executed, and of functions that
 * are missing. */
#include "cudart_account.h"
#include "cudart_bytes.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BUCKETS = 4096
};

/* Names are never forgotten: work in graphs refers to them. */
struct simdev_tally {
    struct simdev_tally *next;
    enum simdev_tally_kind kind;
    atomic_ullong count;
    char name[];
};

static bool on;
static enum {
    MISSING_WARN,
    MISSING_FAIL,
    MISSING_ALLOW
} missing;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct simdev_tally *buckets[BUCKETS]; /* under lock */

static bool init_missing(void)
{
    const char *value = getenv("SIMDEV_MISSING");
    if (!value || !*value || strcmp(value, "warn") == 0)
        missing = MISSING_WARN;
    else if (strcmp(value, "fail") == 0)
        missing = MISSING_FAIL;
    else if (strcmp(value, "allow") == 0)
        missing = MISSING_ALLOW;
    else {
        simdev_violation("SIMDEV_MISSING %s: not fail, warn or allow", value);
        return false;
    }
    return true;
}

bool simdev_account_init(void)
{
    const char *value = getenv("SIMDEV_MODE");
    on = value && strcmp(value, "account") == 0;
    if (value && *value && !on && strcmp(value, "compute") != 0) {
        simdev_violation("SIMDEV_MODE %s: not compute or account", value);
        return false;
    }
    return init_missing();
}

bool simdev_account_mode(void)
{
    (void)simdev_usable();
    return on;
}

bool simdev_account_on(void)
{
    return on;
}

static size_t bucket_of(const char *name)
{
    size_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash % BUCKETS;
}

struct simdev_tally *simdev_tally(enum simdev_tally_kind kind, const char *name)
{
    struct simdev_tally **link = &buckets[bucket_of(name)];
    const size_t bytes = strlen(name) + 1;
    pthread_mutex_lock(&lock);
    while (*link && ((*link)->kind != kind || strcmp((*link)->name, name) != 0))
        link = &(*link)->next;
    if (!*link && (*link = calloc(1, sizeof(**link) + bytes))) {
        (*link)->kind = kind;
        memcpy((*link)->name, name, bytes);
    }
    struct simdev_tally *found = *link;
    pthread_mutex_unlock(&lock);
    return found;
}

uint64_t simdev_tally_add(struct simdev_tally *tally)
{
    return tally ? atomic_fetch_add(&tally->count, 1) + 1 : 0;
}

void simdev_tally_each(enum simdev_tally_kind kind, simdev_tally_seen *seen, void *arg)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct simdev_tally *t = buckets[i]; t; t = t->next)
            if (t->kind == kind && atomic_load(&t->count) > 0)
                seen(t->name, atomic_load(&t->count), arg);
    pthread_mutex_unlock(&lock);
}

static void run_counted(void *arg)
{
    struct simdev_tally *tally = arg;
    simdev_tally_add(tally);
    if (tally)
        simdev_count(tally->kind == SIMDEV_TALLY_KERNEL ? SIMDEV_KERNEL_LAUNCHES
                                                        : SIMDEV_LIBRARY_CALLS);
}

/* Work that adds one to the counter each time it runs. */
static struct simdev_work work_of_call(struct simdev_tally *tally, const struct simdev_cost *cost)
{
    return (struct simdev_work){.run = run_counted,
                                .arg = tally,
                                .maker = tally,
                                .cost = cost ? *cost : (struct simdev_cost){.bytes = 0}};
}

cudaError_t simdev_account_call(cudaStream_t stream, const char *name,
                                const struct simdev_cost *cost)
{
    const struct simdev_work work = work_of_call(simdev_tally(SIMDEV_TALLY_CALL, name), cost);
    return simdev_enqueue(stream, &work);
}

void simdev_account_written(const void *memory, size_t bytes)
{
    if (on && memory && bytes > 0)
        simdev_bytes_forget(memory, bytes);
}

bool simdev_missing(const char *function)
{
    (void)simdev_usable();
    const uint64_t count = simdev_tally_add(simdev_tally(SIMDEV_TALLY_MISSING, function));
    const bool fails = !on || missing == MISSING_FAIL;
    char line[256];
    if (count == 1 && missing != MISSING_ALLOW) {
        const int length =
            snprintf(line, sizeof line, "simdev: %s is not simulated. The call %s.\n", function,
                     fails ? "fails" : "returns success without any effect");
        const ssize_t ignored = write(
            STDERR_FILENO, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
        (void)ignored;
    }
    return fails;
}

void simdev_refused(const char *function)
{
    (void)simdev_usable();
    simdev_tally_add(simdev_tally(SIMDEV_TALLY_MISSING, function));
}

void simdev_looked_up(const char *function)
{
    (void)simdev_usable();
    simdev_tally_add(simdev_tally(SIMDEV_TALLY_LOOKED_UP, function));
}

void simdev_estimated(const char *function)
{
    (void)simdev_usable();
    simdev_tally_add(simdev_tally(SIMDEV_TALLY_GUESSED, function));
}

void simdev_note_plan(const char *plan, const char *problem)
{
    simdev_tally_add(simdev_tally(SIMDEV_TALLY_PLAN, plan));
    if (*problem)
        simdev_tally_add(simdev_tally(SIMDEV_TALLY_PROBLEM, problem));
}
