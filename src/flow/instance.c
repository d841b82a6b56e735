/* Makes the one instance at the first intercepted call, carries it over fork, ends it with the
 * process. */
#include "flow/instance.h"

#include "base/checked.h"
#include "base/log.h"
#include "config/program.h"
#include "flow/exit_report.h"
#include "flow/limits.h"
#include "flow/traced_gpu.h"
#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum {
    BUDGET_WORKSPACES = 8, /* that a total has where the user says nothing */
    NANOSECONDS = 1000000  /* of the milliseconds that options are given in */
};

enum state {
    UNKNOWN,
    OFF,
    READY
};

static _Atomic(enum state) state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cs *instance;

static void note(void *ctx, const char *line)
{
    (void)ctx;
    cs_log(CS_LOG_WARN, "%s", line);
}

int64_t cs_instance_now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * INT64_C(1000) + time.tv_nsec / 1000000;
}

static void summary_at_exit(void)
{
    cs_exit_report_write(instance);
    cs_exit_report_trace(instance);
}

/* Locks are held across the fork so that the child finds them free and what they guard whole. */
static void before_fork(void)
{
    pthread_mutex_lock(&lock);
    cs_vendor_fork(true);
    pthread_mutex_lock(&instance->memo.lock);
    pthread_mutex_lock(&instance->budget.lock);
    pthread_mutex_lock(&instance->store.lock);
    cs_exec_process_fork(&instance->exec, true, false);
    cs_gate_fork(&instance->gate, true, false);
    pthread_mutex_lock(&instance->account.lock);
    cs_trace_fork(&instance->trace, true, false);
}

static void after_fork(bool child)
{
    cs_trace_fork(&instance->trace, false, child);
    pthread_mutex_unlock(&instance->account.lock);
    cs_gate_fork(&instance->gate, false, child);
    cs_exec_process_fork(&instance->exec, false, child);
    pthread_mutex_unlock(&instance->store.lock);
    pthread_mutex_unlock(&instance->budget.lock);
    pthread_mutex_unlock(&instance->memo.lock);
    cs_vendor_fork(false);
    pthread_mutex_unlock(&lock);
}

static void after_fork_in_parent(void)
{
    after_fork(false);
}

/* A child reports what it did itself. */
static void after_fork_in_child(void)
{
    after_fork(true);
    cs_account_reset(&instance->account);
    instance->start_ms = cs_instance_now_ms();
}

/* What all convolutions together may be told to bring. */
static int64_t budget_total(const struct cs_config *config)
{
    int64_t total = config->budget_total;
    if (total == CS_CONFIG_AUTO && !cs_mul(config->workspace, BUDGET_WORKSPACES, &total))
        total = INT64_MAX;
    return total;
}

static void configure(struct cs *cs)
{
    cs->program = program_invocation_short_name;
    cs->start_ms = cs_instance_now_ms();
    /* Twice: what to say about the options goes where the options say. */
    cs_config_load(&cs->config, cs->program, cs_policy_names, NULL, NULL);
    cs_log_open((enum cs_level)cs->config.log, cs->config.log_file.text);
    cs_config_load(&cs->config, cs->program, cs_policy_names, note, NULL);
    cs_trace_open(&cs->trace, cs->config.trace.text, cs->config.trace_limit, cs->program);
    cs_place_set(&cs->summary, cs->config.summary.path);
    cs->policy = cs_policy_find(cs->config.policy.text);
    cs_limits_rules(&cs->config, cs->program, &cs->rules);
    cs->limits = cs_limits_of(&cs->config, &cs->rules, cs->policy);
}

/* The program under these options: under others its sites ask for other sizes. */
static uint64_t budget_program(const struct cs *cs)
{
    const int64_t words[] = {(int64_t)cs_program_number(), cs->limits.workspace,
                             cs->limits.threshold, cs->limits.lanes, cs->limits.lent};
    return cs_store_key(words, sizeof words / sizeof *words).part[0];
}

static void provide(struct cs *cs)
{
    char place[CS_STORE_PATH];
    cs_store_place(place);
    cs_store_init(&cs->store, place);
    cs_budget_init(&cs->budget, budget_total(&cs->config), budget_program(cs));
    cs_exec_init(&cs->exec, cs_vendor_device(), (enum cs_backing)cs->config.backing,
                 cs_limits_arena(&cs->config, &cs->rules));
    if (cs_trace_on(&cs->trace))
        cs->exec.arena.watch = (struct cs_scratch_watch){cs_traced_scratch, &cs->trace};
    cs_gate_init(&cs->gate, cs->config.interleave_timeout * NANOSECONDS);
}

static bool vendor_served(void)
{
    char vendor[64];
    if (cs_vendor_supported())
        return true;
    cs_vendor_version(vendor, sizeof vendor);
    cs_log(CS_LOG_WARN, "%s is not supported: every call passes through", vendor);
    return false;
}

static struct cs *create(void)
{
    /* Zero pages that nobody touches cost nothing: the tables are sized for large programs. */
    struct cs *cs = calloc(1, sizeof *cs);
    if (!cs)
        return NULL;
    cs_memo_init(&cs->memo);
    cs_account_init(&cs->account);
    configure(cs);
    if (!cs->policy || !vendor_served()) {
        free(cs);
        return NULL;
    }
    provide(cs);
    return cs;
}

static enum state start(void)
{
    if (cs_config_disabled())
        return OFF;
    instance = create();
    if (!instance)
        return OFF;
    atexit(summary_at_exit);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return READY;
}

struct cs *cs_instance(void)
{
    enum state now = atomic_load_explicit(&state, memory_order_acquire);
    if (now == UNKNOWN) {
        pthread_mutex_lock(&lock);
        now = atomic_load_explicit(&state, memory_order_relaxed);
        if (now == UNKNOWN) {
            now = start();
            atomic_store_explicit(&state, now, memory_order_release);
        }
        pthread_mutex_unlock(&lock);
    }
    return now == READY ? instance : NULL;
}
