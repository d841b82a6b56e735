/* `convshim verify --once`: runs every convolution of a list in this process and prints a line of
 * JSON for each. */
#include "account/account.h"
#include "account/outcome.h"
#include "base/json.h"
#include "cli/common/cli.h"
#include "cli/layers/find_cudnn.h"
#include "cli/verify/verify.h"
#include "cudnn/standalone/capture_profile.h"
#include "cudnn/standalone/standalone.h"
#include "cudnn/standalone/trial.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ERROR_BYTES = 512
};

struct session {
    const struct cs_verify_options *options;
    struct cs_trial *trial;
    struct cs_trial_gpu gpu;
    struct cs_trial_settings settings;
    double end; /* of the time, by the monotonic clock */
};

static void write_out(void *ctx, const char *bytes, size_t size)
{
    (void)fwrite(bytes, 1, size, ctx);
}

static void end_line(struct cs_json *json)
{
    cs_json_close(json, '}');
    cs_json_end(json);
    putchar('\n');
    fflush(stdout);
}

static void put_bytes(struct cs_json *json, const struct cs_trial_result *result)
{
    cs_json_integer(json, "input_bytes", result->operand[CS_X]);
    cs_json_integer(json, "filter_bytes", result->operand[CS_FILTER]);
    cs_json_integer(json, "output_bytes", result->operand[CS_Y]);
    if (!result->planned)
        return;
    cs_json_integer(json, "engine", result->engine);
    cs_json_integer(json, "choice", result->choice);
    cs_json_integer(json, "workspace", result->workspace);
}

static void put_finite(struct cs_json *json, const char *name, double number)
{
    if (isfinite(number))
        cs_json_number(json, name, number);
    else
        cs_json_null(json, name);
}

static void put_checksum(struct cs_json *json, const char *name, uint64_t checksum)
{
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, checksum);
    cs_json_string(json, name, text);
}

static void put_measured(struct cs_json *json, const struct session *session,
                         const struct cs_trial_result *result)
{
    cs_json_integer(json, "allocated_bytes", result->allocated);
    cs_json_integer(json, "taken_bytes", result->taken);
    cs_json_integer(json, "kept_bytes", result->kept);
    cs_json_integer(json, "device_peak", result->allocated + result->taken);
    cs_json_integer(json, "iterations", result->calls);
    cs_json_integer(json, "warmup", session->settings.warmup);
    put_finite(json, "median_us", result->median_us);
    put_finite(json, "p10_us", result->p10_us);
    put_finite(json, "p90_us", result->p90_us);
    put_finite(json, "wall_us", result->wall_us);
    put_checksum(json, "checksum", result->checksum);
    put_checksum(json, "repeated", result->repeated);
    if (result->samples == 0)
        return;
    cs_json_integer(json, "samples", result->samples);
    cs_json_integer(json, "samples_not_finite", result->not_finite);
    put_finite(json, "max_abs_error", result->max_abs);
    put_finite(json, "max_rel_error", result->max_rel);
}

/* Sites stand in the order of their first calls, behind them those without. */
static const cJSON *last_site(const cJSON *summary)
{
    const cJSON *site, *last = NULL;
    cJSON_ArrayForEach(site, cJSON_GetObjectItemCaseSensitive(summary, "sites"))
    {
        if (cs_verify_number(site, "calls") > 0)
            last = site;
    }
    return last;
}

/* The library's decision about the convolution that ran last, of its summary. */
static void put_decision(struct cs_json *json, const struct cs_trial *trial)
{
    size_t size = cs_trial_summary(trial, NULL, 0);
    char *text = size ? malloc(size + 1) : NULL;
    if (!text || cs_trial_summary(trial, text, size + 1) > size) {
        free(text);
        return;
    }
    cJSON *summary = cJSON_Parse(text);
    const cJSON *site = last_site(summary);
    const cJSON *decision = cJSON_GetObjectItemCaseSensitive(site, "decision");
    const char *axis = cs_verify_text(decision, "axis"), *reason = cs_verify_text(site, "reason");
    bool tiled = cs_verify_number(site, "tiled") > 0;
    cs_json_boolean(json, "tiled", tiled);
    if (tiled && axis) {
        cs_json_string(json, "axis", axis);
        cs_json_integer(json, "tiles", (int64_t)cs_verify_number(decision, "tiles"));
        cs_json_integer(json, "lanes", (int64_t)cs_verify_number(decision, "lanes"));
    }
    if (!tiled && reason)
        cs_json_string(json, "reason", reason);
    cJSON_Delete(summary);
    free(text);
}

static void put_layer(struct cs_json *json, const struct session *session,
                      const struct cs_layer *layer, size_t index)
{
    char text[CS_PROBLEM_TEXT];
    cs_site_problem_text(&layer->problem, text, sizeof text);
    cs_json_open(json, NULL, '{');
    cs_json_integer(json, "index", (int64_t)index);
    cs_json_string(json, "model", layer->model);
    cs_json_string(json, "layer", layer->name);
    cs_json_string(json, "text", text);
    cs_json_string(json, "dir", cs_shape_direction_name(layer->problem.direction));
    cs_json_string(json, "dtype", cs_problem_dtype_name(layer->problem.tensor[CS_X].dtype));
    cs_json_string(json, "layout", cs_problem_layout(&layer->problem));
    cs_json_string(json, "api", session->options->legacy ? "legacy" : "graph");
    cs_json_string(json, "benchmark", session->settings.benchmark ? "on" : "off");
}

/* True if it ran, or cuDNN cannot run it. */
static bool run_layer(struct session *session, const struct cs_layers *layers, size_t index)
{
    const struct cs_layer *layer = &layers->layer[index];
    struct cs_json json = {.write = write_out, .ctx = stdout};
    struct cs_trial_result result = {.status = CS_TRIAL_OK};
    double left = session->end - cs_verify_seconds();
    put_layer(&json, session, layer, index);
    if (left <= 0) {
        cs_json_string(&json, "status", "no time");
        end_line(&json);
        return false;
    }
    session->settings.seconds = left / 2 / (double)(layers->count - index);
    cs_trial_run(session->trial, &layer->problem, &session->settings, &result);
    cs_json_string(&json, "status", cs_trial_status_name(result.status));
    if (result.status != CS_TRIAL_OK)
        cs_json_string(&json, "error", result.error);
    put_bytes(&json, &result);
    if (result.status == CS_TRIAL_OK)
        put_measured(&json, session, &result);
    if (result.status == CS_TRIAL_OK)
        put_decision(&json, session->trial);
    end_line(&json);
    return result.status == CS_TRIAL_OK || result.status == CS_TRIAL_REFUSED;
}

/* The status: CS_CLI_OK with the trial open, or after a line another one. */
static int open_gpu(struct session *session)
{
    char error[ERROR_BYTES];
    if (!cs_trial_find_gpu(&session->trial, &session->gpu, error, sizeof error)) {
        cs_cli_complain("verify: no GPU: %s. To simulate one: convshim simulate -- COMMAND", error);
        return CS_VERIFY_NO_GPU;
    }
    if (!cs_find_cudnn(session->options->cudnn, error, sizeof error)) {
        cs_cli_complain("verify: no cuDNN found: %s", error);
        cs_cli_complain("%s", cs_find_cudnn_hint);
        return CS_CLI_NO;
    }
    if (cs_trial_open(session->trial, error, sizeof error))
        return CS_CLI_OK;
    cs_cli_complain("verify: %s", error);
    return CS_CLI_NO;
}

static int run_layers(struct session *session, const struct cs_layers *layers)
{
    bool good = true;
    for (size_t i = 0; i < layers->count; i++)
        good = run_layer(session, layers, i) && good;
    if (session->settings.dump &&
        (fflush(session->settings.dump) != 0 || ferror(session->settings.dump))) {
        cs_cli_complain("verify: %s: %s", session->options->dump, strerror(errno));
        good = false;
    }
    return good ? CS_CLI_OK : CS_CLI_NO;
}

int cs_verify_once(const struct cs_verify_options *options, const struct cs_layers *layers)
{
    struct session session = {
        .options = options,
        .settings = {.api = options->legacy ? CS_TRIAL_LEGACY : CS_TRIAL_GRAPH,
                     .benchmark = options->benchmark,
                     .warmup = options->warmup,
                     .iterations = options->iterations,
                     .memory = options->memory,
                     .samples = options->samples},
        .end = cs_verify_seconds() + options->seconds};
    int status = open_gpu(&session);
    if (status == CS_CLI_OK && options->dump &&
        !(session.settings.dump = fopen(options->dump, "wbe"))) {
        cs_cli_complain("verify: %s: %s", options->dump, strerror(errno));
        status = CS_CLI_NO;
    }
    if (status == CS_CLI_OK)
        status = run_layers(&session, layers);
    if (session.settings.dump)
        (void)fclose(session.settings.dump);
    cs_trial_close(session.trial);
    return status;
}

/* --- the GPU --- */

/* cuDNN's description with the width of the memory bus, which NVIDIA's does not have; NULL: there
 * is none. */
static char *profile_text(void)
{
    char error[ERROR_BYTES], *json = NULL;
    int bus_width = 0;
    if (!cs_standalone_capture(&json, &bus_width, error, sizeof error))
        return NULL;
    cJSON *profile = cJSON_Parse(json);
    if (bus_width > 0 && !cJSON_GetObjectItemCaseSensitive(profile, "memoryBusWidth"))
        cJSON_AddNumberToObject(profile, "memoryBusWidth", bus_width);
    char *text = cJSON_PrintUnformatted(profile);
    cJSON_Delete(profile);
    free(json);
    return text;
}

static void put_gpu(const struct session *session, FILE *out)
{
    struct cs_json json = {.write = write_out, .ctx = out};
    char version[32], *profile = profile_text();
    size_t cudnn = cs_standalone_version();
    snprintf(version, sizeof version, "%zu.%zu.%zu", cudnn / 10000, cudnn / 100 % 100, cudnn % 100);
    cs_json_open(&json, NULL, '{');
    cs_json_string(&json, "name", session->gpu.name);
    cs_json_integer(&json, "memory_bytes", session->gpu.memory);
    cs_json_integer(&json, "free_bytes", session->gpu.free);
    cs_json_integer(&json, "driver_cuda", session->gpu.driver);
    cs_json_string(&json, "cudnn", version);
    cs_json_string(&json, "cudnn_file", cs_standalone_file());
    if (profile)
        cs_json_string(&json, "profile", profile);
    cs_json_close(&json, '}');
    cs_json_end(&json);
    cJSON_free(profile);
}

/* In the child. */
static int describe(const struct cs_verify_options *options, FILE *out)
{
    struct session session = {.options = options};
    int status = setenv("CONVSHIM", "0", 1) == 0 ? open_gpu(&session) : CS_CLI_NO;
    if (status == CS_CLI_OK)
        put_gpu(&session, out);
    cs_trial_close(session.trial);
    return status;
}

static bool read_gpu(FILE *file, struct cs_verify_gpu *gpu)
{
    enum {
        MOST = 1 << 16
    };
    char *text = calloc(MOST, 1);
    rewind(file);
    gpu->json = text && fread(text, 1, MOST - 1, file) > 0 ? cJSON_Parse(text) : NULL;
    gpu->name = cs_verify_text(gpu->json, "name");
    gpu->cudnn = cs_verify_text(gpu->json, "cudnn");
    gpu->profile = cs_verify_text(gpu->json, "profile");
    gpu->memory = (int64_t)cs_verify_number(gpu->json, "memory_bytes");
    gpu->free = (int64_t)cs_verify_number(gpu->json, "free_bytes");
    free(text);
    return gpu->name && gpu->cudnn;
}

int cs_verify_describe(const struct cs_verify_options *options, struct cs_verify_gpu *gpu)
{
    FILE *file = tmpfile();
    int status = 0;
    fflush(NULL);
    pid_t pid = file ? fork() : -1;
    if (pid == 0) {
        status = describe(options, file);
        fflush(NULL);
        _exit(status);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    int result = pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : CS_CLI_NO;
    if (result == CS_CLI_OK && !read_gpu(file, gpu))
        result = CS_CLI_NO;
    if (pid < 0 || (result == CS_CLI_NO && !WIFEXITED(status)))
        cs_cli_complain("verify: the process that queries the GPU ended abnormally");
    if (file)
        fclose(file);
    return result;
}
