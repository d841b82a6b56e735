/* The table of `convshim predict` for lists of layers: columns for text, CSV and JSON. */
#include "cli/predict/predict.h"

#include "account/summary_json.h"
#include "base/checked.h"
#include "cli/common/json_tree.h"
#include "config/limits.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct cs_column columns[] = {
    {"model", "model", CS_CELL_TEXT},
    {"layer", "layer", CS_CELL_TEXT},
    {"dir", "dir", CS_CELL_TEXT},
    {"device", NULL, CS_CELL_TEXT},
    {"engine", "engine", CS_CELL_TEXT},
    {"input_bytes", NULL, CS_CELL_BYTES},
    {"filter_bytes", NULL, CS_CELL_BYTES},
    {"output_bytes", NULL, CS_CELL_BYTES},
    {"workspace_bytes", "workspace", CS_CELL_BYTES},
    {"peak_bytes", "peak", CS_CELL_BYTES},
    {"tiled_axis", "axis", CS_CELL_TEXT},
    {"tiles", "tiles", CS_CELL_COUNT},
    {"tiled_workspace_bytes", "with convshim", CS_CELL_BYTES},
    {"tiled_peak_bytes", "peak", CS_CELL_BYTES},
    {"read_again_bytes", NULL, CS_CELL_BYTES},
    {"predicted_slowdown", "time", CS_CELL_RATIO},
    {"predicted_slowdown_most", "at most", CS_CELL_RATIO},
    {"reason", "not tiled because", CS_CELL_TEXT},
    {"free_bytes", NULL, CS_CELL_BYTES},
    {"raised", "raised", CS_CELL_TEXT},
};

enum {
    COLUMNS = sizeof columns / sizeof *columns,
    ENGINE = 4,
    ANSWER = 8, /* the first of the columns that depend on an engine */
    REASON = 17,
    ENGINE_TEXT = 24
};

/* A limit gets a line of advice if it is predicted to take this many times the untiled time. */
static const double SLOW = 1.5;

char *cs_predict_title(const struct cs_problem *problem, char text[CS_PREDICT_TITLE])
{
    struct cs_site_facts facts = {.problem = *problem};
    cs_site_text(&facts, text, CS_PREDICT_TITLE);
    char *end = strstr(text, ", engine");
    if (end)
        *end = '\0';
    return text;
}

static const char *workspace_text(const struct cs_predict_options *options,
                                  char text[CS_BYTES_TEXT])
{
    if (options->config.workspace == CS_CONFIG_AUTO)
        return "auto";
    return cs_table_bytes_text(text, options->config.workspace);
}

static const char *engine_text(const struct cs_predict_options *options,
                               const struct cs_prediction *prediction, char text[ENGINE_TEXT])
{
    if (options->estimate)
        return "estimate";
    snprintf(text, ENGINE_TEXT, "%" PRId64, prediction->offer.engine.index);
    return text;
}

static void fill_answer(const struct cs_prediction *prediction, struct cs_value row[COLUMNS])
{
    const struct cs_decision *decision = &prediction->decision;
    bool tiled = decision->reason == CS_REASON_NONE;
    const struct cs_value values[] = {
        {.number = prediction->offer.workspace},
        {.number = prediction->peak},
        {.text = tiled ? cs_axis_tiling_name(&decision->tiling) : "-"},
        {.number = tiled ? decision->tiles : 1},
        {.number = decision->reported},
        {.number = prediction->tiled_peak},
        {.number = prediction->halo},
        {.ratio = prediction->time_ratio},
        {.ratio = prediction->most_ratio},
        {.text = cs_account_reason_text(decision->reason)},
        {.number = decision->free},
        {.text = decision->raised ? "yes" : "no"},
    };
    memcpy(row + ANSWER, values, sizeof values);
}

static void fill_row(const struct cs_predict_results *results, size_t i, char engine[ENGINE_TEXT],
                     struct cs_value row[COLUMNS])
{
    const struct cs_layer *layer = &results->layers->layer[i];
    const struct cs_prediction *prediction = &results->prediction[i];
    const struct cs_value values[ANSWER] = {
        {.text = layer->model},
        {.text = layer->name},
        {.text = cs_shape_direction_name(layer->problem.direction)},
        {.text = results->device->name},
        {.text = NULL},
        {.number = prediction->bytes[CS_X]},
        {.number = prediction->bytes[CS_FILTER]},
        {.number = prediction->bytes[CS_Y]},
    };
    memcpy(row, values, sizeof values);
    for (int k = ANSWER; k < COLUMNS; k++)
        row[k] = (struct cs_value){.number = -1};
    row[REASON].text = "no engine";
    if (prediction->status != CS_OK)
        return;
    row[ENGINE].text = engine_text(results->options, prediction, engine);
    fill_answer(prediction, row);
}

static void fill_layers(struct cs_table *table, const struct cs_predict_results *results)
{
    cs_table_init(table, columns, COLUMNS);
    for (size_t i = 0; i < results->layers->count; i++) {
        struct cs_value row[COLUMNS];
        char engine[ENGINE_TEXT];
        fill_row(results, i, engine, row);
        cs_table_add(table, row);
    }
}

static bool fill_models(struct cs_table *table, const struct cs_predict_results *results)
{
    static const struct cs_column of_model[] = {
        {"model", "model", CS_CELL_TEXT},
        {"layers", "layers", CS_CELL_COUNT},
        {"tiled", "tiled", CS_CELL_COUNT},
        {"unanswered", "no engine", CS_CELL_COUNT},
        {"workspace_bytes", "largest workspace", CS_CELL_BYTES},
        {"tiled_workspace_bytes", "with convshim", CS_CELL_BYTES},
        {"peak_bytes", "largest peak", CS_CELL_BYTES},
        {"tiled_peak_bytes", "with convshim", CS_CELL_BYTES},
        {"floor_bytes", "floor", CS_CELL_BYTES},
        {"ratio", "ratio", CS_CELL_RATIO},
        {"time_ratio", "time", CS_CELL_RATIO},
        {"most_time_ratio", "at most", CS_CELL_RATIO}};
    size_t count;
    struct cs_predict_sum *sum = cs_predict_sums(results, &count);
    cs_table_init(table, of_model, sizeof of_model / sizeof *of_model);
    if (!sum)
        return false;
    for (size_t i = 0; i < count; i++) {
        bool known = sum[i].unanswered < sum[i].layers;
        double ratio = known ? (double)sum[i].peak / (double)sum[i].tiled_peak : 0;
        const struct cs_value row[] = {
            {.text = sum[i].model},
            {.number = sum[i].layers},
            {.number = sum[i].tiled},
            {.number = sum[i].unanswered},
            {.number = known ? sum[i].workspace : -1},
            {.number = known ? sum[i].tiled_workspace : -1},
            {.number = known ? sum[i].peak : -1},
            {.number = known ? sum[i].tiled_peak : -1},
            {.number = known ? sum[i].floor : -1},
            {.ratio = ratio},
            {.ratio = sum[i].seconds > 0 ? sum[i].tiled_seconds / sum[i].seconds : 0},
            {.ratio = sum[i].most > 0 ? sum[i].tiled_most / sum[i].most : 0}};
        cs_table_add(table, row);
    }
    free(sum);
    return true;
}

static void print_head(const struct cs_predict_results *results, FILE *out)
{
    const struct cs_predict_options *options = results->options;
    char size[CS_BYTES_TEXT];
    if (options->estimate)
        fprintf(out, "ESTIMATE by a rule of thumb, not cuDNN's result\n");
    fprintf(out, "%s, %s, convshim with workspace %s, policy %s\n\n", results->device->title,
            results->vendor, workspace_text(options, size), options->config.policy.text);
}

/* Convolutions that exceed the memory of the GPU, with their tensors alone or with workspace. */
static void advise_memory(const struct cs_predict_results *results, char text[CS_PREDICT_ADVICE])
{
    const int64_t memory = results->device->memory;
    const size_t count = results->layers->count;
    size_t tensors = 0, peaks = 0;
    char bytes[CS_BYTES_TEXT];
    for (size_t i = 0; i < count; i++) {
        tensors += results->prediction[i].floor > memory;
        peaks +=
            results->prediction[i].status == CS_OK && results->prediction[i].tiled_peak > memory;
    }
    cs_table_bytes_text(bytes, memory);
    if (memory > 0 && tensors > 0)
        snprintf(text, CS_PREDICT_ADVICE,
                 "Advice: the tensors of %zu of %zu convolutions exceed the %s of the GPU without "
                 "any workspace. Split the batch or the image.",
                 tensors, count, bytes);
    else if (memory > 0 && peaks > 0)
        snprintf(text, CS_PREDICT_ADVICE,
                 "Advice: the peak of %zu of %zu convolutions exceeds the %s of the GPU. Try a "
                 "smaller --workspace.",
                 peaks, count, bytes);
}

static bool is_huge(const struct cs_problem *problem)
{
    for (int i = 0; i < CS_OPERANDS; i++) {
        int64_t elements = 1;
        for (int d = 0; d < CS_DIMS; d++)
            if (!cs_mul(elements, problem->tensor[i].dims[d], &elements))
                return true;
        if (elements > INT32_MAX)
            return true;
    }
    return false;
}

static void advise_huge(const struct cs_predict_results *results, char text[CS_PREDICT_ADVICE])
{
    size_t count = 0;
    for (size_t i = 0; i < results->layers->count; i++) {
        const struct cs_prediction *prediction = &results->prediction[i];
        count += prediction->status == CS_OK && prediction->offer.engine.index == 0 &&
                 is_huge(&results->layers->layer[i].problem);
    }
    if (count > 0 && !results->options->estimate && results->options->config.huge <= 0)
        snprintf(
            text, CS_PREDICT_ADVICE,
            "Advice: %zu of %zu convolutions have a tensor of 2^31 elements or more, for which "
            "cuDNN offers only a slow engine. --huge 2147483648 shows them as tiles on other "
            "engines.",
            count, results->layers->count);
}

static void advise_time(const struct cs_predict_results *results, char text[CS_PREDICT_ADVICE])
{
    size_t slow = 0, worst = 0;
    for (size_t i = 0; i < results->layers->count; i++) {
        double ratio = results->prediction[i].time_ratio;
        slow += ratio > SLOW;
        worst = ratio > results->prediction[worst].time_ratio ? i : worst;
    }
    if (slow == 0)
        return;
    const struct cs_layer *layer = &results->layers->layer[worst];
    double most = results->prediction[worst].time_ratio;
    if (results->layers->count == 1)
        snprintf(text, CS_PREDICT_ADVICE,
                 "Advice: with this limit it is predicted to take %.2f times as long.", most);
    else
        snprintf(text, CS_PREDICT_ADVICE,
                 "Advice: with this limit %zu of %zu convolutions are predicted to take over %.1f "
                 "times as long, most of all %.64s%s%.64s (%.2f times).",
                 slow, results->layers->count, SLOW, layer->model, *layer->model ? ", " : "",
                 layer->name, most);
}

void cs_predict_advice(const struct cs_predict_results *results, char text[CS_PREDICT_ADVICE])
{
    text[0] = '\0';
    advise_memory(results, text);
    if (!*text)
        advise_huge(results, text);
    if (!*text)
        advise_time(results, text);
}

static bool print_text(const struct cs_predict_results *results, const struct cs_table *layers,
                       const struct cs_table *models)
{
    char advice[CS_PREDICT_ADVICE];
    print_head(results, stdout);
    if (!cs_table_print(layers, CS_FORMAT_TEXT, stdout))
        return false;
    puts("");
    if (!cs_table_print(models, CS_FORMAT_TEXT, stdout))
        return false;
    cs_predict_advice(results, advice);
    if (*advice)
        printf("\n%s\n", advice);
    return true;
}

static cJSON *layers_of(const struct cs_predict_results *results, const struct cs_table *table)
{
    cJSON *layers = cs_table_json(table), *layer;
    size_t i = 0;
    cJSON_ArrayForEach(layer, layers)
    {
        const struct cs_prediction *prediction = &results->prediction[i++];
        if (prediction->decision.rule > 0)
            cJSON_AddStringToObject(
                layer, "rule", results->options->rules.rule[prediction->decision.rule - 1].name);
        if (prediction->seconds > 0) {
            cJSON_AddNumberToObject(layer, "predicted_seconds", prediction->seconds);
            cJSON_AddNumberToObject(layer, "predicted_seconds_most", prediction->most_seconds);
        }
        cJSON_AddNumberToObject(layer, "queries", (double)prediction->decision.queries);
    }
    return layers;
}

static bool print_json(const struct cs_predict_results *results, const struct cs_table *layers,
                       const struct cs_table *models)
{
    const struct cs_predict_options *options = results->options;
    char advice[CS_PREDICT_ADVICE];
    cs_json_begin();
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "device", results->device->name);
    cJSON_AddStringToObject(root, "device_name", results->device->title);
    cJSON_AddStringToObject(root, "planned_by", results->vendor);
    cJSON_AddBoolToObject(root, "estimate", options->estimate);
    cJSON_AddNumberToObject(root, "workspace_bytes", (double)cs_limits_workspace(&options->config));
    cJSON_AddBoolToObject(root, "workspace_auto", options->config.workspace == CS_CONFIG_AUTO);
    cJSON_AddStringToObject(root, "policy", options->config.policy.text);
    cs_json_add(root, "layers", layers_of(results, layers));
    cs_json_add(root, "models", cs_table_json(models));
    cs_predict_advice(results, advice);
    if (*advice)
        cJSON_AddStringToObject(root, "advice", advice);
    return cs_json_print(root, stdout);
}

bool cs_predict_print(const struct cs_predict_results *results)
{
    enum cs_format format = results->options->format;
    struct cs_table layers, models;
    fill_layers(&layers, results);
    bool good = fill_models(&models, results) && !layers.broken && !models.broken;
    if (good && format == CS_FORMAT_CSV)
        good = cs_table_print(&layers, CS_FORMAT_CSV, stdout);
    else if (good && format == CS_FORMAT_JSON)
        good = print_json(results, &layers, &models);
    else if (good)
        good = print_text(results, &layers, &models);
    cs_table_fini(&models);
    cs_table_fini(&layers);
    return good;
}
