/* Writes the summary, text or JSON, when the process ends. */
#include "flow/exit_report.h"

#include "account/session_files.h"
#include "account/summary_json.h"
#include "base/file.h"
#include "base/log.h"
#include "base/version.h"
#include "config/option.h"
#include "config/option_text.h"
#include "config/program.h"
#include "decide/decide.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READER ". To view it: convshim report"

enum {
    SUMMARY_BYTES = 16384,
    COMMAND_BYTES = 4096,
    BYPASS_BYTES = 200
};

/* Names of the rules in force. */
static const char *const *rule_names(const struct cs_rules *rules)
{
    static const char *names[CS_MAX_RULES + 1];
    for (int i = 0; i < rules->count; i++)
        names[i] = rules->rule[i].name;
    return names;
}

static struct cs_summary_own own_of(struct cs *cs)
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

static struct cs_summary_gate turns_of(struct cs *cs)
{
    const struct cs_gate_facts gate = cs_gate_facts(&cs->gate);
    return (struct cs_summary_gate){.waits = gate.waits,
                                    .timed_out = gate.timed_out,
                                    .nanoseconds = gate.waited,
                                    .given_up = gate.given_up};
}

static const char *option(void *ctx, int index, char *text, size_t size)
{
    const struct cs *cs = ctx;
    cs_option_text(&cs->config, index, text, size);
    return cs_options[index].name;
}

/* The account's lock is held. */
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
                                         .option = option,
                                         .ctx = cs};
    json = (struct cs_json){.write = write, .ctx = ctx};
    cs_summary_json(&json, &cs->account, head, &process);
    cs_json_end(&json);
}

static bool write_file(struct cs *cs, const struct cs_summary_head *head,
                       const struct cs_place *place, struct cs_new_file *file)
{
    if (!cs_file_new_begin(file, place))
        return false;
    write_object(cs, head, cs_file_new_write, file);
    return cs_file_new_end(file);
}

/* Prints the path on the terminal, because no other output names the file. A pipe or device is not
 * printed: the user set it up, and it may be the log. */
static void name_file(const struct cs *cs, const char *what, const char *path, const char *reader)
{
    char line[PATH_MAX + 128];
    if (cs->config.log == CS_LOG_OFF || !cs_file_path_replaceable(path))
        return;
    snprintf(line, sizeof line, "%s written to %s%s", what, path, reader);
    cs_log_text(line);
}

static void write_json(struct cs *cs, const struct cs_summary_head *head)
{
    static struct cs_new_file file;
    char text[128];
    if (!write_file(cs, head, &cs->summary, &file))
        cs_log(CS_LOG_ERROR, "cannot write the summary: %s: %s",
               strerror_r(errno, text, sizeof text), cs->config.summary.path);
    else
        name_file(cs, "summary", file.path, READER);
}

/* All members except the rules' names, which need the lock. */
static struct cs_summary_head head_of(struct cs *cs, const char *vendor, const char *bypass)
{
    struct cs_summary_head head = {.version = CS_VERSION,
                                   .vendor = vendor,
                                   .policy = cs->policy->name,
                                   .counts = cs_policy_counts(cs->policy->name),
                                   .config = cs->config.source,
                                   .bypass = bypass,
                                   .workspace = cs->limits.workspace,
                                   .threshold =
                                       cs->rules.count == 0 ? cs_decide_ignored(&cs->limits) : 0,
                                   .own = own_of(cs),
                                   .gate = turns_of(cs)};
    cs_peak_read(&cs->peak, &head.peak_without, &head.peak_with);
    return head;
}

/* Only if the file can be replaced, because more calls may follow. The account's lock is held. */
static bool write_early(struct cs *cs, const struct cs_summary_head *head, struct cs_new_file *file)
{
    char path[PATH_MAX];
    return (cs->config.summary.form & CS_SUMMARY_JSON) && cs_file_place_path(&cs->summary, path) &&
           cs_file_path_replaceable(path) && write_file(cs, head, &cs->summary, file);
}

static struct cs_new_file early;

void cs_exit_report_early(struct cs *cs, const char *vendor)
{
    if (!(cs->config.summary.form & CS_SUMMARY_JSON) || cs->account.calls == 0)
        return;
    struct cs_summary_head head = head_of(cs, vendor, "");
    cs_lock(&cs->account.lock);
    head.rules = rule_names(&cs->rules);
    /* The report at the end of the process logs why the file could not be written. */
    (void)write_early(cs, &head, &early);
    cs_unlock(&cs->account.lock);
}

void cs_exit_report_session(struct cs *cs, const char *folder, const char *vendor)
{
    static struct cs_place place; /* both are protected by the account's lock */
    static struct cs_new_file file;
    char path[PATH_MAX];
    struct cs_summary_head head = head_of(cs, vendor, "");
    if (!cs_session_summary_path(folder, getpid(), path))
        return;
    cs_lock(&cs->account.lock);
    head.rules = rule_names(&cs->rules);
    cs_file_place_set(&place, path);
    (void)write_file(cs, &head, &place, &file);
    cs_unlock(&cs->account.lock);
}

/* The account's lock is held. */
static void write_text(struct cs *cs, const struct cs_summary_head *head)
{
    static char text[SUMMARY_BYTES];
    if ((cs->config.summary.form & CS_SUMMARY_TEXT) &&
        cs_summary_text(&cs->account, head, text, sizeof text) > 0)
        cs_log_text(text);
}

void cs_exit_report_last(struct cs *cs, const char *vendor)
{
    if (!cs_exit_report_due(cs))
        return;
    struct cs_summary_head head = head_of(cs, vendor, "");
    cs_lock(&cs->account.lock);
    cs->reported = cs->account.calls;
    head.rules = rule_names(&cs->rules);
    if (write_early(cs, &head, &early))
        name_file(cs, "summary", early.path, READER);
    write_text(cs, &head);
    cs_unlock(&cs->account.lock);
    cs_exit_report_trace(cs);
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

size_t cs_exit_report_text(struct cs *cs, char *at, size_t size)
{
    struct text text = {.at = at, .size = size > 0 ? size - 1 : 0};
    char vendor[64], bypass[BYPASS_BYTES] = "";
    cs->host->bypassed(bypass, sizeof bypass);
    cs->host->version(vendor, sizeof vendor);
    struct cs_summary_head head = head_of(cs, vendor, bypass);
    cs_lock(&cs->account.lock);
    head.rules = rule_names(&cs->rules);
    write_object(cs, &head, append_text, &text);
    cs_unlock(&cs->account.lock);
    if (size > 0)
        at[text.length < size ? text.length : size - 1] = '\0';
    return text.length;
}

void cs_exit_report_write(struct cs *cs)
{
    char vendor[64], bypass[BYPASS_BYTES] = "";
    if (cs->config.summary.form == CS_SUMMARY_OFF || !cs_exit_report_due(cs))
        return;
    cs->host->bypassed(bypass, sizeof bypass);
    cs->host->version(vendor, sizeof vendor);
    struct cs_summary_head head = head_of(cs, vendor, bypass);
    /* Other threads may still be running. */
    cs_lock(&cs->account.lock);
    cs->reported = cs->account.calls;
    head.rules = rule_names(&cs->rules);
    if (cs->config.summary.form & CS_SUMMARY_JSON)
        write_json(cs, &head);
    write_text(cs, &head);
    cs_unlock(&cs->account.lock);
}

void cs_exit_report_trace(struct cs *cs)
{
    cs_trace_close(&cs->trace);
    if (cs_trace_written(&cs->trace))
        name_file(cs, "trace", cs->trace.path, ". To view it: ui.perfetto.dev");
}
