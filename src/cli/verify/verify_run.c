/* The processes that use the GPU: one describes it, others run convolutions (verify --once) without
 * or with the library. Each prints lines of JSON, which are read here. */
#include "account/summary_json.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/common/cli.h"
#include "cli/common/environment.h"
#include "cli/common/json_tree.h"
#include "cli/common/read_file.h"
#include "cli/program/child.h"
#include "cli/program/command_facts.h"
#include "cli/verify/verify.h"
#include "cudnn/standalone/standalone.h"
#include "cudnn/standalone/trial.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_BYTES = 1 << 16
};

double cs_verify_seconds(void)
{
    return (double)cs_clock(CLOCK_MONOTONIC) / (double)CS_SECOND;
}

/* --- a process that prints lines --- */

struct process {
    int (*body)(void *ctx);               /* runs in the process and prints */
    void (*take)(void *ctx, cJSON *line); /* owns the line */
    void *ctx;
    int output[2];
    char line[LINE_BYTES];
    size_t length;
};

static int run_body(void *ctx)
{
    struct process *process = ctx;
    dup2(process->output[1], STDOUT_FILENO);
    return process->body(process->ctx);
}

/* Takes the lines that are complete. False at the end of the output, or if a line is too long. */
static bool take_output(struct process *process)
{
    ssize_t got = read(process->output[0], process->line + process->length,
                       sizeof process->line - 1 - process->length);
    if (got < 0 && errno == EINTR)
        return true;
    if (got <= 0)
        return false;
    process->length += (size_t)got;
    process->line[process->length] = '\0';
    char *line = process->line, *end;
    while ((end = strchr(line, '\n'))) {
        *end = '\0';
        process->take(process->ctx, cJSON_Parse(line));
        line = end + 1;
    }
    process->length -= (size_t)(line - process->line);
    memmove(process->line, line, process->length);
    return process->length < sizeof process->line - 1;
}

/* Runs the process until its end, or kills it at the time `end`. Returns its status
 * (cs_child_wait), or -1 after a line if it could not be started. */
static int run_process(struct process *process, double end, bool *in_time_p)
{
    bool more = true;
    process->length = 0;
    *in_time_p = true;
    pid_t pid = pipe2(process->output, O_CLOEXEC) == 0 ? cs_child_start(run_body, process) : -1;
    if (pid < 0) {
        cs_cli_complain("verify: cannot start a process: %s", strerror(errno));
        return -1;
    }
    close(process->output[1]);
    struct pollfd output = {.fd = process->output[0], .events = POLLIN};
    while (more && *in_time_p) {
        double left = end - cs_verify_seconds();
        int ready = left > 0 ? poll(&output, 1, (int)(left * 1e3) + 1) : 0;
        *in_time_p = left > 0;
        if (ready > 0)
            more = take_output(process);
    }
    if (!*in_time_p)
        kill(pid, SIGKILL);
    close(process->output[0]);
    return cs_child_wait(pid);
}

/* --- the GPU --- */

static void add_driver(cJSON *line)
{
    char error[CS_FILE_ERROR];
    size_t length = 0;
    char *text = cs_read_file_bytes("/sys/module/nvidia/version", &length, error);
    if (text) {
        text[strcspn(text, "\n")] = '\0';
        cJSON_AddStringToObject(line, "driver", text);
    }
    free(text);
}

/* Adds cuDNN's description of the GPU, and the width of the memory bus, which it may lack. */
static void add_profile(cJSON *line, const struct cs_trial *trial, const char *version)
{
    char *json = NULL, source[96], day[16];
    int bus_width = 0;
    time_t now = time(NULL);
    if (!cs_trial_profile(trial, &json, &bus_width))
        return;
    cJSON *profile = cJSON_Parse(json);
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    snprintf(source, sizeof source, "captured on %s with cuDNN %s", day, version);
    cJSON_DeleteItemFromObject(profile, "source"); /* of the simulated device */
    cJSON_AddStringToObject(profile, "source", source);
    if (bus_width > 0 && !cJSON_HasObjectItem(profile, "memoryBusWidth"))
        cJSON_AddNumberToObject(profile, "memoryBusWidth", bus_width);
    char *text = cJSON_PrintUnformatted(profile);
    if (text)
        cJSON_AddStringToObject(line, "profile", text);
    cJSON_free(text);
    cJSON_Delete(profile);
    free(json);
}

struct description {
    const struct cs_verify_options *options;
    cJSON *json;
};

/* In the child: prints the GPU as a line. The loader's cuDNN is looked up first, because this
 * process loads only one. */
static int print_gpu(void *ctx)
{
    const struct description *description = ctx;
    struct cs_trial *trial = NULL;
    struct cs_trial_gpu gpu;
    char loader[PATH_MAX] = "", opened[PATH_MAX], version[32];
    (void)cs_standalone_loader_file(loader, sizeof loader);
    int status = setenv("CONVSHIM", "0", 1) == 0
                     ? cs_verify_open(description->options, &trial, &gpu)
                     : CS_CLI_NO;
    if (status != CS_CLI_OK)
        return status;
    size_t cudnn = cs_standalone_version();
    snprintf(version, sizeof version, "%zu.%zu.%zu", cudnn / 10000, cudnn / 100 % 100, cudnn % 100);
    cs_json_begin();
    cJSON *line = cJSON_CreateObject();
    cJSON_AddStringToObject(line, "name", gpu.name);
    cJSON_AddNumberToObject(line, "memory_bytes", (double)gpu.memory);
    cJSON_AddNumberToObject(line, "free_bytes", (double)gpu.free);
    cJSON_AddNumberToObject(line, "driver_cuda", gpu.driver);
    cJSON_AddBoolToObject(line, "simulated", gpu.simulated);
    add_driver(line);
    cJSON_AddStringToObject(line, "cudnn", version);
    const char *number = strstr(loader, ".so.");
    if (number && realpath(cs_standalone_file(), opened) && strcmp(loader, opened) != 0)
        cJSON_AddStringToObject(line, "other_cudnn", number + strlen(".so."));
    cJSON_AddStringToObject(line, "cudnn_file", cs_standalone_file());
    add_profile(line, trial, version);
    bool printed = cs_json_print_line(line, stdout);
    cs_trial_close(trial);
    return printed ? CS_CLI_OK : CS_CLI_NO;
}

static void keep_description(void *ctx, cJSON *line)
{
    struct description *description = ctx;
    cJSON_Delete(description->json);
    description->json = line;
}

int cs_verify_describe(const struct cs_verify_options *options, struct cs_verify_gpu *gpu)
{
    const double most = 600; /* seconds */
    static struct process process;
    struct description description = {.options = options};
    bool in_time;
    process = (struct process){print_gpu, keep_description, .ctx = &description};
    int status = run_process(&process, cs_verify_seconds() + most, &in_time);
    cJSON *json = gpu->json = description.json;
    gpu->name = cs_json_text(json, "name");
    gpu->cudnn = cs_json_text(json, "cudnn");
    gpu->profile = cs_json_text(json, "profile");
    gpu->other = cs_json_text(json, "other_cudnn");
    gpu->simulated = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "simulated"));
    const char *path = cs_json_text(json, "cudnn_file");
    snprintf(gpu->file, sizeof gpu->file, "%s", path ? path : "");
    cJSON_DeleteItemFromObjectCaseSensitive(json, "cudnn_file");
    if (status == CS_CLI_OK && gpu->name && gpu->cudnn)
        return CS_CLI_OK;
    if (status >= 128)
        cs_cli_complain("verify: the process that queries the GPU ended abnormally");
    return status == CS_VERIFY_NO_GPU ? CS_VERIFY_NO_GPU : CS_CLI_NO;
}

/* --- the convolutions --- */

static void write_file(void *ctx, const char *bytes, size_t size)
{
    (void)fwrite(bytes, 1, size, ctx);
}

/* The layers as a summary that contains only sites. NULL with errno. */
static FILE *write_list(const struct cs_verify_job *job)
{
    FILE *file = tmpfile();
    struct cs_json json = {.write = write_file, .ctx = file};
    if (!file)
        return NULL;
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
    if (fflush(file) == 0 && !ferror(file) && lseek(fileno(file), 0, SEEK_SET) == 0)
        return file;
    fclose(file);
    return NULL;
}

struct run {
    const struct cs_verify_job *job;
    FILE *list;
    double seconds;
};

/* In the child: sets its variables for the side of the job. False if memory is short. */
static bool set_variables(const struct cs_verify_job *job)
{
    const struct cs_verify_options *options = job->verification->options;
    struct cs_child_variables variables = {.items = 0};
    if (job->side != CS_VERIFY_TILED) {
        cs_child_variables_set(&variables, "CONVSHIM", "0");
        return cs_child_variables_apply(&variables);
    }
    if (job->config)
        cs_child_variables_set(&variables, "CONVSHIM_CONFIG", "%s", job->config);
    char *list = cs_preload_list(options->library, cs_cli_variable("LD_PRELOAD"));
    cs_child_variables_set(&variables, "LD_PRELOAD", "%s", list ? list : "");
    cs_child_variables_set(&variables, "CONVSHIM_SUMMARY", "off");
    cs_child_variables_remove(&variables, "CONVSHIM");
    cs_child_variables_remove(&variables, "CONVSHIM_RUN");
    return list && cs_child_variables_apply(&variables);
}

/* Becomes verify --once. Options that are not given have their defaults there, too. */
static int become_once(void *ctx)
{
    const struct run *run = ctx;
    const struct cs_verify_job *job = run->job;
    const struct cs_verify_options *options = job->verification->options;
    char time[32], iterations[32], repeats[32], memory[48], results[48];
    const char *argv[] = {
        "convshim", "verify",   "--once", "--summary", "-",  "--cudnn", job->verification->gpu.file,
        time,       iterations, repeats,  NULL,        NULL, NULL};
    size_t words = 10;
    snprintf(time, sizeof time, "--time=%d", run->seconds < 1 ? 1 : (int)run->seconds);
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
    dup2(fileno(run->list), STDIN_FILENO);
    if (set_variables(job))
        execv("/proc/self/exe", (char *const *)argv);
    cs_cli_complain("verify: this program cannot run itself again: %s", strerror(errno));
    return CS_CLI_NO;
}

/* Stores a line of the job under its index. Frees one without a valid index. */
static void keep_line(void *ctx, cJSON *line)
{
    const struct cs_verify_job *job = ((const struct run *)ctx)->job;
    const cJSON *index = cJSON_GetObjectItemCaseSensitive(line, "index");
    if (cJSON_IsNumber(index) && index->valuedouble >= 0 &&
        index->valuedouble < (double)job->count) {
        cJSON **place = &job->measured[(size_t)index->valuedouble];
        cJSON_Delete(*place);
        *place = line;
    } else {
        cJSON_Delete(line);
    }
}

bool cs_verify_run(const struct cs_verify_job *job, double end, bool *in_time_p)
{
    static struct process process;
    /* The process plans with this part of its time, so that a call that runs then can end. */
    const double planned = 0.85;
    struct run run = {job, write_list(job), (end - cs_verify_seconds()) * planned};
    if (!run.list) {
        cs_cli_complain("verify: the list of convolutions cannot be written: %s", strerror(errno));
        return false;
    }
    process = (struct process){become_once, keep_line, .ctx = &run};
    bool started = run_process(&process, end, in_time_p) >= 0;
    fclose(run.list);
    return started;
}
