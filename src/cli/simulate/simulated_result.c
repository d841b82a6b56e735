/* Reads the files that a run left in its folder. */
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/read_file.h"
#include "cli/simulate/simulation.h"
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cs_simulated_progress_read(const struct cs_simulated_run *run,
                                struct cs_simulated_progress *progress)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/progress", run->folder);
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

static cJSON *read_json(const char *path)
{
    char error[CS_FILE_ERROR];
    char *bytes = cs_read_file_text(path, error);
    cJSON *root = bytes ? cJSON_Parse(bytes) : NULL;
    if (!root)
        cs_cli_complain("%s: %s", path,
                        cs_temporary_is_full(path)
                            ? "damaged, because its disk is full. Set TMPDIR to another folder."
                        : bytes ? "damaged"
                                : error);
    free(bytes);
    return root;
}

static void note_process(struct cs_simulated_result *result, pid_t pid, const cJSON *report)
{
    if (result->processes < CS_MOST_PROCESSES)
        result->process[result->processes] =
            (struct cs_simulated_process){.pid = pid,
                                          .device_peak = number_of(report, "peak_bytes"),
                                          .launches = number_of(report, "conv_launches"),
                                          .reported = true};
    result->processes++;
}

static bool used_device(const struct cs_process_progress *process)
{
    return process->pid > 0 &&
           (process->peak_bytes > 0 || process->kernels > 0 || process->convolutions > 0);
}

/* Whether that process is among those that left a report. */
static bool left_report(const struct cs_simulated_result *result, pid_t pid)
{
    for (int i = 0; i < result->processes && i < CS_MOST_PROCESSES; i++)
        if (result->process[i].pid == pid)
            return true;
    return false;
}

/* Replaces the list of processes that left a report by all that used the device. Returns the one of
 * that number, or the one that held most. */
static const struct cs_process_progress *
list_processes(const struct cs_simulated_progress *progress, int number,
               struct cs_simulated_result *result)
{
    struct cs_simulated_process listed[CS_MOST_PROCESSES];
    const struct cs_process_progress *most = NULL;
    int count = 0;
    for (int i = 0; i < CS_MOST_PROCESSES; i++) {
        const struct cs_process_progress *process = &progress->process[i];
        if (!used_device(process))
            continue;
        listed[count++] =
            (struct cs_simulated_process){.pid = (pid_t)process->pid,
                                          .device_peak = (int64_t)process->peak_bytes,
                                          .launches = (int64_t)process->convolutions,
                                          .reported = left_report(result, (pid_t)process->pid)};
        if (number > 0 ? count == number : !most || process->peak_bytes > most->peak_bytes) {
            most = process;
            result->number = count;
        }
    }
    if (count > 0)
        memcpy(result->process, listed, sizeof *listed * (size_t)count);
    result->processes = count + (int)progress->unlisted;
    return most;
}

/* The report of the process that held most. */
static bool read_reports(const struct cs_simulated_run *run, struct cs_simulated_result *result)
{
    char pattern[PATH_MAX + 32];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/report.*.json", run->folder);
    if (glob(pattern, 0, NULL, &found) != 0)
        return true;
    bool good = true;
    for (size_t i = 0; i < found.gl_pathc && good; i++) {
        cJSON *report = read_json(found.gl_pathv[i]);
        const pid_t pid = (pid_t)atol(strrchr(found.gl_pathv[i], '/') + strlen("/report."));
        good = report != NULL;
        if (good)
            note_process(result, pid, report);
        if (good && (!result->report ||
                     number_of(report, "peak_bytes") > number_of(result->report, "peak_bytes"))) {
            cJSON_Delete(result->report);
            result->report = report;
            result->pid = pid;
        } else {
            cJSON_Delete(report);
        }
    }
    globfree(&found);
    return good;
}

enum {
    PLACE = PATH_MAX + 64
};

static void place_of(const struct cs_simulated_run *run, const char *kind, pid_t pid,
                     char path[PLACE])
{
    snprintf(path, PLACE, "%s/%s.%ld.json", run->folder, kind, (long)pid);
}

/* A file of that process, which may not exist. */
static cJSON *read_of(const struct cs_simulated_run *run, const char *kind, pid_t pid)
{
    char path[PLACE];
    place_of(run, kind, pid, path);
    FILE *there = fopen(path, "re");
    if (!there)
        return NULL;
    fclose(there);
    return read_json(path);
}

static bool is_planned(const struct cs_simulated_result *result)
{
    return strncmp(result->planning, "cudnn ", strlen("cudnn ")) == 0 || result->launches <= 0;
}

/* A process that was killed, or called _exit: the figures that the device noted of it last. */
static void take_process(const struct cs_process_progress *process,
                         struct cs_simulated_result *result)
{
    result->used = result->cut_short = true;
    result->pid = (pid_t)process->pid;
    result->kernels = (int64_t)process->kernels;
    result->launches = (int64_t)process->convolutions;
    snprintf(result->planning, sizeof result->planning, "%.*s", (int)sizeof process->planning,
             process->planning);
    result->planned = is_planned(result);
    result->largest_workspace = (int64_t)process->largest_workspace;
    result->tensor_bytes = (int64_t)process->tensor_bytes;
    result->refused = (int64_t)process->refused;
    result->missing_bytes =
        (int64_t)(process->last_refused_bytes + process->last_refused_live) - result->capacity;
}

static void take_report(struct cs_simulated_result *result)
{
    const cJSON *report = result->report;
    result->used = report != NULL;
    copy_text(report, "planning", result->planning, sizeof result->planning);
    copy_text(report, "linked_runtime", result->linked_runtime, sizeof result->linked_runtime);
    copy_text(report, "device_name", result->device, sizeof result->device);
    result->capacity = number_of(report, "capacity_bytes");
    result->device_peak = number_of(report, "peak_bytes");
    for (int i = 0; i < result->processes && i < CS_MOST_PROCESSES; i++)
        if (result->process[i].pid != result->pid)
            result->device_peak += result->process[i].device_peak;
    result->needed = result->device_peak;
    result->largest_workspace = number_of(report, "largest_workspace_used");
    result->launches = number_of(report, "conv_launches");
    result->tensor_bytes = number_of(report, "convolutions.tensor_bytes");
    result->refused = number_of(report, "refused_allocations.refused");
    result->missing_bytes = number_of(report, "refused_allocations.last_bytes") +
                            number_of(report, "refused_allocations.last_live_bytes") -
                            result->capacity;
    result->kernels = number_of(report, "kernel_launches");
    result->library_calls = number_of(report, "library_calls");
    result->reads = number_of(report, "reads_of_nothing_written.reads");
    result->read_bytes = number_of(report, "reads_of_nothing_written.bytes");
    result->times_asked = number_of(report, "times.asked");
    result->planned = is_planned(result);
}

/* Another process than the one of the largest report. */
static void take_chosen(const struct cs_process_progress *process,
                        struct cs_simulated_result *result)
{
    const int64_t device_peak = result->device_peak, needed = result->needed;
    result->pid = (pid_t)process->pid;
    take_report(result);
    result->device_peak = device_peak;
    result->needed = needed;
}

/* The figures of a run are those of the GPU that needs most. */
static void take_gpus(const struct cs_simulated_progress *progress,
                      const struct cs_simulated_run *run, struct cs_simulated_result *result)
{
    result->gpus = run->gpus > 1 && run->gpus <= CS_MOST_GPUS ? run->gpus : 1;
    result->device_peak = result->needed = 0;
    for (int i = 0; i < result->gpus; i++) {
        const struct cs_gpu_progress *gpu = &progress->gpu[i];
        int64_t *const peak = result->gpu[i];
        peak[CS_FIGURE_allocated_peak] = peak[CS_FIGURE_reserved_peak] = -1;
        peak[CS_FIGURE_device_peak] = (int64_t)gpu->peak_bytes;
        peak[CS_FIGURE_needed] = (int64_t)gpu->needed_bytes;
        if (peak[CS_FIGURE_needed] > result->needed) {
            result->needed = peak[CS_FIGURE_needed];
            result->device_peak = peak[CS_FIGURE_device_peak];
        }
    }
}

/* Reads the shared record of the run's processes, including those that left no report. */
static void take_progress(const struct cs_simulated_run *run, struct cs_simulated_result *result)
{
    struct cs_simulated_progress progress;
    if (!cs_simulated_progress_read(run, &progress))
        return;
    const struct cs_process_progress *most = list_processes(&progress, run->process, result);
    if (!most)
        return;
    result->sum_is_exact = true;
    take_gpus(&progress, run, result);
    if (result->report && result->pid == (pid_t)most->pid)
        return;
    if (run->process == 0 && result->report &&
        number_of(result->report, "peak_bytes") >= (int64_t)most->peak_bytes)
        return;
    cJSON_Delete(result->report);
    result->report = read_of(run, "report", (pid_t)most->pid);
    if (result->report)
        take_chosen(most, result);
    else
        take_process(most, result);
    cJSON_Delete(result->summary);
    result->summary = read_of(run, "summary", result->pid);
    cJSON_Delete(result->framework_peaks);
    result->framework_peaks = read_of(run, "python", result->pid);
}

void cs_simulated_result_add_peaks(const struct cs_simulated_run *run,
                                   const struct cs_simulated_result *without,
                                   const struct cs_simulated_result *with)
{
    char path[PLACE];
    if (without->allocated < 0 || with->allocated < 0 || !with->summary)
        return;
    cJSON *framework = cJSON_AddObjectToObject(with->summary, "framework");
    cJSON_AddStringToObject(framework, "name", with->framework);
    cJSON_AddNumberToObject(framework, "allocated_without", (double)without->allocated);
    cJSON_AddNumberToObject(framework, "allocated_with", (double)with->allocated);
    char *summary = cJSON_PrintUnformatted(with->summary);
    place_of(run, "summary", with->pid, path);
    FILE *file = summary ? fopen(path, "we") : NULL;
    if (file && (fprintf(file, "%s\n", summary) < 0) + fclose(file) != 0)
        cs_cli_complain("%s: cannot be written", path);
    free(summary);
}

/* The framework's peaks on each GPU, in the process that held most. */
static void take_gpus_told(struct cs_simulated_result *result)
{
    const cJSON *gpus = cs_json_at(result->framework_peaks, "gpus"), *gpu;
    cJSON_ArrayForEach(gpu, gpus)
    {
        const int index = gpu->string ? atoi(gpu->string) : CS_MOST_GPUS;
        if (index < 0 || index >= result->gpus)
            continue;
        result->gpu[index][CS_FIGURE_allocated_peak] = number_of(gpu, "allocated");
        result->gpu[index][CS_FIGURE_reserved_peak] = number_of(gpu, "reserved");
    }
}

static void take_told(struct cs_simulated_result *result)
{
    take_gpus_told(result);
    copy_text(result->framework_peaks, "framework", result->framework, sizeof result->framework);
    result->allocated = number_of(result->framework_peaks, "allocated");
    result->reserved = number_of(result->framework_peaks, "reserved");
    result->retries = number_of(result->framework_peaks, "retries");
    result->failed = number_of(result->framework_peaks, "failed");
    result->calls = number_of(result->summary, "totals.calls");
    result->tiled = number_of(result->summary, "totals.tiled");
    result->reported = number_of(result->summary, "totals.reported_max");
    result->extra_launches = number_of(result->summary, "totals.extra_launches");
    result->untiled_ns = number_of(result->summary, "totals.untiled_ns");
    result->predicted_ns = number_of(result->summary, "totals.predicted_ns");
    result->untiled_most_ns = number_of(result->summary, "totals.untiled_most_ns");
    result->predicted_most_ns = number_of(result->summary, "totals.predicted_most_ns");
}

bool cs_simulated_result_read(struct cs_simulated_run *run)
{
    struct cs_simulated_result *result = &run->result;
    *result = (struct cs_simulated_result){.status = run->status, .seconds = run->seconds};
    if (!read_reports(run, result)) {
        cs_simulated_result_free(result);
        return false;
    }
    if (result->report) {
        result->summary = read_of(run, "summary", result->pid);
        result->framework_peaks = read_of(run, "python", result->pid);
    }
    take_report(result);
    take_progress(run, result);
    take_told(result);
    result->limited = result->status != 0 && result->refused <= 0 &&
                      cs_simulated_result_refusal(run, result->refusal, sizeof result->refusal);
    return true;
}

void cs_simulated_result_free(struct cs_simulated_result *result)
{
    cJSON_Delete(result->report);
    cJSON_Delete(result->summary);
    cJSON_Delete(result->framework_peaks);
    result->report = result->summary = result->framework_peaks = NULL;
}

bool cs_simulated_result_ran(const struct cs_simulated_result *result)
{
    return result->status == 0 || cs_simulated_result_stopped(result);
}

bool cs_simulated_result_stopped(const struct cs_simulated_result *result)
{
    return result->used && (result->status == 128 + SIGTERM || result->status == 128 + SIGINT);
}

bool cs_simulated_result_out_of_memory(const struct cs_simulated_result *result)
{
    return !cs_simulated_result_ran(result) && (result->refused > 0 || result->limited);
}

int64_t cs_simulated_result_failures(const struct cs_simulated_result *result)
{
    int64_t failed = result->failed >= 0 ? result->failed : result->refused;
    return failed > 0 ? failed : 0;
}

bool cs_simulated_result_used_gpu(const struct cs_simulated_result *result)
{
    return result->used && (result->device_peak > 0 || result->kernels > 0 || result->launches > 0);
}

bool cs_simulated_result_fits(const struct cs_simulated_result *result)
{
    return cs_simulated_result_ran(result) && cs_simulated_result_failures(result) == 0;
}

/* Plans of the same graph have the same text before the dash (simdev_program_parse). */
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

struct cs_other_plans cs_simulated_result_other_plans(const struct cs_simulated_result *result,
                                                      const struct cs_simulated_result *base)
{
    const cJSON *known = cs_json_at(base->report, "plans.most"), *plan;
    struct cs_other_plans others = {0, 0};
    cJSON_ArrayForEach(plan, cs_json_at(result->report, "plans.most"))
    {
        if (cJSON_GetObjectItemCaseSensitive(known, plan->string))
            continue;
        *(has_graph(known, plan->string) ? &others.engines : &others.work) +=
            cs_json_whole(plan, 0);
    }
    return others;
}

/* Appends to a list in `text_p`. False if it is full. */
static bool append(char *text_p, size_t size, size_t *length_p, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static bool append(char *text_p, size_t size, size_t *length_p, const char *format, ...)
{
    const char *between = *length_p > 0 ? ", " : "";
    char one[512];
    va_list list;
    va_start(list, format);
    vsnprintf(one, sizeof one, format, list);
    va_end(list);
    if (strlen(between) + strlen(one) >= size - *length_p)
        return false;
    *length_p += (size_t)sprintf(text_p + *length_p, "%s%s", between, one);
    return true;
}

int64_t cs_simulated_result_names(const struct cs_simulated_result *result, const char *kind,
                                  char *text_p, size_t size)
{
    const cJSON *object = cs_json_at(result->report, kind), *item;
    int64_t names = number_of(object, "names"), shown = 0;
    size_t length = 0;
    *text_p = '\0';
    cJSON_ArrayForEach(item, cs_json_at(object, "most"))
    {
        if (!append(text_p, size, &length, "%s %.0f", item->string, item->valuedouble))
            break;
        shown++;
    }
    if (shown < names && length + sizeof ", ..." < size)
        snprintf(text_p + length, size - length, "%s...", length > 0 ? ", " : "");
    return names;
}

int64_t cs_simulated_result_unknown(const struct cs_simulated_result *result, char *text_p,
                                    size_t size)
{
    const cJSON *list = cs_json_at(result->framework_peaks, "unknown"), *item;
    int64_t reads = 0, shown = 0;
    size_t length = 0;
    bool full = false;
    *text_p = '\0';
    cJSON_ArrayForEach(item, list)
    {
        char operation[64], line[256];
        const int64_t count = number_of(item, "count");
        copy_text(item, "operation", operation, sizeof operation);
        copy_text(item, "line", line, sizeof line);
        full = full || !append(text_p, size, &length, "%s%s%s %" PRId64, operation,
                               *line ? " at " : "", line, count);
        shown += !full;
        reads += count > 0 ? count : 0;
    }
    if (shown < cJSON_GetArraySize(list) && length + sizeof ", ..." < size)
        snprintf(text_p + length, size - length, "%s...", length > 0 ? ", " : "");
    return reads;
}
