/* The summary of a process that may end without exit. */
#include "flow/renewal.h"

#include "base/clock.h"
#include "base/stack.h"
#include "config/session.h"
#include "flow/exit_report.h"
#include "flow/sign_of_life.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum {
    EVERY = 10 /* seconds */
};

static struct cs *instance;
static char vendor[64];
static _Atomic(pid_t) process; /* 0: no report is due */
static _Atomic(int64_t) due;   /* seconds of the monotonic clock */

static int64_t now(void)
{
    return cs_clock(CLOCK_MONOTONIC_COARSE) / CS_SECOND;
}

static void leave_to_default(int signal)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, NULL);
    raise(signal); /* when this handler returns */
}

static int write_early(void *unused)
{
    (void)unused;
    cs_exit_report_early(instance, vendor);
    return 0;
}

static int write_last(void *unused)
{
    (void)unused;
    cs_exit_report_last(instance, vendor);
    cs_sign_end(instance);
    return 0;
}

/* The file of a running process stays, and the next reader removes it: _exit must not fail for a
 * file that could not be opened, for example in a sandbox that kills the process for the attempt.
 */
static int write_at_exit(void *unused)
{
    (void)unused;
    cs_exit_report_last(instance, vendor);
    return 0;
}

bool cs_renewal_due(void)
{
    return process != 0 && cs_exit_report_due(instance);
}

/* Waits only for locks whose holders continue: a thread holds no lock of the library in foreign
 * code, and a thread that holds one itself does not wait. The child of a vfork uses its parent's
 * memory, and nothing is written there. */
static void write_now(int (*write)(void *))
{
    int error = errno;
    if (cs_renewal_due() && cs_locks_held == 0 && getpid() == process)
        (void)cs_stack_run_last(write, NULL);
    errno = error;
}

void cs_renewal_exit(void)
{
    write_now(write_at_exit);
}

static void terminated(int signal)
{
    struct sigaction current;
    /* The program's own handler may have called this one. */
    bool last = sigaction(signal, NULL, &current) == 0 && current.sa_handler == terminated;
    write_now(last ? write_last : write_early);
    if (last)
        leave_to_default(signal);
}

static bool has_default_action(int signal)
{
    struct sigaction action;
    return sigaction(signal, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) &&
           action.sa_handler == SIG_DFL;
}

static void catch_signal(int signal)
{
    struct sigaction action = {.sa_handler = terminated, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, NULL);
}

void cs_renewal_killed(int signal, bool blocked)
{
    if (!has_default_action(signal))
        return;
    if (blocked && cs_renewal_due() && getpid() == process)
        catch_signal(signal);
    else
        write_now(write_last);
}

/* A program that was not started by `convshim run` keeps its action for signals, unless the options
 * name a summary file. */
static bool catches(const struct cs_config *config)
{
    return (config->summary.form & CS_SUMMARY_JSON) ||
           (config->summary.form != CS_SUMMARY_OFF && cs_session_run() > 0);
}

void cs_renewal_begin(struct cs *cs)
{
    instance = cs;
    due = now() + EVERY;
    cs->host->version(vendor, sizeof vendor);
    process = getpid();
    if (catches(&cs->config) && has_default_action(SIGTERM))
        catch_signal(SIGTERM);
}

void cs_renewal_fork(void)
{
    process = getpid();
    due = now() + EVERY;
    cs_stack_fork();
}

/* Not inlined, because every call only checks the time in cs_renewal_pass. */
__attribute__((noinline)) static void renew_if_due(struct cs *cs)
{
    int64_t at = due;
    if (now() < at || !atomic_compare_exchange_strong(&due, &at, now() + EVERY))
        return;
    int error = errno;
    cs_exit_report_early(cs, vendor);
    errno = error;
}

void cs_renewal_pass(struct cs *cs)
{
    if (cs->config.summary.form & CS_SUMMARY_JSON)
        renew_if_due(cs);
}
