/* The one instance: absent if the vendor's library is not supported; its options; its state after a
 * fork; the summary that others read while it lives. */
#include "flow/instance.h"
#include "level/level.h"

#include "account/session_files.h"
#include "base/lock.h"
#include "check.h"
#include "config/session.h"
#include "flow/ending.h"
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static int held, freed;
static bool is_supported;

static void version(char *text, size_t size)
{
    snprintf(text, size, "cuDNN 9.1.0");
}

static void no_text(char *text, size_t size)
{
    (void)size;
    text[0] = '\0';
}

static bool supported(void)
{
    return is_supported;
}

static void fork_host(bool before)
{
    held += before;
    freed += !before;
}

static size_t bypassed(char *text, size_t size)
{
    no_text(text, size);
    return 0;
}

static const struct cs_device device;
static const char *second_copy(void)
{
    return NULL;
}

static const struct cs_host host = {.device = &device,
                                    .version = version,
                                    .file = no_text,
                                    .supported = supported,
                                    .second_copy = second_copy,
                                    .fork = fork_host,
                                    .bypassed = bypassed};

/* Runs `check` in a child. Returns the child's status, 0 if all checks hold. */
static int status_of_child(int (*check)(void))
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(check());
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : -1;
}

static int try_unsupported(void)
{
    is_supported = false;
    return cs_instance(&host) || !cs_instance_off() || cs_instance_made() ? 1 : 0;
}

static void unsupported_cudnn_has_no_instance(void)
{
    CHECK_INT(status_of_child(try_unsupported), 0);
    CHECK(!cs_instance_off());
}

static void options_are_read_at_the_start(void)
{
    is_supported = true;
    struct cs *cs = cs_instance(&host);
    CHECK(cs && cs_instance_made() == cs && cs_instance(&host) == cs);
    CHECK_INT(cs->limits.workspace, 3 << 20);
    CHECK_STR(cs->policy->name, "off");
}

static int look_in_child(void)
{
    struct cs *cs = cs_instance_made();
    if (held != 1 || freed != 1)
        return 1;
    if (!cs || cs->account.calls != 0)
        return 2;
    /* Locks held across the fork are free. */
    cs_lock(&cs->memo.lock);
    cs_unlock(&cs->memo.lock);
    cs_account_passed(&cs->account, NULL, CS_REASON_SMALL);
    if (cs->account.calls != 1)
        return 3;
    /* The child has no scratch of its parent. */
    return cs_arena_facts(&cs->exec.arena).refused == 0 ? 0 : 4;
}

/* Ranks of the locks that are held while the process forks. The handler that registers first runs
 * last. */
static unsigned held_at_fork;

static void note_locks(void)
{
    held_at_fork = cs_locks_held;
}

static int hold_none(void)
{
    return cs_locks_held == 0 ? 0 : 1;
}

/* All but those that the host holds itself. */
static void every_lock_is_held_across_a_fork(void)
{
    static const enum cs_lock_rank ranks[] = {CS_RANK_MEMO,  CS_RANK_PEAK,    CS_RANK_LANES,
                                              CS_RANK_ARENA, CS_RANK_ACCOUNT, CS_RANK_LEVEL};
    cs_level_note(&cs_levels, 0, NULL, 1, 1, 1); /* a device has a lock after its first report */
    CHECK_INT(sizeof ranks / sizeof *ranks, CS_RANKS - CS_RANK_MEMO);
    held_at_fork = 0;
    CHECK_INT(status_of_child(hold_none), 0);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        CHECK((held_at_fork >> ranks[i] & 1) == 1);
    CHECK_INT(cs_locks_held, 0);
    CHECK_INT(held, freed);
    held = freed = 0;
}

/* The counts of a new account: all members before the lock, and from `folds` on. */
static int look_for_zeros(void)
{
    static struct cs_account fresh;
    const size_t folds = offsetof(struct cs_account, folds);
    const struct cs *cs = cs_instance_made();
    const char *counts = (const char *)&cs->account, *none = (const char *)&fresh;
    if (memcmp(counts, none, offsetof(struct cs_account, lock)) != 0)
        return 1;
    if (memcmp(counts + folds, none + folds, sizeof fresh - folds) != 0)
        return 2;
    return cs->reported != 0 ? 3 : cs->start_ms < 2 ? 4 : 0;
}

static int fork_with_every_count(void)
{
    const size_t folds = offsetof(struct cs_account, folds);
    struct cs *cs = cs_instance_made();
    memset(&cs->account, 1, offsetof(struct cs_account, lock));
    memset((char *)&cs->account + folds, 1, sizeof cs->account - folds);
    cs->reported = cs->start_ms = 1;
    return status_of_child(look_for_zeros);
}

static uint64_t no_context(void *ctx)
{
    return ctx ? 1 : 0;
}

static void child_starts_its_own_counts(void)
{
    struct cs *cs = cs_instance_made();
    for (int i = 0; i < 5; i++)
        cs_account_passed(&cs->account, NULL, CS_REASON_SMALL);
    CHECK_INT(status_of_child(fork_with_every_count), 0);
    held = freed = 0;
    const struct cs_device without_context = {.context = no_context};
    const struct cs_capture no_capture = {.id = 0};
    struct cs_lease lease;
    CHECK(!cs_arena_take(&cs->exec.arena, &without_context, NULL, &no_capture, 1, true, &lease));
    CHECK_INT(cs_arena_facts(&cs->exec.arena).refused, 1);
    CHECK_INT(status_of_child(look_in_child), 0);
    CHECK_INT(cs_arena_facts(&cs->exec.arena).refused, 1);
    CHECK(held == 1 && freed == 1);
    CHECK_INT(cs->account.calls, 5);
    cs_account_passed(&cs->account, NULL, CS_REASON_SMALL);
    CHECK_INT(cs->account.calls, 6);
}

/* Other threads may count calls while a report is written. A thread that claims to hold a
 * lock below the innermost breaks the lock order with each other lock that it takes: the
 * peak's, the arena's and the account's. */
static void reports_take_the_accounts_lock(void)
{
    static const struct {
        enum cs_moment moment;
        int locks;
    } rows[] = {{CS_MOMENT_RUNNING, 4}, {CS_MOMENT_EXIT, 4}, {CS_MOMENT_KILLED, 4}};
    struct cs *cs = cs_instance_made();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int before = cs_lock_faults();
        cs->config.summary.form = CS_SUMMARY_JSON;
        cs_account_passed(&cs->account, NULL, CS_REASON_SMALL);
        cs_locks_held |= 1U << CS_RANKS;
        cs_ending_write(cs, rows[i].moment);
        cs_locks_held = 0;
        CHECK_INT(cs_lock_faults() - before, rows[i].locks);
        /* It is free again. */
        CHECK_INT(pthread_mutex_trylock(&cs->account.lock.mutex), 0);
        pthread_mutex_unlock(&cs->account.lock.mutex);
    }
    cs->config.summary.form = CS_SUMMARY_OFF;
}

int main(void)
{
    static char folder[] = "/tmp/test_instance.XXXXXX";
    char remove[64];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    setenv("XDG_RUNTIME_DIR", folder, 1);
    setenv("XDG_CONFIG_HOME", folder, 1);
    setenv("HOME", folder, 1);
    setenv("CONVSHIM_CONFIG", "workspace=3MiB;policy=off;summary=off", 1);
    pthread_atfork(note_locks, NULL, NULL);
    TEST(unsupported_cudnn_has_no_instance);
    TEST(options_are_read_at_the_start);
    TEST(every_lock_is_held_across_a_fork);
    TEST(child_starts_its_own_counts);
    TEST(reports_take_the_accounts_lock);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
