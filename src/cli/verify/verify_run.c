/* The processes that use the GPU: one describes it, others run convolutions (verify --once) without
 * or with the library. Each prints lines of JSON, which are read here. */
#include "account/summary_json.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/version.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/variables.h"
#include "cli/program/child.h"
#include "cli/program/command_facts.h"
#include "cli/verify/verify.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    FORMAT_VERSION = 2
};

#ifndef CS_COMMIT
#define CS_COMMIT ""
#endif

/* A process that prints lines. */
struct process {
    const struct cs_verify_options *options;
    const struct cs_verify_job *job; /* NULL: it describes the GPU */
    FILE *list, *output;             /* list: standard input of a job */
    double seconds;                  /* after which the system kills it */
};

static void write_file(void *ctx, const char *bytes, size_t size)
{
    (void)fwrite(bytes, 1, size, ctx);
}

/* Writes the layers of a job to a temporary file, as a summary of sites that were called once. NULL
 * with errno. */
static FILE *write_list(const struct cs_verify_job *job)
{
    FILE *file = tmpfile();
    struct cs_json json = {.write = write_file, .ctx = file};
    if (!file)
        return NULL;
    cs_json_open(&json, NULL, '{');
    cs_json_string(&json, "schema", "convshim summary");
    cs_json_integer(&json, "version", CS_SUMMARY_VERSION);
    cs_json_open(&json, "sites", '[');
    for (size_t i = 0; i < job->count; i++) {
        const struct cs_layer *layer = job->row[i]->layer;
        cs_json_open(&json, NULL, '{');
        cs_json_string(&json, "name", layer->name);
        cs_json_integer(&json, "calls", 1);
        cs_summary_json_problem(&json, &layer->problem);
        cs_json_close(&json, '}');
    }
    cs_json_close(&json, ']');
    cs_json_close(&json, '}');
    cs_json_end(&json);
    if (fflush(file) == 0 && !ferror(file) && lseek(fileno(file), 0, SEEK_SET) == 0)
        return file;
    fclose(file);
    return NULL;
}

/* In the child: sets its variables for the side of the job. False if memory is short. */
static bool set_variables(const struct cs_verify_job *job)
{
    const struct cs_verify_options *options = job->verification->options;
    struct cs_child_variables variables = {.items = 0};
    if (job->side != CS_VERIFY_TILED) {
        cs_child_variables_set(&variables, "CONVSHIM", "0");
        return cs_child_variables_apply(&variables);
    }
    if (job->tiles > 0) {
        cs_child_variables_set(&variables, "CONVSHIM_POLICY", "fixed");
        cs_child_variables_set(&variables, "CONVSHIM_TILES", "%d", job->tiles);
        cs_child_variables_set(&variables, "CONVSHIM_LANES", "%d", job->lanes);
        cs_child_variables_set(&variables, "CONVSHIM_WORKSPACE", "1MiB");
        cs_child_variables_set(&variables, "CONVSHIM_THRESHOLD", "0");
        cs_child_variables_set(&variables, "CONVSHIM_MAX_SLOWDOWN", "off");
    }
    char *list = cs_preload_list(options->library, cs_cli_variable("LD_PRELOAD"));
    cs_child_variables_set(&variables, "LD_PRELOAD", "%s", list ? list : "");
    cs_child_variables_set(&variables, "CONVSHIM_SUMMARY", "off");
    cs_child_variables_remove(&variables, "CONVSHIM");
    cs_child_variables_remove(&variables, "CONVSHIM_RUN");
    return list && cs_child_variables_apply(&variables);
}

/* In the child: executes verify --once for the job. Options that are not given have their defaults
 * there, too. Returns only on failure. */
static int become_once(const struct process *process)
{
    /* It plans with this part of its time, so that a call that runs then can end. */
    const double planned = 0.85;
    const struct cs_verify_job *job = process->job;
    const struct cs_verify_options *options = process->options;
    char time[32], iterations[32], repeats[32], memory[48], results[48];
    const char *argv[] = {
        "convshim", "verify",   "--once", "--summary", "-",  "--cudnn", job->verification->file,
        time,       iterations, repeats,  NULL,        NULL, NULL};
    size_t words = 10;
    snprintf(time, sizeof time, "--time=%d", (int)fmax(1, process->seconds * planned));
    snprintf(iterations, sizeof iterations, "--iterations=%d",
             job->results ? 1 : options->iterations);
    snprintf(repeats, sizeof repeats, "--repeats=%d", job->repeats ? job->repeats : 1);
    if (options->memory > 0) {
        snprintf(memory, sizeof memory, "--memory=%lldKiB", (long long)options->memory / 1024 + 1);
        argv[words++] = memory;
    }
    if (job->results) {
        (void)fcntl(fileno(job->results), F_SETFD, 0);
        snprintf(results, sizeof results, "--out=/proc/self/fd/%d", fileno(job->results));
        argv[words++] = results;
    }
    dup2(fileno(process->list), STDIN_FILENO);
    if (set_variables(job))
        execv("/proc/self/exe", (char *const *)argv);
    cs_cli_complain("verify: this program cannot run itself again: %s", strerror(errno));
    return CS_CLI_NONE;
}

/* In the child: sets the time limit and the output, then describes the GPU or runs the job. */
static int run_child(void *ctx)
{
    const struct process *process = ctx;
    const double seconds = fmax(0.001, process->seconds);
    struct itimerval end = {.it_value.tv_sec = (time_t)seconds};
    end.it_value.tv_usec = (suseconds_t)((seconds - (double)end.it_value.tv_sec) * 1e6);
    setitimer(ITIMER_REAL, &end, NULL);
    dup2(fileno(process->output), STDOUT_FILENO);
    return process->job ? become_once(process) : cs_verify_print_gpu(process->options);
}

static void read_lines(FILE *output, cJSON *lines)
{
    char *line = NULL;
    size_t size = 0;
    rewind(output);
    while (getline(&line, &size, output) > 0)
        cJSON_AddItemToArray(lines, cJSON_Parse(line));
    free(line);
}

/* Runs the process until its end. Adds its lines to an array. Returns its status (cs_child_wait),
 * or -1 after a line if it could not be started. */
static int run_process(struct process *process, cJSON *lines)
{
    process->output = tmpfile();
    int status = process->output ? cs_child_run(run_child, process) : -1;
    if (status < 0)
        cs_cli_complain("verify: cannot start a process: %s", strerror(errno));
    else
        read_lines(process->output, lines);
    if (process->output)
        fclose(process->output);
    return status;
}

/* Begins the JSON with the versions, the date and the options. */
static void begin_json(struct cs_verification *verification)
{
    const struct cs_child_variables *given = &verification->options->given;
    char date[24];
    time_t now = time(NULL);
    cs_json_begin();
    cJSON *json = verification->json = cJSON_CreateObject();
    cJSON_AddNumberToObject(json, "version", FORMAT_VERSION);
    cJSON_AddStringToObject(json, "convshim", CS_VERSION);
    cJSON_AddStringToObject(json, "commit", CS_COMMIT);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    cJSON_AddStringToObject(json, "date", date);
    if (given->items > 0)
        cs_json_add(json, "options",
                    cJSON_CreateStringArray((const char *const *)given->item, (int)given->items));
}

int cs_verify_describe(struct cs_verification *verification)
{
    struct process process = {.options = verification->options, .seconds = 600};
    cJSON *lines = cJSON_CreateArray();
    int status = run_process(&process, lines);
    cJSON *gpu = cJSON_DetachItemFromArray(lines, 0);
    cJSON_Delete(lines);
    begin_json(verification);
    verification->gpu = cs_json_text(gpu, "name");
    verification->cudnn = cs_json_text(gpu, "cudnn");
    verification->profile = cs_json_text(gpu, "profile");
    verification->simulated = cJSON_IsTrue(cs_json_at(gpu, "simulated"));
    const char *path = cs_json_text(gpu, "cudnn_file");
    snprintf(verification->file, sizeof verification->file, "%s", path ? path : "");
    cJSON_DeleteItemFromObjectCaseSensitive(gpu, "cudnn_file");
    if (gpu)
        cs_json_add(verification->json, "gpu", gpu);
    if (status == CS_CLI_OK && verification->gpu && verification->cudnn)
        return CS_CLI_OK;
    if (status >= 128)
        cs_cli_complain("verify: the process that queries the GPU ended abnormally");
    return CS_CLI_NONE;
}

bool cs_verify_run(const struct cs_verify_job *job, double end, bool *in_time_p)
{
    struct process process = {job->verification->options, job, write_list(job), NULL,
                              end - cs_clock_seconds()};
    if (!process.list) {
        cs_cli_complain("verify: the list of convolutions cannot be written: %s", strerror(errno));
        return false;
    }
    cJSON *lines = cJSON_CreateArray(), *line;
    int status = run_process(&process, lines);
    *in_time_p = status != 128 + SIGALRM;
    while ((line = cJSON_DetachItemFromArray(lines, 0))) {
        const int64_t index = cs_json_whole_at(line, "index", INT64_MAX);
        if ((uint64_t)index < job->count && !cs_verified_line(job->row[index], job->side))
            cs_json_add(job->row[index]->json, cs_verify_side_names[job->side], line);
        else
            cJSON_Delete(line);
    }
    cJSON_Delete(lines);
    fclose(process.list);
    return status >= 0;
}
