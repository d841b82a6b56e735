/* Reads the files that a run left in its folder. */
#include "simdev/simulate/run_outcome.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/read_file.h"
#include "simdev/simulate/runs.h"
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cs_sim_progress_read(const char *folder, struct simdev_progress *progress)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/progress", folder);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool good = file >= 0 && read(file, progress, sizeof *progress) == sizeof *progress;
    if (file >= 0)
        close(file);
    return good;
}

static int64_t number_of(const cJSON *object, const char *way)
{
    return cs_json_whole_at(object, way, -1);
}

static void copy_text(const cJSON *object, const char *way, char *to, size_t size)
{
    const char *value = cs_json_text(object, way);
    snprintf(to, size, "%s", value ? value : "");
}

enum {
    PLACE = PATH_MAX + 64
};

/* Writes the path of the file of that kind that a process of the run leaves. Returns whether it
 * exists. */
static bool find_file(const struct cs_sim_run *run, const char *kind, pid_t pid, char path[PLACE])
{
    snprintf(path, PLACE, "%s/%s.%ld.json", run->folder, kind, (long)pid);
    return access(path, F_OK) == 0;
}

/* Reads the file of that kind that a process of the run leaves. NULL: there is none, or a line
 * reports that it cannot be read. */
static cJSON *read_file_of(const struct cs_sim_run *run, const char *kind, pid_t pid)
{
    char path[PLACE], error[CS_FILE_ERROR];
    if (!find_file(run, kind, pid, path))
        return NULL;
    char *bytes = cs_read_file_text(path, error);
    cJSON *root = bytes ? cJSON_Parse(bytes) : NULL;
    if (!root)
        cs_cli_complain("%s: %s", path,
                        bytes ? "damaged. If its disk is full, set TMPDIR to another folder."
                              : error);
    free(bytes);
    return root;
}

static bool used_device(const struct simdev_process *process)
{
    return process->peak_bytes > 0 || process->kernels > 0 || process->library_calls > 0 ||
           process->convolutions > 0;
}

/* Lists the processes that used the device. Returns the one that run->process selects, or the one
 * that held most if it is 0. If no process used the device, or fewer than run->process did: the
 * first that looked for it. NULL: there is none. */
static const struct simdev_process *list_processes(const struct simdev_progress *progress,
                                                   const struct cs_sim_run *run,
                                                   struct cs_sim_outcome *outcome)
{
    const struct simdev_process *chosen = NULL;
    char path[PLACE];
    for (int i = 0; i < SIMDEV_MOST_PROCESSES; i++) {
        const struct simdev_process *process = &progress->process[i];
        const pid_t pid = (pid_t)process->pid;
        if (pid != 0 && !chosen)
            chosen = process;
        outcome->idle += pid != 0 && !used_device(process);
        if (pid == 0 || !used_device(process))
            continue;
        outcome->process[outcome->processes++] =
            (struct cs_sim_process){.pid = pid,
                                    .device_peak = (int64_t)process->peak_bytes,
                                    .launches = (int64_t)process->convolutions,
                                    .reported = find_file(run, "report", pid, path)};
        if (run->process > 0 ? outcome->processes == run->process
                             : outcome->number == 0 || process->peak_bytes > chosen->peak_bytes) {
            chosen = process;
            outcome->number = outcome->processes;
        }
    }
    outcome->processes += (int)progress->unlisted;
    return chosen;
}

const char *cs_planning_version(const char *planning)
{
    static const char by[] = "cudnn ";
    return strncmp(planning, by, strlen(by)) == 0 ? planning + strlen(by) : NULL;
}

/* Takes the figures that the device stores while the process runs. */
static void take_process(const struct simdev_process *process, struct cs_sim_outcome *outcome)
{
    outcome->pid = (pid_t)process->pid;
    outcome->used = used_device(process);
    outcome->kernels = (int64_t)process->kernels;
    outcome->library_calls = (int64_t)process->library_calls;
    outcome->launches = (int64_t)process->convolutions;
    snprintf(outcome->planning, sizeof outcome->planning, "%.*s", (int)sizeof process->planning,
             process->planning);
    outcome->planned = cs_planning_version(outcome->planning) || outcome->launches == 0;
    outcome->largest_workspace = (int64_t)process->largest_workspace;
    outcome->tensor_bytes = (int64_t)process->tensor_bytes;
}

/* Takes the peaks of all GPUs. The figures of the run are those of the GPU that needs most. */
static void take_gpus(const struct simdev_progress *progress, const struct cs_sim_run *run,
                      struct cs_sim_outcome *outcome)
{
    outcome->missing_gpu = (int64_t)progress->missing;
    outcome->gpus = run->gpus > 1 && run->gpus <= SIMDEV_MAX_DEVICES ? run->gpus : 1;
    for (int i = 0; i < outcome->gpus; i++) {
        const struct simdev_shared_device *gpu = &progress->device[i];
        int64_t *const peak = outcome->gpu[i];
        peak[CS_FIGURE_allocated_peak] = peak[CS_FIGURE_reserved_peak] = -1;
        peak[CS_FIGURE_device_peak] = (int64_t)gpu->peak_bytes;
        peak[CS_FIGURE_needed] = (int64_t)gpu->needed_bytes;
        if (peak[CS_FIGURE_needed] > outcome->needed) {
            outcome->needed = peak[CS_FIGURE_needed];
            outcome->device_peak = peak[CS_FIGURE_device_peak];
        }
    }
}

/* Takes the figures that the device reports at the end of the process. */
static void take_report(struct cs_sim_outcome *outcome)
{
    const cJSON *report = outcome->report;
    outcome->cut_short = outcome->used && !report;
    outcome->used = outcome->used || report;
    copy_text(report, "linked_runtime", outcome->linked_runtime, sizeof outcome->linked_runtime);
}

/* Takes the peaks that the framework reported in the chosen process. */
static void take_framework(struct cs_sim_outcome *outcome)
{
    const cJSON *peaks = outcome->framework_peaks, *gpu;
    copy_text(peaks, "framework", outcome->framework, sizeof outcome->framework);
    outcome->allocated = number_of(peaks, "allocated");
    outcome->reserved = number_of(peaks, "reserved");
    outcome->retries = number_of(peaks, "retries");
    outcome->failed = number_of(peaks, "failed");
    outcome->errors = cs_json_whole_at(peaks, "errors", 0);
    outcome->exhausted = cJSON_IsTrue(cs_json_at(peaks, "exhausted"));
    outcome->limit = cs_json_whole_at(peaks, "limit", 0);
    const int64_t taken = outcome->reserved >= 0 ? outcome->reserved : outcome->device_peak;
    if (cJSON_IsTrue(cs_json_at(peaks, "holds")) && outcome->allocated >= 0 &&
        taken > outcome->allocated && taken <= outcome->device_peak)
        outcome->held = taken - outcome->allocated;
    cJSON_ArrayForEach(gpu, cs_json_at(peaks, "gpus"))
    {
        const int index = gpu->string ? atoi(gpu->string) : SIMDEV_MAX_DEVICES;
        if (index < 0 || index >= outcome->gpus)
            continue;
        outcome->gpu[index][CS_FIGURE_allocated_peak] = number_of(gpu, "allocated");
        outcome->gpu[index][CS_FIGURE_reserved_peak] = number_of(gpu, "reserved");
    }
}

/* Adds the refused allocations of a process. Those of the chosen one are in the framework's report,
 * which was taken. */
static void add_refusals(const struct simdev_process *process, const struct cs_sim_run *run,
                         struct cs_sim_outcome *outcome)
{
    const int64_t refused = (int64_t)process->refused;
    if (refused == 0)
        return;
    outcome->refused += refused;
    outcome->missing_bytes =
        (int64_t)(process->last_refused_bytes + process->last_refused_live) - run->memory;
    if ((pid_t)process->pid == outcome->pid)
        return;
    cJSON *peaks = read_file_of(run, "python", (pid_t)process->pid);
    if (outcome->retries >= 0)
        outcome->retries += cs_json_whole_at(peaks, "retries", 0);
    if (outcome->failed >= 0)
        outcome->failed += cs_json_whole_at(peaks, "failed", refused);
    outcome->errors += cs_json_whole_at(peaks, "errors", 0);
    cJSON_Delete(peaks);
}

/* Takes the totals of the library's summary. */
static void take_totals(struct cs_sim_outcome *outcome)
{
    const cJSON *totals = cs_json_at(outcome->summary, "totals");
    outcome->calls = number_of(totals, "calls");
    outcome->tiled = number_of(totals, "tiled");
    outcome->reported = number_of(totals, "reported_max");
    outcome->extra_launches = number_of(totals, "extra_launches");
    outcome->untiled_ns = number_of(totals, "untiled_ns");
    outcome->predicted_ns = number_of(totals, "predicted_ns");
    outcome->untiled_most_ns = number_of(totals, "untiled_most_ns");
    outcome->predicted_most_ns = number_of(totals, "predicted_most_ns");
}

bool cs_sim_outcome_read(struct cs_sim_run *run)
{
    struct cs_sim_outcome *outcome = &run->outcome;
    struct simdev_progress progress;
    char path[PLACE];
    bool good = true;
    *outcome = (struct cs_sim_outcome){
        .status = outcome->status, .seconds = outcome->seconds, .planned = true};
    const struct simdev_process *chosen = cs_sim_progress_read(run->folder, &progress)
                                              ? list_processes(&progress, run, outcome)
                                              : NULL;
    if (chosen) {
        take_process(chosen, outcome);
        take_gpus(&progress, run, outcome);
        outcome->report = read_file_of(run, "report", outcome->pid);
        outcome->summary = read_file_of(run, "summary", outcome->pid);
        outcome->framework_peaks = read_file_of(run, "python", outcome->pid);
        good = outcome->report || !find_file(run, "report", outcome->pid, path);
    }
    take_report(outcome);
    take_framework(outcome);
    for (int i = 0; chosen && i < SIMDEV_MOST_PROCESSES; i++)
        add_refusals(&progress.process[i], run, outcome);
    take_totals(outcome);
    outcome->work = cs_sim_work_read(outcome);
    return good;
}

void cs_sim_outcome_free(struct cs_sim_outcome *outcome)
{
    cJSON_Delete(outcome->report);
    cJSON_Delete(outcome->summary);
    cJSON_Delete(outcome->framework_peaks);
    cJSON_Delete(outcome->work);
    outcome->report = outcome->summary = outcome->framework_peaks = outcome->work = NULL;
}

bool cs_sim_outcome_ran(const struct cs_sim_outcome *outcome)
{
    return outcome->status == 0 || cs_sim_outcome_stopped(outcome);
}

bool cs_sim_outcome_stopped(const struct cs_sim_outcome *outcome)
{
    return outcome->used && (outcome->status == 128 + SIGTERM || outcome->status == 128 + SIGINT);
}

bool cs_sim_outcome_out_of_memory(const struct cs_sim_outcome *outcome)
{
    return !cs_sim_outcome_ran(outcome) && (outcome->refused > 0 || outcome->exhausted);
}

int64_t cs_sim_outcome_failures(const struct cs_sim_outcome *outcome)
{
    int64_t failed = outcome->failed >= 0 ? outcome->failed : outcome->refused;
    return failed > 0 ? failed : 0;
}

bool cs_sim_outcome_disturbed(const struct cs_sim_outcome *outcome)
{
    return !cs_sim_outcome_out_of_memory(outcome) &&
           !(outcome->used && cs_sim_outcome_ran(outcome));
}

bool cs_sim_outcome_used_gpu(const struct cs_sim_outcome *outcome)
{
    return outcome->used &&
           (outcome->device_peak > 0 || outcome->kernels > 0 || outcome->launches > 0);
}

bool cs_sim_outcome_fits(const struct cs_sim_outcome *outcome)
{
    return cs_sim_outcome_ran(outcome) && cs_sim_outcome_failures(outcome) == 0;
}

/* True if a plan of the list has the graph of `plan`, that is the same text before the dash
 * (simdev_program_parse). */
static bool has_graph(const cJSON *plans, const char *plan)
{
    const size_t length = strcspn(plan, "-");
    const cJSON *one;
    cJSON_ArrayForEach(one, plans)
    {
        if (strncmp(one->string, plan, length) == 0 && one->string[length] == plan[length])
            return true;
    }
    return false;
}

int64_t cs_sim_outcome_other_engines(const struct cs_sim_outcome *outcome,
                                     const struct cs_sim_outcome *base)
{
    const cJSON *known = cs_json_at(base->report, "plans.most"), *plan;
    int64_t others = 0;
    cJSON_ArrayForEach(plan, cs_json_at(outcome->report, "plans.most"))
    {
        if (!cJSON_GetObjectItemCaseSensitive(known, plan->string) &&
            has_graph(known, plan->string))
            others += cs_json_whole(plan, 0);
    }
    return others;
}

/* True if both runs had the same convolutions, or those of one are not known. */
static bool did_same_work(const struct cs_sim_outcome *outcome, const struct cs_sim_outcome *base)
{
    const struct cs_sim_work work = cs_sim_work_compare(outcome, base);
    return work.more == 0 && work.less == 0;
}

bool cs_sim_outcome_same_engines(const struct cs_sim_outcome *outcome,
                                 const struct cs_sim_outcome *base)
{
    return cs_sim_outcome_ran(outcome) && did_same_work(outcome, base) &&
           cs_sim_outcome_other_engines(outcome, base) == 0;
}

int64_t cs_sim_outcome_need(const struct cs_sim_outcome *outcome)
{
    return outcome->needed - outcome->held;
}

enum cs_sim_fit cs_sim_outcome_fit(const struct cs_sim_outcome *outcome,
                                   const struct cs_sim_outcome *base, int64_t memory)
{
    if (cs_sim_outcome_out_of_memory(outcome))
        return CS_SIM_FIT_NO;
    if (!cs_sim_outcome_ran(outcome) || !cs_sim_outcome_used_gpu(outcome) || !outcome->planned)
        return CS_SIM_FIT_NONE;
    if (outcome->errors > 0 || !did_same_work(outcome, base))
        return CS_SIM_FIT_ADAPTS;
    return cs_sim_outcome_failures(outcome) == 0 &&
                   cs_sim_outcome_need(outcome) <= memory / 100 * CS_SIM_SURE_PERCENT
               ? CS_SIM_FIT_YES
               : CS_SIM_FIT_MAY_FAIL;
}

/* Adds "item count" to a list, or "..." if that does not fit. False: the list is full. */
static bool add_item(char *list, size_t size, const char *item, int64_t count)
{
    const size_t length = strlen(list);
    const char *between = length > 0 ? ", " : "";
    char one[512];
    snprintf(one, sizeof one, "%s%s %" PRId64, between, item, count);
    if (length + strlen(one) < size) {
        strcat(list, one);
        return true;
    }
    if (length + strlen(", ...") < size)
        strcat(list, ", ...");
    return false;
}

int64_t cs_sim_outcome_names(const struct cs_sim_outcome *outcome, const char *kind, char *text_p,
                             size_t size)
{
    const cJSON *object = cs_json_at(outcome->report, kind), *item;
    *text_p = '\0';
    cJSON_ArrayForEach(item, cs_json_at(object, "most"))
    {
        if (!add_item(text_p, size, item->string, cs_json_whole(item, 0)))
            break;
    }
    return number_of(object, "names");
}

int64_t cs_sim_outcome_unknown(const struct cs_sim_outcome *outcome, char *text_p, size_t size)
{
    const cJSON *item;
    int64_t reads = 0;
    bool full = false;
    *text_p = '\0';
    cJSON_ArrayForEach(item, cs_json_at(outcome->framework_peaks, "unknown"))
    {
        char operation[64], line[256], one[400];
        const int64_t count = cs_json_whole_at(item, "count", 0);
        copy_text(item, "operation", operation, sizeof operation);
        copy_text(item, "line", line, sizeof line);
        snprintf(one, sizeof one, "%s%s%s", operation, *line ? " at " : "", line);
        full = full || !add_item(text_p, size, one, count);
        reads += count;
    }
    return reads;
}

/* --- the program's output --- */

enum {
    LINES = 20,      /* shown, to the end of the last traceback or of the output */
    LINES_AFTER = 10 /* shown, after the traceback */
};

/* Returns the end of Python's last traceback. Its last line names the exception, and is the first
 * one that is not indented. Without a traceback returns the end of the text. */
static char *end_of_traceback(char *text)
{
    static const char head[] = "Traceback (most recent call last):\n";
    char *at = text, *traceback = NULL;
    while ((at = strstr(at, head)))
        traceback = at++;
    char *line = traceback ? strchr(traceback, '\n') : NULL;
    while (line && line[1] == ' ')
        line = strchr(line + 1, '\n');
    char *end = line ? strchr(line + 1, '\n') : NULL;
    return end ? end + 1 : text + strlen(text);
}

/* Prints the last lines of [text, end), with "..." if these are not all and `marks`. */
static void put_last_lines(char *text, char *end, int lines, bool marks, FILE *out)
{
    const char cut = *end;
    char *begin = end;
    for (int seen = 0; begin > text; begin--)
        if (begin[-1] == '\n' && begin < end && ++seen == lines)
            break;
    if (marks && begin > text)
        fputs("...\n", out);
    *end = '\0';
    cs_cli_put(begin, out);
    if (end > begin && end[-1] != '\n')
        fputc('\n', out);
    *end = cut;
}

/* Appends the output in a folder of a run. Forked runs do not free the objects of packages, which
 * nanobind reports at the end. This is left out. */
static void add_output(const char *folder, FILE *to)
{
    char path[PATH_MAX + 16], error[CS_FILE_ERROR];
    size_t length = 0;
    snprintf(path, sizeof path, "%s/output", folder);
    char *text = cs_read_file_bytes(path, &length, error);
    for (size_t i = 0; text && i < length; i++)
        text[i] = text[i] ? text[i] : '?';
    const char *leaks = text && length > 0 ? strstr(text, "nanobind: leaked ") : NULL;
    if (text)
        (void)fwrite(text, 1, leaks ? (size_t)(leaks - text) : length, to);
    free(text);
}

bool cs_sim_outcome_output(const struct cs_sim_run *run, FILE *out)
{
    char *text = NULL;
    size_t length = 0;
    FILE *both = open_memstream(&text, &length);
    if (!both)
        return false;
    if (*run->origin)
        add_output(run->origin, both);
    add_output(run->folder, both);
    const bool any = fclose(both) == 0 && length > 0;
    if (any) {
        char *end = end_of_traceback(text);
        put_last_lines(text, end, LINES, false, out);
        put_last_lines(end, text + length, LINES_AFTER, true, out);
    }
    free(text);
    return any;
}
