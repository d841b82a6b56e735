/* Reads what a run left in its folder. */
#include "cli/simulate/simulated_result.h"

#include "cli/common/cli.h"
#include "cli/common/json_value.h"
#include "cli/common/read_file.h"
#include <cjson/cJSON.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAST_LINES = 20
};

/* A member by its way, as "convolutions.nanoseconds"; NULL: there is none. */
static const cJSON *member(const cJSON *object, const char *way)
{
    char name[64];
    while (object && *way) {
        size_t length = strcspn(way, ".");
        snprintf(name, sizeof name, "%.*s", (int)length, way);
        object = cJSON_GetObjectItemCaseSensitive(object, name);
        way += length + (way[length] == '.');
    }
    return object;
}

static int64_t number(const cJSON *object, const char *way)
{
    return cs_json_whole(member(object, way), -1);
}

static void text(const cJSON *object, const char *way, char *to, size_t size)
{
    const char *value = cJSON_GetStringValue(member(object, way));
    snprintf(to, size, "%s", value ? value : "");
}

static cJSON *read_json(const char *path)
{
    char error[CS_FILE_ERROR];
    char *bytes = cs_read_file_text(path, error);
    cJSON *root = bytes ? cJSON_Parse(bytes) : NULL;
    if (!root)
        cs_cli_complain("%s: %s", path, bytes ? "damaged" : error);
    free(bytes);
    return root;
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
        good = report != NULL;
        result->processes += good;
        if (good && (!result->report ||
                     number(report, "peak_bytes") > number(result->report, "peak_bytes"))) {
            cJSON_Delete(result->report);
            result->report = report;
            result->pid = (pid_t)atol(strrchr(found.gl_pathv[i], '/') + strlen("/report."));
        } else {
            cJSON_Delete(report);
        }
    }
    globfree(&found);
    return good;
}

/* A file of that process; it need not be there. */
static cJSON *read_of(const struct cs_simulated_run *run, const char *kind, pid_t pid)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s.%ld.json", run->folder, kind, (long)pid);
    FILE *there = fopen(path, "re");
    if (!there)
        return NULL;
    fclose(there);
    return read_json(path);
}

static void take_report(struct cs_simulated_result *result)
{
    const cJSON *report = result->report;
    result->used = report != NULL;
    text(report, "planning", result->planning, sizeof result->planning);
    text(report, "device_name", result->device, sizeof result->device);
    result->capacity = number(report, "capacity_bytes");
    result->device_peak = number(report, "peak_bytes");
    result->largest_workspace = number(report, "largest_workspace_used");
    result->launches = number(report, "conv_launches");
    result->tensor_bytes = number(report, "convolutions.tensor_bytes");
    result->nanoseconds = number(report, "convolutions.nanoseconds");
    result->refused = number(report, "refused_allocations.refused");
    result->missing_bytes = number(report, "refused_allocations.last_bytes") +
                            number(report, "refused_allocations.last_live_bytes") -
                            result->capacity;
    result->kernels = number(report, "kernel_launches");
    result->library_calls = number(report, "library_calls");
    result->reads = number(report, "reads_of_nothing_written.reads");
    result->read_bytes = number(report, "reads_of_nothing_written.bytes");
    result->times_asked = number(report, "times.asked");
    result->planned =
        strncmp(result->planning, "cudnn ", strlen("cudnn ")) == 0 || result->launches <= 0;
}

static void take_told(struct cs_simulated_result *result)
{
    text(result->framework_peaks, "framework", result->framework, sizeof result->framework);
    result->allocated = number(result->framework_peaks, "allocated");
    result->reserved = number(result->framework_peaks, "reserved");
    result->retries = number(result->framework_peaks, "retries");
    result->failed = number(result->framework_peaks, "failed");
    result->calls = number(result->summary, "totals.calls");
    result->tiled = number(result->summary, "totals.tiled");
    result->extra_launches = number(result->summary, "totals.extra_launches");
}

bool cs_simulated_result_read(const struct cs_simulated_run *run,
                              struct cs_simulated_result *result)
{
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
    take_told(result);
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
    return result->status == 0;
}

bool cs_simulated_result_out_of_memory(const struct cs_simulated_result *result)
{
    return result->status != 0 && result->refused > 0;
}

int64_t cs_simulated_result_other_engines(const struct cs_simulated_result *result,
                                          const struct cs_simulated_result *base)
{
    const cJSON *known = member(base->report, "plans.most"), *plan;
    int64_t others = 0;
    cJSON_ArrayForEach(plan, member(result->report, "plans.most"))
    {
        if (!cJSON_GetObjectItemCaseSensitive(known, plan->string))
            others += cs_json_whole(plan, 0);
    }
    return others;
}

int64_t cs_simulated_result_names(const struct cs_simulated_result *result, const char *kind,
                                  char *text_p, size_t size)
{
    const cJSON *object = member(result->report, kind), *item;
    int64_t names = number(object, "names"), shown = 0;
    size_t length = 0;
    *text_p = '\0';
    cJSON_ArrayForEach(item, member(object, "most"))
    {
        int more = snprintf(text_p + length, size - length, "%s%s %.0f", length > 0 ? ", " : "",
                            item->string, item->valuedouble);
        if (more < 0 || (size_t)more >= size - length) {
            text_p[length] = '\0';
            break;
        }
        length += (size_t)more;
        shown++;
    }
    if (shown < names && length + 8 < size)
        snprintf(text_p + length, size - length, "%s...", length > 0 ? ", " : "");
    return names;
}

/* Where the last so many lines of a text begin that ends at `end`. */
static char *last_lines(char *text, char *end, int lines)
{
    char *start = end;
    for (int seen = 0; start > text; start--)
        if (start[-1] == '\n' && start < end && ++seen == lines)
            break;
    return start;
}

/* The end of the last traceback of Python that begins before `end`: behind the line that names the
 * exception, the first that is not indented. NULL: there is none. */
static char *traceback_end(char *text, char *end, char **begin_p)
{
    static const char head[] = "Traceback (most recent call last):\n";
    char *last = NULL;
    for (char *at = strstr(text, head); at && at < end; at = strstr(at + 1, head))
        last = at;
    if (!last)
        return NULL;
    *begin_p = last;
    for (last = strchr(last, '\n'); last && last[1] == ' '; last = strchr(last + 1, '\n'))
        continue;
    char *after = last && last[1] ? strchr(last + 1, '\n') : NULL;
    return after ? after + 1 : NULL;
}

bool cs_simulated_result_output(const struct cs_simulated_run *run, FILE *out)
{
    char path[PATH_MAX + 16], error[CS_FILE_ERROR], *begin = NULL;
    snprintf(path, sizeof path, "%s/output", run->folder);
    size_t length = 0;
    char *bytes = cs_read_file_bytes(path, &length, error);
    if (bytes && length > 0) {
        char *start = last_lines(bytes, bytes + length, LAST_LINES);
        char *after = traceback_end(bytes, start, &begin), cut;
        if (after && after <= start) {
            char *from = last_lines(begin, after, LAST_LINES);
            cut = *after;
            *after = '\0';
            cs_cli_put(from, out);
            *after = cut;
            fputs("...\n", out);
        }
        cs_cli_put(start, out);
        if (bytes[length - 1] != '\n')
            fputc('\n', out);
    }
    free(bytes);
    return length > 0;
}
