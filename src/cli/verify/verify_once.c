/* The process that uses the GPU: describes it, or runs every convolution of a list (--once). Prints
 * lines of JSON. */
#include "account/account.h"
#include "base/clock.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/read_file.h"
#include "cli/common/variables.h"
#include "cli/layers/plan_layers.h"
#include "cli/verify/verify.h"
#include "cudnn/standalone/standalone.h"
#include "cudnn/standalone/trial.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    ERROR_BYTES = 512
};

/* True if LD_LIBRARY_PATH has a cuDNN. The loader searches there first, so Python's cuDNN would
 * load parts of that one. */
static bool is_in_library_path(void)
{
    char file[PATH_MAX];
    for (const char *folder = cs_cli_variable("LD_LIBRARY_PATH"); folder;) {
        int length = (int)strcspn(folder, ":");
        snprintf(file, sizeof file, "%.*s/libcudnn.so.9", length, folder);
        if (length > 0 && access(file, R_OK) == 0)
            return true;
        folder = folder[length] ? folder + length + 1 : NULL;
    }
    return false;
}

/* Opens the GPU and cuDNN. Returns CS_CLI_OK, or CS_CLI_NONE after printing the reason. */
static int open_gpu(const struct cs_verify_options *options, struct cs_trial_gpu *gpu)
{
    char error[ERROR_BYTES];
    if (!cs_trial_find_gpu(gpu, error, sizeof error)) {
        cs_cli_complain("verify: no GPU: %s. To simulate one: convshim simulate -- COMMAND", error);
        return CS_CLI_NONE;
    }
    /* A simulated GPU runs only the simulated cuDNN, which is the loader's. */
    bool python = !options->cudnn && !gpu->simulated && !is_in_library_path();
    if (!(python && cs_find_cudnn_of_python()) && !cs_find_cudnn("verify", options->cudnn))
        return CS_CLI_NONE;
    if (cs_trial_open(error, sizeof error))
        return CS_CLI_OK;
    cs_cli_complain("verify: %s", error);
    return CS_CLI_NONE;
}

static void add_whole(cJSON *object, const char *name, int64_t number)
{
    cJSON_AddNumberToObject(object, name, (double)number);
}

/* --- the GPU --- */

/* Adds the version of NVIDIA's driver, if the system reports it. */
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
static void add_profile(cJSON *line, const char *version)
{
    char source[96], day[16];
    int bus_width = 0;
    time_t now = time(NULL);
    char *json = cs_trial_profile(&bus_width);
    cJSON *profile = json ? cJSON_Parse(json) : NULL;
    free(json);
    if (!profile)
        return;
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
}

int cs_verify_print_gpu(const struct cs_verify_options *options)
{
    struct cs_trial_gpu gpu;
    char version[32];
    int status = open_gpu(options, &gpu);
    if (status != CS_CLI_OK)
        return status;
    const size_t cudnn = cs_standalone_version();
    snprintf(version, sizeof version, "%zu.%zu.%zu", cudnn / 10000, cudnn / 100 % 100, cudnn % 100);
    cs_json_begin();
    cJSON *line = cJSON_CreateObject();
    cJSON_AddStringToObject(line, "name", gpu.name);
    add_whole(line, "memory_bytes", gpu.memory);
    add_whole(line, "free_bytes", gpu.free);
    add_whole(line, "driver_cuda", gpu.driver);
    cJSON_AddBoolToObject(line, "simulated", gpu.simulated);
    add_driver(line);
    cJSON_AddStringToObject(line, "cudnn", version);
    cJSON_AddStringToObject(line, "cudnn_file", cs_standalone_file());
    add_profile(line, version);
    return cs_json_print_line(line, stdout) ? CS_CLI_OK : CS_CLI_NONE;
}

/* --- the convolutions --- */

struct session {
    const struct cs_layers *layers;
    struct cs_trial_settings settings;
    double end; /* of the time, by the monotonic clock */
};

static void add_checksum(cJSON *line, const char *name, uint64_t checksum)
{
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, checksum);
    cJSON_AddStringToObject(line, name, text);
}

static void add_measured(cJSON *line, const struct cs_trial_result *result, int64_t repeats)
{
    add_whole(line, "device_peak", result->device_peak);
    add_whole(line, "iterations", result->calls);
    cJSON_AddNumberToObject(line, "median_us", result->median_us);
    cJSON_AddNumberToObject(line, "p10_us", result->p10_us);
    cJSON_AddNumberToObject(line, "p90_us", result->p90_us);
    cJSON_AddNumberToObject(line, "first_us", result->first_us);
    cJSON_AddNumberToObject(line, "host_us", result->host_us);
    add_checksum(line, "checksum", result->checksum);
    add_checksum(line, "repeated", result->repeated);
    add_whole(line, "repeats", repeats);
    add_whole(line, "differing", result->differing);
}

/* Returns the site of the last convolution. Sites are in the order of their first calls, and those
 * without calls come last. */
static const cJSON *last_site(const cJSON *summary)
{
    const cJSON *site, *last = NULL;
    cJSON_ArrayForEach(site, cs_json_at(summary, "sites"))
    {
        if (cs_json_double(site, "calls") > 0)
            last = site;
    }
    return last;
}

/* Adds the library's decision about the convolution that ran last, from its summary. */
static void add_decision(cJSON *line)
{
    char *text = cs_trial_summary();
    cJSON *summary = text ? cJSON_Parse(text) : NULL;
    free(text);
    if (!summary)
        return;
    const cJSON *site = last_site(summary);
    const char *axis = cs_json_text(site, "decision.axis"), *reason = cs_json_text(site, "reason");
    bool tiled = cs_json_double(site, "tiled") > 0;
    cJSON_AddBoolToObject(line, "tiled", tiled);
    if (tiled && axis) {
        cJSON_AddStringToObject(line, "axis", axis);
        cs_json_add(line, "step", cJSON_Duplicate(cs_json_at(site, "decision.step"), true));
        cJSON_AddNumberToObject(line, "tiles", cs_json_double(site, "decision.tiles"));
        cJSON_AddNumberToObject(line, "lanes", cs_json_double(site, "decision.lanes"));
    }
    if (!tiled && reason)
        cJSON_AddStringToObject(line, "reason", reason);
    cJSON_Delete(summary);
}

/* Adds the outcome of a convolution to its line. */
static void add_result(cJSON *line, const struct cs_trial_result *result, int64_t repeats)
{
    cJSON_AddStringToObject(line, "status", cs_trial_status_name(result->status));
    if (result->status != CS_TRIAL_OK)
        cJSON_AddStringToObject(line, "error", result->error);
    add_whole(line, "result_bytes", result->bytes);
    if (result->engine >= 0) {
        add_whole(line, "engine", result->engine);
        add_whole(line, "workspace", result->workspace);
    }
    if (result->status == CS_TRIAL_OK) {
        add_measured(line, result, repeats);
        add_decision(line);
    }
}

/* Runs a layer and prints its line. True if it ran, or if cuDNN cannot run it. */
static bool run_layer(struct session *session, size_t index)
{
    const struct cs_layer *layer = &session->layers->layer[index];
    struct cs_trial_result result = {.status = CS_TRIAL_OK};
    double left = session->end - cs_clock_seconds();
    char text[CS_PROBLEM_TEXT];
    cs_site_problem_text(&layer->problem, text, sizeof text);
    cs_json_begin();
    cJSON *line = cJSON_CreateObject();
    add_whole(line, "index", (int64_t)index);
    cJSON_AddStringToObject(line, "layer", layer->name);
    cJSON_AddStringToObject(line, "text", text);
    if (left > 0) {
        session->settings.seconds = left / 2 / (double)(session->layers->count - index);
        cs_trial_run(&layer->problem, &session->settings, &result);
        add_result(line, &result, session->settings.repeats);
    } else {
        cJSON_AddStringToObject(line, "status", "no time");
    }
    bool printed = cs_json_print_line(line, stdout);
    return printed && left > 0 &&
           (result.status == CS_TRIAL_OK || result.status == CS_TRIAL_REFUSED);
}

int cs_verify_once(const struct cs_verify_options *options, const struct cs_layers *layers)
{
    struct cs_trial_gpu gpu;
    struct session session = {
        .layers = layers,
        .settings = {.iterations = options->iterations, .repeats = options->repeats},
        .end = cs_clock_seconds() + options->seconds};
    int status = open_gpu(options, &gpu);
    if (status != CS_CLI_OK)
        return status;
    FILE *dump = options->out ? fopen(options->out, "wbe") : NULL;
    bool written = dump || !options->out, good = true;
    session.settings.dump = dump;
    session.settings.memory = options->memory ? options->memory : gpu.free / 10 * 9;
    for (size_t i = 0; written && i < layers->count; i++)
        good = run_layer(&session, i) && good;
    if (dump) {
        written = !ferror(dump);
        written = fclose(dump) == 0 && written;
    }
    if (!written)
        cs_cli_complain("verify: %s: %s", options->out, strerror(errno));
    return !written ? CS_CLI_NONE : good ? CS_CLI_OK : CS_CLI_NO;
}
