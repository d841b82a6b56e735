#include "shim/instance.h"

#include "base/checked.h"
#include "base/log.h"
#include "shim/bypass.h"
#include <errno.h>
#include <stdlib.h>

enum {
    MAX_POLICIES = 32,
    SUMMARY_BYTES = 8192,
    BYPASS_BYTES = 200,
    NANOSECONDS = 1000000 /* of the milliseconds that options are given in */
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

static void summary_at_exit(void)
{
    static char text[SUMMARY_BYTES];
    char vendor[64], bypass[BYPASS_BYTES] = "";
    if (instance->config.summary == CS_SUMMARY_OFF)
        return;
    if (instance->account.calls > 0)
        cs_bypass_find(bypass, sizeof bypass);
    cs_vendor_version(vendor, sizeof vendor);
    const struct cs_arena_facts own = cs_arena_facts(&instance->exec.arena);
    const struct cs_turns_facts turns = cs_turns_facts(&instance->turns);
    struct cs_summary_head head = {.version = CS_VERSION,
                                   .vendor = vendor,
                                   .policy = instance->policy->name,
                                   .config = instance->config.source,
                                   .bypass = bypass,
                                   .workspace = instance->limits.workspace,
                                   .own = {.limit = own.limit,
                                           .peak = own.peak,
                                           .allocations = own.allocations,
                                           .captured = own.captured,
                                           .lost = own.lost,
                                           .handed_over = own.waits,
                                           .refused = own.refused},
                                   .turns = {.waits = turns.waits,
                                             .vain = turns.vain,
                                             .nanoseconds = turns.waited,
                                             .given_up = turns.given_up}};
    if (cs_summary_text(&instance->account, &head, text, sizeof text) > 0)
        cs_log_text(text);
}

/* Locks are held across the fork so that the child finds them free and what they guard whole. */
static void before_fork(void)
{
    pthread_mutex_lock(&lock);
    cs_vendor_fork(true);
    pthread_mutex_lock(&instance->memo.lock);
    cs_exec_process_fork(&instance->exec, true, false);
    cs_turns_fork(&instance->turns, true, false);
    pthread_mutex_lock(&instance->account.lock);
}

static void after_fork(bool child)
{
    pthread_mutex_unlock(&instance->account.lock);
    cs_turns_fork(&instance->turns, false, child);
    cs_exec_process_fork(&instance->exec, false, child);
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
}

/* The most that arenas may hold. */
static int64_t arena_limit(const struct cs_config *config)
{
    int64_t limit = config->arena;
    if (limit == CS_CONFIG_AUTO && !cs_mul(config->workspace, 2, &limit))
        limit = INT64_MAX;
    return config->interleave_budget > 0 ? config->interleave_budget : limit;
}

/* What one convolution may use: where scratch is ours, no more than there may be. */
static int64_t workspace_limit(const struct cs_config *config)
{
    int64_t arena = arena_limit(config);
    bool bounded = config->backing == CS_CONFIG_BACKING_OWN && arena > 0;
    return bounded && arena < config->workspace ? arena : config->workspace;
}

static void configure(struct cs *cs)
{
    const char *names[MAX_POLICIES + 1] = {NULL};
    for (int i = 0; i < MAX_POLICIES && cs_policies[i]; i++)
        names[i] = cs_policies[i]->name;
    /* Twice: what to say about the options goes where the options say. */
    cs_config_load(&cs->config, program_invocation_short_name, names, NULL, NULL);
    cs_log_open((enum cs_level)cs->config.log, cs->config.log_file.text);
    cs_config_load(&cs->config, program_invocation_short_name, names, note, NULL);
    cs->policy = cs_policy_find(cs->config.policy.text);
    int64_t workspace = workspace_limit(&cs->config);
    cs->limits = (struct cs_limits){
        .workspace = workspace,
        .threshold = cs->config.threshold == CS_CONFIG_AUTO ? workspace : cs->config.threshold,
        .tiles = cs->config.tiles,
        .lanes = cs->config.lanes == CS_CONFIG_AUTO ? 0 : (int)cs->config.lanes,
        .staging = (enum cs_staging)cs->config.staged,
        .huge = cs->config.huge,
        .lent = cs->config.backing == CS_BACKING_OWN};
}

static void provide(struct cs *cs)
{
    cs_exec_init(&cs->exec, cs_vendor_device(), (enum cs_backing)cs->config.backing,
                 arena_limit(&cs->config));
    cs_turns_init(&cs->turns, cs->config.interleave_timeout * NANOSECONDS);
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
