/* Logs that the library is active and, at the end of a run without convolutions, the reason. */
#include "flow/sign_of_life.h"

#include "account/session_files.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/version.h"
#include "config/session.h"
#include "flow/exit_report.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    EVERY = 10, /* seconds */
    LINE = 512,
    VENDOR = 64,
    FILE_NAME = 300
};

void cs_sign_begin(const struct cs *cs)
{
    char size[CS_SIZE_TEXT], vendor[VENDOR], file[FILE_NAME];
    if (cs->config.log < CS_LOG_INFO)
        return;
    cs_log(CS_LOG_INFO, "convshim %s is loaded: policy %s, workspace %s, %s", CS_VERSION,
           cs->policy->name,
           cs->limits.workspace < 0 ? "auto" : cs_log_size_text(size, cs->limits.workspace),
           *cs->config.source ? cs->config.source : "built-in defaults");
    cs->host->version(vendor, sizeof vendor);
    cs->host->file(file, sizeof file);
    cs_log(CS_LOG_INFO, "using %s from %s", *vendor ? vendor : "cuDNN", *file ? file : "no file");
}

/* Not inlined: it is rare, and every call would reserve its stack. */
__attribute__((noinline)) static void write_sign(struct cs *cs, bool first)
{
    char folder[CS_SESSION_PATH], vendor[VENDOR];
    int error = errno;
    int64_t run = cs_session_run();
    cs_session_folder(folder);
    cs->host->version(vendor, sizeof vendor);
    cs_exit_report_session(cs, folder, vendor);
    if (first && run > 0 && run != getpid())
        cs_session_note(folder, run);
    errno = error;
}

void cs_sign_pass(struct cs *cs)
{
    int64_t due = cs->sign_due, now = cs_clock(CLOCK_MONOTONIC_COARSE) / CS_SECOND;
    if (now >= due && atomic_load_explicit(&cs->account.calls, memory_order_relaxed) > 0 &&
        atomic_compare_exchange_strong(&cs->sign_due, &due, now + EVERY))
        write_sign(cs, due == 0);
}

void cs_sign_end(struct cs *cs)
{
    char folder[CS_SESSION_PATH];
    cs_session_folder(folder);
    if (cs->sign_due != 0)
        cs_session_summary_remove(folder, getpid());
}

/* The reason why no convolution was seen, as known in this process. */
static void why_none(const struct cs_host *host, const struct cs *cs, char *line, size_t size)
{
    char folder[CS_SESSION_PATH], bypass[FILE_NAME], file[FILE_NAME];
    cs_session_folder(folder);
    host->file(file, sizeof file);
    if (cs_session_noted(folder, getpid()))
        snprintf(line, size,
                 "no convolution in this process: see the summaries of its child processes");
    else if (*file && host->bypassed(bypass, sizeof bypass) > 0)
        snprintf(
            line, size,
            "no convolution was seen: %s bypasses convshim. Details: convshim doctor -- COMMAND",
            bypass);
    else if (*file)
        snprintf(line, size, "no convolution was run: %s is loaded, but %s", file,
                 cs ? "the program ran none"
                    : "no call reached convshim. To find out why: convshim doctor -- COMMAND");
    else if (!cs_session_preloads())
        snprintf(
            line, size,
            "no convolution: this process loaded no cuDNN, and it changed LD_PRELOAD, so its child "
            "processes ran without convshim. Keep its old value: LD_PRELOAD=other.so:$LD_PRELOAD");
    else
        snprintf(line, size,
                 "no convolution: this process loaded no cuDNN, and no child process ran one with "
                 "convshim. To find out why: convshim doctor -- COMMAND");
}

static void log_outcome(const struct cs_host *host, const struct cs *cs)
{
    char line[LINE + FILE_NAME];
    const struct cs_account *account = cs ? &cs->account : NULL;
    if (!account || account->calls == 0)
        why_none(host, cs, line, sizeof line);
    else if (cs->config.summary.form == CS_SUMMARY_OFF)
        snprintf(line, sizeof line, "%lld convolutions, %lld of them tiled",
                 (long long)account->calls, (long long)account->tiled_calls);
    else
        return;
    cs_log_text(line);
}

static atomic_bool said;

bool cs_sign_due(void)
{
    if (said || cs_config_disabled())
        return false;
    int64_t run = cs_session_run();
    return run > 0 && run == getpid();
}

/* The level of messages, also in a process without an instance. */
static enum cs_level level(void)
{
    static struct cs_config config;
    const struct cs *cs = cs_instance_made();
    if (!cs) {
        cs_config_load(&config, program_invocation_short_name, cs_policy_names, NULL, NULL);
        cs_log_open((enum cs_level)config.log, config.log_file.text);
    }
    return (enum cs_level)(cs ? cs->config.log : config.log);
}

void cs_sign_last(const struct cs_host *host)
{
    if (cs_sign_due() && !atomic_exchange(&said, true) && level() != CS_LOG_OFF)
        log_outcome(host, cs_instance_made());
}

void cs_sign_failed(const struct cs_host *host, int status)
{
    char line[LINE], folder[CS_SESSION_PATH], file[FILE_NAME];
    if (status == 0 || !cs_session_segments() || level() == CS_LOG_OFF)
        return;
    cs_session_folder(folder);
    host->file(file, sizeof file);
    if (!*file && !cs_session_noted(folder, getpid()))
        return;
    snprintf(line, sizeof line,
             "The program ended with status %d. convshim run had set expandable segments for "
             "PyTorch, with which CUDA IPC can fail (pidfd_getfd: Operation not permitted) and "
             "some servers refuse to start. To leave them off: convshim run "
             "--no-expandable-segments",
             status);
    cs_log_text(line);
}
