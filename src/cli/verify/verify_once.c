/* `convshim verify --once`: runs every convolution of a list in this process and prints a line of
 * JSON for each. */
#include "account/account.h"
#include "account/outcome.h"
#include "cli/common/cli.h"
#include "cli/common/environment.h"
#include "cli/common/json_tree.h"
#include "cli/layers/plan_layers.h"
#include "cli/verify/verify.h"
#include "cudnn/standalone/trial.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
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

int cs_verify_open(const struct cs_verify_options *options, struct cs_trial **trial_p,
                   struct cs_trial_gpu *gpu)
{
    char error[ERROR_BYTES];
    if (!cs_trial_find_gpu(trial_p, gpu, error, sizeof error)) {
        cs_cli_complain("verify: no GPU: %s. To simulate one: convshim simulate -- COMMAND", error);
        return CS_VERIFY_NO_GPU;
    }
    /* A simulated GPU runs only the simulated cuDNN, which is the loader's. */
    bool python = !options->cudnn && !gpu->simulated && !is_in_library_path();
    if (!(python && cs_find_cudnn_of_python(error, sizeof error)) &&
        !cs_find_cudnn(options->cudnn, error, sizeof error)) {
        cs_cli_complain("verify: no cuDNN found: %s", error);
        cs_cli_complain("%s", cs_find_cudnn_hint);
        return CS_CLI_NO;
    }
    if (cs_trial_open(*trial_p, error, sizeof error))
        return CS_CLI_OK;
    cs_cli_complain("verify: %s", error);
    return CS_CLI_NO;
}

struct session {
    const struct cs_layers *layers;
    struct cs_trial *trial;
    struct cs_trial_settings settings;
    double end; /* of the time, by the monotonic clock */
};

static void add_checksum(cJSON *line, const char *name, uint64_t checksum)
{
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, checksum);
    cJSON_AddStringToObject(line, name, text);
}

static void add_whole(cJSON *object, const char *name, int64_t number)
{
    cJSON_AddNumberToObject(object, name, (double)number);
}

static void add_measured(cJSON *line, const struct session *session,
                         const struct cs_trial_result *result)
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
    add_whole(line, "repeats", session->settings.repeats);
    add_whole(line, "differing", result->differing);
}

/* The site of the last convolution: sites are in the order of their first calls, those without
 * calls come last. */
static const cJSON *last_site(const cJSON *summary)
{
    const cJSON *site, *last = NULL;
    cJSON_ArrayForEach(site, cJSON_GetObjectItemCaseSensitive(summary, "sites"))
    {
        if (cs_json_double(site, "calls") > 0)
            last = site;
    }
    return last;
}

/* Adds the library's decision about the convolution that ran last, from its summary. */
static void add_decision(cJSON *line, const struct cs_trial *trial)
{
    char *text = cs_trial_summary(trial);
    cJSON *summary = text ? cJSON_Parse(text) : NULL;
    const cJSON *site = last_site(summary);
    const cJSON *decision = cJSON_GetObjectItemCaseSensitive(site, "decision");
    const char *axis = cs_json_text(decision, "axis"), *reason = cs_json_text(site, "reason");
    bool tiled = cs_json_double(site, "tiled") > 0;
    free(text);
    if (summary)
        cJSON_AddBoolToObject(line, "tiled", tiled);
    if (tiled && axis) {
        cJSON_AddStringToObject(line, "axis", axis);
        cs_json_add(line, "step",
                    cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(decision, "step"), true));
        cJSON_AddNumberToObject(line, "tiles", cs_json_double(decision, "tiles"));
        cJSON_AddNumberToObject(line, "lanes", cs_json_double(decision, "lanes"));
    }
    if (!tiled && reason)
        cJSON_AddStringToObject(line, "reason", reason);
    cJSON_Delete(summary);
}

static void add_result(cJSON *line, const struct session *session,
                       const struct cs_trial_result *result)
{
    cJSON_AddStringToObject(line, "status", cs_trial_status_name(result->status));
    if (result->status != CS_TRIAL_OK)
        cJSON_AddStringToObject(line, "error", result->error);
    add_whole(line, "result_bytes", result->bytes);
    if (result->planned) {
        add_whole(line, "engine", result->engine);
        add_whole(line, "workspace", result->workspace);
    }
    if (result->status == CS_TRIAL_OK) {
        add_measured(line, session, result);
        add_decision(line, session->trial);
    }
}

static cJSON *begin_line(const struct cs_layer *layer, size_t index)
{
    char text[CS_PROBLEM_TEXT];
    cs_site_problem_text(&layer->problem, text, sizeof text);
    cs_json_begin();
    cJSON *line = cJSON_CreateObject();
    add_whole(line, "index", (int64_t)index);
    cJSON_AddStringToObject(line, "model", layer->model);
    cJSON_AddStringToObject(line, "layer", layer->name);
    cJSON_AddStringToObject(line, "text", text);
    return line;
}

/* Runs a layer and prints its line. True if it ran, or if cuDNN cannot run it. */
static bool run_layer(struct session *session, size_t index)
{
    const struct cs_layer *layer = &session->layers->layer[index];
    struct cs_trial_result result = {.status = CS_TRIAL_OK};
    double left = session->end - cs_verify_seconds();
    cJSON *line = begin_line(layer, index);
    if (left > 0) {
        session->settings.seconds = left / 2 / (double)(session->layers->count - index);
        cs_trial_run(session->trial, &layer->problem, &session->settings, &result);
        add_result(line, session, &result);
    } else {
        cJSON_AddStringToObject(line, "status", "no time");
    }
    bool printed = cs_json_print_line(line, stdout);
    return printed && left > 0 &&
           (result.status == CS_TRIAL_OK || result.status == CS_TRIAL_REFUSED);
}

static int run_layers(struct session *session, const char *out)
{
    FILE *dump = out ? fopen(out, "wbe") : NULL;
    bool written = dump || !out, good = true;
    session->settings.dump = dump;
    for (size_t i = 0; written && i < session->layers->count; i++)
        good = run_layer(session, i) && good;
    if (dump) {
        written = !ferror(dump);
        written = fclose(dump) == 0 && written;
    }
    if (!written)
        cs_cli_complain("verify: %s: %s", out, strerror(errno));
    return good && written ? CS_CLI_OK : CS_CLI_NO;
}

int cs_verify_once(const struct cs_verify_options *options, const struct cs_layers *layers)
{
    struct cs_trial_gpu gpu;
    struct session session = {
        .layers = layers,
        .settings = {.iterations = options->iterations, .repeats = options->repeats},
        .end = cs_verify_seconds() + options->seconds};
    int status = cs_verify_open(options, &session.trial, &gpu);
    if (status != CS_CLI_OK)
        return status;
    session.settings.memory = options->memory ? options->memory : gpu.free / 10 * 9;
    status = run_layers(&session, options->out);
    cs_trial_close(session.trial);
    return status;
}
