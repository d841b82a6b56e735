/* Runs convolutions in a process of this program (verify --once), without or with the library. */
#include "account/summary_json.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/common/cli.h"
#include "cli/common/environment.h"
#include "cli/program/preload.h"
#include "cli/verify/verify.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LINE_BYTES = 1 << 16
};

double cs_verify_seconds(void)
{
    return (double)cs_clock(CLOCK_MONOTONIC) / (double)CS_SECOND;
}

double cs_verify_number(const cJSON *measured, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(measured, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

const char *cs_verify_text(const cJSON *measured, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(measured, name));
}

struct child {
    pid_t pid;
    int output;
    char line[LINE_BYTES];
    size_t length;
};

static void write_to(void *ctx, const char *bytes, size_t size)
{
    int *file = ctx;
    while (*file >= 0 && size > 0) {
        ssize_t written = write(*file, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            *file = -1;
        bytes += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
}

/* The rows as a list of sites in memory; -1: there is none. */
static int write_list(const struct cs_verify_job *job)
{
    int file = memfd_create("convolutions", MFD_CLOEXEC), good = file;
    struct cs_json json = {.write = write_to, .ctx = &good};
    cs_json_open(&json, NULL, '{');
    cs_json_open(&json, "sites", '[');
    for (size_t i = 0; i < job->count; i++) {
        const struct cs_layer *layer = job->layer[i];
        cs_json_open(&json, NULL, '{');
        cs_json_string(&json, "name", layer->name);
        cs_summary_json_problem(&json, &layer->problem);
        cs_json_close(&json, '}');
    }
    cs_json_close(&json, ']');
    cs_json_close(&json, '}');
    cs_json_end(&json);
    if (good >= 0 && lseek(file, 0, SEEK_SET) == 0)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

/* In the child. */
static bool set_library(const struct cs_verify_job *job)
{
    const struct cs_verify_options *options = job->verification->options;
    if (job->side != CS_VERIFY_TILED)
        return setenv("CONVSHIM", "0", 1) == 0;
    if (job->config && setenv("CONVSHIM_CONFIG", job->config, 1) != 0)
        return false;
    char *list = cs_preload_list(options->library, cs_cli_variable("LD_PRELOAD"));
    bool set = list && setenv("LD_PRELOAD", list, 1) == 0 &&
               setenv("CONVSHIM_SUMMARY", "off", 1) == 0 && unsetenv("CONVSHIM") == 0 &&
               unsetenv("CONVSHIM_RUN") == 0;
    free(list);
    return set;
}

static void become(const struct cs_verify_job *job, double seconds, int list, int output)
{
    const struct cs_verify_options *options = job->verification->options;
    const struct cs_verify_gpu *gpu = &job->verification->gpu;
    int64_t bytes = options->memory ? options->memory : gpu->free / 10 * 9;
    char time[16], memory[32], iterations[32], warmup[32], repeats[32], samples[32], results[48];
    char *argv[] = {(char *)"convshim",
                    (char *)"verify",
                    (char *)"--once",
                    (char *)"--summary",
                    (char *)"-",
                    (char *)"--cudnn",
                    (char *)gpu->file,
                    time,
                    memory,
                    iterations,
                    warmup,
                    repeats,
                    samples,
                    job->results ? results : NULL,
                    NULL};
    snprintf(time, sizeof time, "--time=%d", seconds < 1 ? 1 : (int)seconds);
    snprintf(memory, sizeof memory, "--memory=%lldKiB", (long long)bytes / 1024 + 1);
    snprintf(iterations, sizeof iterations, "--iterations=%d",
             job->results ? 1 : options->iterations);
    snprintf(warmup, sizeof warmup, "--warmup=%d", job->results ? 0 : options->warmup);
    snprintf(repeats, sizeof repeats, "--repeats=%d", job->repeats ? job->repeats : 1);
    snprintf(samples, sizeof samples, "--float64=%d", job->results ? 0 : options->samples);
    if (job->results) {
        (void)fcntl(fileno(job->results), F_SETFD, 0);
        snprintf(results, sizeof results, "--out=/proc/self/fd/%d", fileno(job->results));
    }
    dup2(list, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    if (set_library(job))
        execv("/proc/self/exe", argv);
    cs_cli_complain("verify: %s", strerror(errno));
    _exit(CS_CLI_NO);
}

static bool start(const struct cs_verify_job *job, double seconds, struct child *child)
{
    int ends[2], list = write_list(job);
    if (list < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        cs_cli_complain("verify: %s", strerror(errno));
        if (list >= 0)
            close(list);
        return false;
    }
    fflush(NULL);
    child->length = 0;
    child->output = ends[0];
    child->pid = fork();
    if (child->pid == 0)
        become(job, seconds, list, ends[1]);
    close(ends[1]);
    close(list);
    if (child->pid > 0)
        return true;
    cs_cli_complain("verify: %s", strerror(errno));
    close(ends[0]);
    return false;
}

static void take_line(const struct cs_verify_job *job, const char *line)
{
    cJSON *measured = cJSON_Parse(line);
    const cJSON *index = cJSON_GetObjectItemCaseSensitive(measured, "index");
    if (cJSON_IsNumber(index) && index->valuedouble >= 0 &&
        index->valuedouble < (double)job->count) {
        cJSON **place = &job->measured[(size_t)index->valuedouble];
        cJSON_Delete(*place);
        *place = measured;
    } else {
        cJSON_Delete(measured);
    }
}

/* Takes the lines that are complete. False at the end of the output. */
static bool take_output(const struct cs_verify_job *job, struct child *child)
{
    ssize_t got =
        read(child->output, child->line + child->length, sizeof child->line - 1 - child->length);
    if (got < 0 && errno == EINTR)
        return true;
    if (got <= 0)
        return false;
    child->length += (size_t)got;
    child->line[child->length] = '\0';
    char *line = child->line, *end;
    while ((end = strchr(line, '\n'))) {
        *end = '\0';
        take_line(job, line);
        line = end + 1;
    }
    child->length -= (size_t)(line - child->line);
    memmove(child->line, line, child->length);
    return child->length < sizeof child->line - 1;
}

/* Returns true if the process ended before the time `end`. Otherwise kills it. */
static bool collect(const struct cs_verify_job *job, struct child *child, double end)
{
    struct pollfd output = {.fd = child->output, .events = POLLIN};
    bool more = true, in_time = true;
    while (more && in_time) {
        double left = end - cs_verify_seconds();
        int ready = left > 0 ? poll(&output, 1, (int)(left * 1e3) + 1) : 0;
        in_time = left > 0;
        if (ready > 0)
            more = take_output(job, child);
    }
    if (!in_time)
        kill(child->pid, SIGKILL);
    while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    close(child->output);
    return in_time;
}

bool cs_verify_run(const struct cs_verify_job *job, double end, bool *in_time_p)
{
    static struct child child;
    /* The process plans with this part of its time, so that a call that runs then can end. */
    const double planned = 0.85;
    if (!start(job, (end - cs_verify_seconds()) * planned, &child))
        return false;
    *in_time_p = collect(job, &child, end);
    return true;
}
