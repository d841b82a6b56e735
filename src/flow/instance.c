/* Makes the instance at the first intercepted call, keeps it over fork, ends it with the process.
 */
#include "flow/instance.h"

#include "base/clock.h"
#include "base/log.h"
#include "config/limits.h"
#include "config/session.h"
#include "flow/ending.h"
#include "level/level.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum state {
    UNKNOWN,
    OFF,
    READY
};

static _Atomic(enum state) state;
static struct cs *instance;

/* The process in which a thread is making the instance, or 0. Not a lock: a child that is forked
 * during that time finds its parent's id here, and makes the instance itself. */
static _Atomic(pid_t) starter;

/* True if this thread holds the locks across a fork. */
static __thread bool forking __attribute__((tls_model("initial-exec")));

/* An instance that a thread prepares without a lock, because preparing it calls the loader and the
 * application's allocator. If several threads prepare one, one of them is used. */
struct candidate {
    struct cs *cs;
    char *notes; /* about the options, one in each line */
    size_t used, room;
    char vendor[CS_VENDOR_NAME]; /* cuDNN's version if it is not supported, else "" */
};

/* Appends a line to the candidate's notes. Without memory, the line is lost. */
static void store_note(void *ctx, const char *line)
{
    struct candidate *mine = ctx;
    size_t length = strlen(line) + 1;
    if (mine->used + length > mine->room) {
        size_t room = 2 * (mine->room + length);
        char *more = realloc(mine->notes, room);
        if (!more)
            return;
        mine->notes = more;
        mine->room = room;
    }
    memcpy(mine->notes + mine->used, line, length);
    mine->used += length;
}

static void log_notes(const struct candidate *mine)
{
    for (size_t at = 0; at < mine->used; at += strlen(mine->notes + at) + 1)
        cs_log(CS_LOG_WARN, "%s", mine->notes + at);
    if (mine->vendor[0])
        cs_log(CS_LOG_WARN,
               "%s is not supported, so all calls run unchanged. convshim needs cuDNN 9.",
               mine->vendor);
}

int64_t cs_instance_now_ms(void)
{
    return cs_clock(CLOCK_REALTIME) / CS_MILLISECOND;
}

/* Takes all locks before a fork. They are held across the fork, so that the child finds them free
 * and their data consistent. */
static void before_fork(void)
{
    forking = atomic_load(&state) == READY;
    if (!forking)
        return;
    instance->host->fork(true);
    cs_lock(&instance->memo.lock);
    cs_lock(&instance->peak.lock);
    cs_exec_process_fork(&instance->exec, true, false);
    cs_lock(&instance->account.lock);
    cs_level_fork(&cs_levels, true);
}

/* Releases the locks, in the reverse order. */
static void after_fork(bool child)
{
    if (!forking)
        return;
    forking = false;
    cs_level_fork(&cs_levels, false);
    cs_unlock(&instance->account.lock);
    cs_exec_process_fork(&instance->exec, false, child);
    cs_unlock(&instance->peak.lock);
    cs_unlock(&instance->memo.lock);
    instance->host->fork(false);
}

static void after_fork_in_parent(void)
{
    after_fork(false);
}

/* Releases the locks in a child, whose counters start at zero. */
static void after_fork_in_child(void)
{
    if (!forking)
        return;
    after_fork(true);
    cs_account_reset(&instance->account);
    instance->start_ms = cs_instance_now_ms();
    cs_ending_fork(instance);
}

static void read_options(struct candidate *mine)
{
    struct cs *cs = mine->cs;
    cs->program = program_invocation_short_name;
    cs->start_ms = cs_instance_now_ms();
    cs_program_script(cs->script);
    cs_config_load_script(&cs->config, cs->program, cs->script, cs_policy_names, store_note, mine);
    cs->policy = cs_policy_find(cs->config.policy.text);
    cs_limits_rules(&cs->config, cs->program, cs->script, &cs->rules);
    cs->limits = cs_limits_of(&cs->config, &cs->rules);
}

/* Initializes the parts of the instance. Allocates pages and makes system calls. Calls no foreign
 * code. */
static void open_parts(struct cs *cs)
{
    cs_log_open((enum cs_level)cs->config.log, cs->config.log_file.text);
    cs_file_place_set(&cs->summary, cs->config.summary.path);
    cs_memo_init(&cs->memo);
    cs_account_init(&cs->account);
    cs_convolution_peak_init(&cs->peak);
    cs_exec_init(&cs->exec, cs->host->device, (enum cs_backing)cs->config.backing,
                 cs_limits_arena(&cs->config, &cs->rules));
}

/* Registers the fork handlers, once. Before the instance exists, they do nothing. */
static void register_fork(void)
{
    static atomic_flag registered = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&registered))
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Adds a note if LD_PRELOAD has a second copy of the library. */
static void note_copy(const struct cs_host *host, struct candidate *mine)
{
    char line[PATH_MAX + 128];
    const char *file = host->second_copy();
    if (!file)
        return;
    snprintf(line, sizeof line,
             "LD_PRELOAD has two copies of convshim. The second one does nothing: %s. Remove it "
             "from LD_PRELOAD.",
             file);
    store_note(mine, line);
}

/* Prepares an instance. False if the library is not active in this process. */
static bool prepare_candidate(const struct cs_host *host, struct candidate *mine)
{
    *mine = (struct candidate){.cs = NULL};
    if (cs_config_disabled())
        return false;
    register_fork();
    /* The tables are sized for large programs. Untouched zero pages use no memory. */
    mine->cs = calloc(1, sizeof *mine->cs);
    if (!mine->cs)
        return false;
    mine->cs->host = host;
    read_options(mine);
    note_copy(host, mine);
    if (!host->supported())
        host->version(mine->vendor, sizeof mine->vendor);
    return mine->cs->policy && !mine->vendor[0];
}

static void discard_candidate(struct candidate *mine)
{
    free(mine->cs);
    free(mine->notes);
}

/* Waits until this thread may make the instance (true), or another one has made it (false). */
static bool is_elected(void)
{
    const struct timespec moment = {.tv_nsec = 50000};
    const pid_t self = getpid();
    while (atomic_load_explicit(&state, memory_order_acquire) == UNKNOWN) {
        pid_t other = 0;
        if (atomic_compare_exchange_strong(&starter, &other, self) ||
            (other != self && atomic_compare_exchange_strong(&starter, &other, self)))
            return true;
        nanosleep(&moment, NULL);
    }
    return false;
}

/* Makes the instance, or waits until another thread has made it. Returns the state after that.
 * Cancellation is disabled, because all other threads would wait for a cancelled one. Not inlined,
 * because it runs once. */
__attribute__((noinline)) static enum state start_instance(const struct cs_host *host)
{
    struct candidate mine;
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    bool usable = prepare_candidate(host, &mine);
    if (is_elected()) {
        if (usable) {
            open_parts(mine.cs);
            instance = mine.cs;
            mine.cs = NULL;
        } else if (mine.cs) {
            cs_log_open((enum cs_level)mine.cs->config.log, mine.cs->config.log_file.text);
        }
        atomic_store_explicit(&state, usable ? READY : OFF, memory_order_release);
        log_notes(&mine);
        if (usable)
            cs_ending_begin(instance);
    }
    discard_candidate(&mine);
    pthread_setcancelstate(cancel, NULL);
    return atomic_load_explicit(&state, memory_order_acquire);
}

bool cs_instance_off(void)
{
    enum state now = atomic_load_explicit(&state, memory_order_relaxed);
    return now == OFF || (now == UNKNOWN && cs_config_disabled());
}

struct cs *cs_instance_made(void)
{
    return atomic_load_explicit(&state, memory_order_acquire) == READY ? instance : NULL;
}

struct cs *cs_instance(const struct cs_host *host)
{
    enum state now = atomic_load_explicit(&state, memory_order_acquire);
    if (now == UNKNOWN)
        now = start_instance(host);
    return now == READY ? instance : NULL;
}
