/* `convshim verify --once`: runs every convolution of a list in this process and prints a line of
 * JSON for each. */
#include "account/account.h"
#include "account/outcome.h"
#include "base/json.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/verify/verify.h"
#include "cudnn/standalone/trial.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    cs_json_integer(json, "device_peak", result->allocated + result->taken);
    cs_json_integer(json, "iterations", result->calls);
    cs_json_integer(json, "warmup", session->settings.warmup);
    put_finite(json, "median_us", result->median_us);
    put_finite(json, "p10_us", result->p10_us);
    put_finite(json, "p90_us", result->p90_us);
    put_finite(json, "first_us", result->first_us);
    put_finite(json, "host_us", result->host_us);
    put_finite(json, "wall_us", result->wall_us);
    put_checksum(json, "checksum", result->checksum);
    put_checksum(json, "repeated", result->repeated);
    cs_json_integer(json, "repeats", session->settings.repeats);
    cs_json_integer(json, "differing", result->differing);
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
        const cJSON *step;
        cs_json_open(json, "step", '[');
        cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(decision, "step"))
            cs_json_integer(json, NULL, cs_json_whole(step, 1));
        cs_json_close(json, ']');
        cs_json_integer(json, "tiles", (int64_t)cs_verify_number(decision, "tiles"));
        cs_json_integer(json, "lanes", (int64_t)cs_verify_number(decision, "lanes"));
    }
    if (!tiled && reason)
        cs_json_string(json, "reason", reason);
    cJSON_Delete(summary);
    free(text);
}

static void put_layer(struct cs_json *json, const struct cs_layer *layer, size_t index)
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
}

/* True if it ran, or cuDNN cannot run it. */
static bool run_layer(struct session *session, const struct cs_layers *layers, size_t index)
{
    const struct cs_layer *layer = &layers->layer[index];
    struct cs_json json = {.write = write_out, .ctx = stdout};
    struct cs_trial_result result = {.status = CS_TRIAL_OK};
    double left = session->end - cs_verify_seconds();
    put_layer(&json, layer, index);
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

static int run_layers(struct session *session, const struct cs_layers *layers)
{
    bool good = true;
    for (size_t i = 0; i < layers->count; i++)
        good = run_layer(session, layers, i) && good;
    if (session->settings.dump &&
        (fflush(session->settings.dump) != 0 || ferror(session->settings.dump))) {
        cs_cli_complain("verify: %s: %s", session->options->out, strerror(errno));
        good = false;
    }
    return good ? CS_CLI_OK : CS_CLI_NO;
}

int cs_verify_once(const struct cs_verify_options *options, const struct cs_layers *layers)
{
    struct session session = {.options = options,
                              .settings = {.warmup = options->warmup,
                                           .iterations = options->iterations,
                                           .repeats = options->repeats,
                                           .memory = options->memory,
                                           .samples = options->samples},
                              .end = cs_verify_seconds() + options->seconds};
    int status = cs_verify_open(options, &session.trial, &session.gpu);
    if (status == CS_CLI_OK && options->out &&
        !(session.settings.dump = fopen(options->out, "wbe"))) {
        cs_cli_complain("verify: %s: %s", options->out, strerror(errno));
        status = CS_CLI_NO;
    }
    if (status == CS_CLI_OK)
        status = run_layers(&session, layers);
    if (session.settings.dump)
        (void)fclose(session.settings.dump);
    cs_trial_close(session.trial);
    return status;
}
