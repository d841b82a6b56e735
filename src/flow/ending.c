/* Writes the summary, text or JSON, at the end of a process, and the lines around it. */
#include "flow/ending.h"

#include "account/session_files.h"
#include "account/summary_json.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/stack.h"
#include "base/version.h"
#include "config/option.h"
#include "config/session.h"
#include "decide/decide.h"
#include "flow/memory.h"
#include "level/level.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SUMMARY_BYTES = 16384,
    COMMAND_BYTES = 4096,
    BYPASS_BYTES = 300,
    LINE = 512,
    FILE_NAME = 300,
    PERIOD = 10 /* seconds between two JSON summaries */
};

/* --- the summary --- */

static const char *const *rule_names(const struct cs_rules *rules)
{
    static const char *names[CS_MAX_RULES + 1];
    for (int i = 0; i < rules->count; i++)
        names[i] = rules->rule[i].name;
    return names;
}

static struct cs_summary_own arena_facts(struct cs *cs)
{
    const struct cs_arena_facts own = cs_arena_facts(&cs->exec.arena);
    return (struct cs_summary_own){.limit = own.limit,
                                   .peak = own.peak,
                                   .allocations = own.allocations,
                                   .captured = own.captured,
                                   .lost = own.lost,
                                   .handed_over = own.waits,
                                   .refused = own.refused};
}

static void read_reasons(const struct cs_level_facts *facts, struct cs_summary_gpu *gpu)
{
    gpu->reasons = 0;
    for (enum cs_refusal i = CS_REFUSAL_NONE + 1; i < CS_REFUSALS; i++) {
        if (facts->refused[i] == 0)
            continue;
        gpu->as_planned[gpu->reasons].id = cs_level_refusal_id(i);
        gpu->as_planned[gpu->reasons].text = cs_level_refusal_text(i);
        gpu->as_planned[gpu->reasons++].calls = facts->refused[i];
    }
}

/* Brings the figures of the program's allocators up to date. Calls foreign code. */
static void refresh_levels(const struct cs_host *host)
{
    for (int i = 0; i < CS_HOST_MEMORIES && host->memory[i]; i++)
        if (host->memory[i]->refresh)
            host->memory[i]->refresh();
}

/* Adds the reports of the program's allocator about each GPU to the head. The account's lock is
 * held. */
static void read_levels(struct cs_summary_head *head)
{
    static const char *const ways[CS_WAYS] = {"untiled", "fewer", "planned"};
    static struct cs_summary_gpu gpu[CS_SUMMARY_GPUS];
    struct cs_level_facts facts;
    int gpus = 0;
    for (int device = 0; device < CS_LEVEL_DEVICES && gpus < CS_SUMMARY_GPUS; device++) {
        if (!cs_level_facts(&cs_levels, device, &facts))
            continue;
        gpu[gpus] = (struct cs_summary_gpu){.number = device,
                                            .without = facts.without,
                                            .with = facts.allocated,
                                            .reserved = facts.reserved,
                                            .pool = facts.pool,
                                            .grown = facts.grown};
        for (int way = 0; way < CS_WAYS; way++)
            gpu[gpus].way[way] =
                (struct cs_summary_way){ways[way], facts.calls[way], facts.launches[way]};
        read_reasons(&facts, &gpu[gpus++]);
    }
    head->gpu = gpu;
    head->gpus = gpus;
}

/* Facts about the loaded libraries. */
struct loaded {
    char vendor[CS_VENDOR_NAME], bypass[BYPASS_BYTES];
};

static void read_loader(const struct cs_host *host, struct loaded *loaded)
{
    host->bypassed(loaded->bypass, sizeof loaded->bypass);
    host->version(loaded->vendor, sizeof loaded->vendor);
}

/* The head of a summary without the rules' names and the levels, which need the account's lock. */
static struct cs_summary_head head_of(struct cs *cs, const struct loaded *loaded)
{
    struct cs_summary_head head = {.version = CS_VERSION,
                                   .vendor = loaded->vendor,
                                   .policy = cs->policy->name,
                                   .counts = cs_policy_uses_tiles(cs->policy->name),
                                   .config = cs->config.source,
                                   .bypass = loaded->bypass,
                                   .workspace = cs->limits.workspace,
                                   .threshold =
                                       cs->rules.count == 0 ? cs_decide_ignored(&cs->limits) : 0,
                                   .own = arena_facts(cs)};
    const struct cs_call_scratch peak = cs_convolution_peak_read(&cs->peak);
    head.peak_without = peak.without;
    head.peak_with = peak.with;
    return head;
}

static const char *write_option(void *ctx, int index, char *text, size_t size)
{
    const struct cs *cs = ctx;
    cs_option_text(&cs->config, index, text, size);
    return cs_options[index].name;
}

/* Writes the JSON object of the summary through `write`. The account's lock is held. */
static void write_object(struct cs *cs, const struct cs_summary_head *head,
                         void (*write)(void *ctx, const char *bytes, size_t size), void *ctx)
{
    static struct cs_json json;
    static char arguments[COMMAND_BYTES];
    struct cs_summary_process process = {.program = cs->program,
                                         .script = cs->script,
                                         .arguments = arguments,
                                         .arguments_bytes =
                                             cs_program_arguments(arguments, sizeof arguments),
                                         .pid = getpid(),
                                         .rank = cs_config_rank(),
                                         .start_ms = cs->start_ms,
                                         .end_ms = cs_instance_now_ms(),
                                         .device = cs->device,
                                         .options = CS_OPTIONS,
                                         .option = write_option,
                                         .ctx = cs};
    json = (struct cs_json){.write = write, .ctx = ctx};
    cs_summary_json(&json, &cs->account, head, &process);
    cs_json_end(&json);
}

/* Prints the path on the terminal, because no other output names the file. A pipe or device is not
 * printed: the user set it up, and it may be the log. */
static void name_file(const struct cs *cs, const char *path)
{
    char line[PATH_MAX + 128];
    if (cs->config.log == CS_LOG_OFF || !cs_file_path_replaceable(path))
        return;
    snprintf(line, sizeof line, "summary written. To view it: convshim report %s", path);
    cs_log_text(line);
}

/* True if the summary file is due. Before libc's exit, more calls may follow, so the file must be
 * replaceable. */
static bool has_json_file(const struct cs *cs, enum cs_moment moment)
{
    char path[PATH_MAX];
    return (cs->config.summary.form & CS_SUMMARY_JSON) &&
           (moment == CS_MOMENT_EXIT ||
            (cs_file_place_path(&cs->summary, path) && cs_file_path_replaceable(path)));
}

/* Begins the file that `convshim status` reads. False if that fails. */
static bool begin_session_file(struct cs_new_file *file)
{
    static struct cs_place place;
    char folder[CS_SESSION_PATH], path[PATH_MAX];
    cs_session_folder(folder);
    if (!cs_session_summary_path(folder, getpid(), path))
        return false;
    cs_file_place_set(&place, path);
    return cs_file_new_begin(file, &place);
}

/* The files that get the same JSON object. */
struct outputs {
    struct cs_new_file *file[2];
    int files;
};

static void append_to_all(void *ctx, const char *bytes, size_t size)
{
    const struct outputs *outputs = ctx;
    for (int i = 0; i < outputs->files; i++)
        cs_file_new_write(outputs->file[i], bytes, size);
}

/* Writes the user's file, and while the process runs the file of `convshim status`. The account's
 * lock is held. */
static void write_json(struct cs *cs, const struct cs_summary_head *head, enum cs_moment moment)
{
    static struct cs_new_file user, session;
    struct outputs outputs = {.files = 0};
    char text[128];
    const bool required = has_json_file(cs, moment);
    bool written = required && cs_file_new_begin(&user, &cs->summary);
    if (written)
        outputs.file[outputs.files++] = &user;
    const bool observed = moment == CS_MOMENT_RUNNING && begin_session_file(&session);
    if (observed)
        outputs.file[outputs.files++] = &session;
    if (outputs.files > 0)
        write_object(cs, head, append_to_all, &outputs);
    if (observed)
        (void)cs_file_new_end(&session);
    written = written && cs_file_new_end(&user);
    if (written && moment != CS_MOMENT_RUNNING)
        name_file(cs, user.path);
    if (required && !written && moment == CS_MOMENT_EXIT)
        cs_log(CS_LOG_ERROR, "cannot write the summary: %s: %s",
               strerror_r(errno, text, sizeof text), cs->config.summary.path);
}

/* Logs the text summary if the options select it. The account's lock is held. */
static void write_text(struct cs *cs, const struct cs_summary_head *head)
{
    static char text[SUMMARY_BYTES];
    if ((cs->config.summary.form & CS_SUMMARY_TEXT) &&
        cs_summary_text(&cs->account, head, text, sizeof text) > 0)
        cs_log_text(text);
}

static bool has_new_calls(const struct cs *cs)
{
    return cs->account.calls != cs->reported;
}

/* Writes the summary in the forms that are due at this moment. */
static void write_summary(struct cs *cs, enum cs_moment moment)
{
    struct loaded loaded = {.bypass = ""};
    memcpy(loaded.vendor, cs->vendor, sizeof loaded.vendor);
    if (moment == CS_MOMENT_EXIT && cs->config.summary.form != CS_SUMMARY_OFF)
        read_loader(cs->host, &loaded);
    struct cs_summary_head head = head_of(cs, &loaded);
    cs_lock(&cs->account.lock); /* other threads may still be running */
    head.rules = rule_names(&cs->rules);
    read_levels(&head);
    write_json(cs, &head, moment);
    if (moment != CS_MOMENT_RUNNING) {
        cs->reported = cs->account.calls;
        write_text(cs, &head);
    }
    cs_unlock(&cs->account.lock);
}

static void remove_session_file(const struct cs *cs)
{
    char folder[CS_SESSION_PATH];
    cs_session_folder(folder);
    if (cs->renewal != 0)
        cs_session_summary_remove(folder, getpid());
}

void cs_ending_write(struct cs *cs, enum cs_moment moment)
{
    if (has_new_calls(cs))
        write_summary(cs, moment);
    if (moment >= CS_MOMENT_KILLED)
        remove_session_file(cs);
}

struct text {
    char *at;
    size_t size, length;
};

static void append_text(void *ctx, const char *bytes, size_t size)
{
    struct text *text = ctx;
    size_t room = text->length < text->size ? text->size - text->length : 0;
    if (room > 0)
        memcpy(text->at + text->length, bytes, size < room ? size : room);
    text->length += size;
}

size_t cs_ending_text(struct cs *cs, char *at, size_t size)
{
    struct text text = {.at = at, .size = size > 0 ? size - 1 : 0};
    struct loaded loaded = {.bypass = ""};
    refresh_levels(cs->host);
    read_loader(cs->host, &loaded);
    struct cs_summary_head head = head_of(cs, &loaded);
    cs_lock(&cs->account.lock);
    head.rules = rule_names(&cs->rules);
    read_levels(&head);
    write_object(cs, &head, append_text, &text);
    cs_unlock(&cs->account.lock);
    if (size > 0)
        at[text.length < size ? text.length : size - 1] = '\0';
    return text.length;
}

/* --- while the process runs --- */

static int64_t coarse_seconds(void)
{
    return cs_clock(CLOCK_MONOTONIC_COARSE) / CS_SECOND;
}

/* Records for `convshim run` that a child process of the run ran convolutions. */
static void note_run(void)
{
    const int64_t run = cs_session_run();
    char folder[CS_SESSION_PATH];
    if (run <= 0 || run == getpid())
        return;
    cs_session_folder(folder);
    cs_session_note(folder, run);
}

/* Writes the JSON summaries of a running process, and keeps errno. Not inlined: it is rare, and
 * every call would reserve its stack. */
__attribute__((noinline)) static void renew_summary(struct cs *cs, bool first)
{
    int error = errno;
    refresh_levels(cs->host);
    cs_ending_write(cs, CS_MOMENT_RUNNING);
    if (first)
        note_run();
    errno = error;
}

void cs_ending_pass(struct cs *cs)
{
    int64_t due = cs->renewal, at = coarse_seconds();
    if (at >= due && atomic_load_explicit(&cs->account.calls, memory_order_relaxed) > 0 &&
        atomic_compare_exchange_strong(&cs->renewal, &due, at + PERIOD))
        renew_summary(cs, due == 0);
}

/* --- the end --- */

bool cs_ending_due(void)
{
    const struct cs *cs = cs_instance_made();
    return cs && cs->process != 0 && has_new_calls(cs);
}

static int end_process(void *moment)
{
    cs_ending_write(cs_instance_made(), *(const enum cs_moment *)moment);
    return 0;
}

static void end_at_exit(void)
{
    enum cs_moment moment = CS_MOMENT_EXIT;
    if (cs_ending_due() && cs_stack_ample())
        refresh_levels(cs_instance_made()->host);
    (void)(cs_stack_ample() ? end_process(&moment) : cs_stack_run(end_process, &moment));
}

/* Writes the summary for `moment` if it is due. May run in a signal handler. Waits only for locks
 * whose holders continue: a thread holds no lock of the library in foreign code, and a thread that
 * holds one itself does not wait. The child of a vfork uses its parent's memory, so it writes no
 * summary there. */
static void end_now(enum cs_moment moment)
{
    int error = errno;
    if (cs_ending_due() && cs_locks_held == 0 && getpid() == cs_instance_made()->process)
        (void)cs_stack_run_last(end_process, &moment);
    errno = error;
}

void cs_ending_left(void)
{
    end_now(CS_MOMENT_LEFT);
}

static void leave_to_default(int signal)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, NULL);
    raise(signal); /* when this handler returns */
}

static void handle_signal(int signal)
{
    struct sigaction current;
    /* The program's own handler may have called this one. */
    bool last = sigaction(signal, NULL, &current) == 0 && current.sa_handler == handle_signal;
    end_now(last ? CS_MOMENT_KILLED : CS_MOMENT_RUNNING);
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
    struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, NULL);
}

void cs_ending_killed(int signal, bool blocked)
{
    if (!has_default_action(signal))
        return;
    if (blocked && cs_ending_due() && getpid() == cs_instance_made()->process)
        catch_signal(signal);
    else
        end_now(CS_MOMENT_KILLED);
}

/* --- the lines --- */

/* Logs the version, the policy, the workspace, and the vendor's library in use. */
static void log_start(const struct cs *cs)
{
    char size[CS_SIZE_TEXT], file[FILE_NAME];
    if (cs->config.log < CS_LOG_INFO)
        return;
    cs_log(CS_LOG_INFO, "convshim %s is loaded: policy %s, workspace %s, %s", CS_VERSION,
           cs->policy->name,
           cs->limits.workspace < 0 ? "auto" : cs_log_size_text(size, cs->limits.workspace),
           *cs->config.source ? cs->config.source : "built-in defaults");
    cs->host->file(file, sizeof file);
    cs_log(CS_LOG_INFO, "using %s from %s", *cs->vendor ? cs->vendor : "cuDNN",
           *file ? file : "no file");
}

/* True if the library may catch SIGTERM. A program that was not started by `convshim run` keeps its
 * action for signals, unless the options name a summary file. */
static bool catches_signals(const struct cs_config *config)
{
    return (config->summary.form & CS_SUMMARY_JSON) ||
           (config->summary.form != CS_SUMMARY_OFF && cs_session_run() > 0);
}

void cs_ending_begin(struct cs *cs)
{
    cs->host->version(cs->vendor, sizeof cs->vendor);
    log_start(cs);
    cs->process = getpid();
    if (catches_signals(&cs->config) && has_default_action(SIGTERM))
        catch_signal(SIGTERM);
    atexit(end_at_exit);
}

void cs_ending_fork(struct cs *cs)
{
    cs->reported = 0;
    cs->renewal = 0;
    cs->process = getpid();
    cs_stack_fork();
}

/* Writes the reason why no convolution was seen, as known in this process. */
static void explain_none(const struct cs_host *host, const struct cs *cs, char *line, size_t size)
{
    char folder[CS_SESSION_PATH], bypass[BYPASS_BYTES], file[FILE_NAME];
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

/* Logs the outcome in one line, unless the summary was printed. */
static void log_outcome(const struct cs_host *host, const struct cs *cs)
{
    char line[LINE + FILE_NAME];
    const struct cs_account *account = cs ? &cs->account : NULL;
    if (!account || account->calls == 0)
        explain_none(host, cs, line, sizeof line);
    else if (cs->config.summary.form == CS_SUMMARY_OFF)
        snprintf(line, sizeof line, "%lld convolutions, %lld of them tiled",
                 (long long)account->calls, (long long)account->tiled_calls);
    else
        return;
    cs_log_text(line);
}

/* The level of messages, also in a process without an instance. */
static enum cs_level log_level(void)
{
    static struct cs_config config;
    const struct cs *cs = cs_instance_made();
    if (!cs) {
        cs_config_load(&config, program_invocation_short_name, cs_policy_names, NULL, NULL);
        cs_log_open((enum cs_level)config.log, config.log_file.text);
    }
    return (enum cs_level)(cs ? cs->config.log : config.log);
}

static atomic_bool line_logged;

bool cs_ending_line_due(void)
{
    if (line_logged || cs_config_disabled())
        return false;
    int64_t run = cs_session_run();
    return run > 0 && run == getpid();
}

void cs_ending_line(const struct cs_host *host)
{
    if (cs_ending_line_due() && !atomic_exchange(&line_logged, true) && log_level() != CS_LOG_OFF)
        log_outcome(host, cs_instance_made());
}

void cs_ending_failed(const struct cs_host *host, int status)
{
    char line[LINE], folder[CS_SESSION_PATH], file[FILE_NAME];
    if (status == 0 || !cs_session_segments() || log_level() == CS_LOG_OFF)
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
