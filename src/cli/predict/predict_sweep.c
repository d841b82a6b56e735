/* `convshim predict --sweep`: the cost of each workspace limit, so that users can choose one. */
#include "cli/predict/predict.h"

#include "cli/common/json_tree.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

enum {
    MOST_LIMITS = 44
};

static const int64_t LEAST_LIMIT = INT64_C(1) << 20;

static const struct cs_column columns[] = {
    {"limit_bytes", "workspace limit", CS_CELL_BYTES},
    {"tiled", "tiled", CS_CELL_COUNT},
    {"over_limit", "over the limit", CS_CELL_COUNT},
    {"tiled_workspace_bytes", "largest workspace", CS_CELL_BYTES},
    {"tiled_peak_bytes", "largest peak", CS_CELL_BYTES},
    {"tiles", "most tiles", CS_CELL_COUNT},
    {"read_again_bytes", "read again", CS_CELL_BYTES},
    {"predicted_slowdown", "slowdown", CS_CELL_RATIO},
    {"predicted_slowdown_most", "at most", CS_CELL_RATIO}};

/* The layers together under one limit. */
struct total {
    int64_t tiled, over, workspace, peak, tiles, read_again;
    double slowdown, most;
};

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct total total_of(const struct cs_prediction *prediction, size_t count, int64_t limit)
{
    struct total total = {0};
    for (size_t i = 0; i < count; i++) {
        const struct cs_prediction *layer = &prediction[i];
        bool tiled = layer->decision.reason == CS_REASON_NONE;
        if (layer->status != CS_OK)
            continue;
        total.tiled += tiled;
        total.over += layer->decision.reported > limit;
        total.workspace = largest(total.workspace, layer->decision.reported);
        total.peak = largest(total.peak, layer->tiled_peak);
        total.tiles = largest(total.tiles, tiled ? layer->decision.tiles : 1);
        if (total.read_again <= INT64_MAX - layer->halo)
            total.read_again += layer->halo;
        if (layer->time_ratio > total.slowdown)
            total.slowdown = layer->time_ratio;
        if (layer->most_ratio > total.most)
            total.most = layer->most_ratio;
    }
    return total;
}

static void add_row(struct cs_table *table, int64_t limit, const struct total *total)
{
    cs_table_add(table, (struct cs_value[]){{.number = limit},
                                            {.number = total->tiled},
                                            {.number = total->over},
                                            {.number = total->workspace},
                                            {.number = total->peak},
                                            {.number = total->tiles},
                                            {.number = total->read_again},
                                            {.ratio = total->slowdown},
                                            {.ratio = total->most}});
}

static bool fill(const struct cs_predict_results *results, const struct cs_predictor *predictor,
                 struct cs_table *table, char *error, size_t size)
{
    size_t count = results->layers->count;
    struct cs_predictor other = *predictor;
    struct cs_prediction *prediction = calloc(count + 1, sizeof *prediction);
    const struct cs_problem **problem = calloc(count + 1, sizeof *problem);
    bool good = prediction && problem, whole = false;
    int64_t most = 0, limit = LEAST_LIMIT;
    for (size_t i = 0; good && i < count; i++) {
        problem[i] = &results->layers->layer[i].problem;
        if (results->prediction[i].status == CS_OK)
            most = largest(most, results->prediction[i].offer.workspace);
    }
    if (!good)
        snprintf(error, size, "out of memory");
    for (int i = 0; good && !whole && i < MOST_LIMITS; i++, limit *= 2) {
        other.settings.limits.workspace = limit;
        whole = limit >= most;
        good = cs_predict(&other, problem, count, prediction, error, size);
        const struct total total = total_of(prediction, count, limit);
        if (good)
            add_row(table, limit, &total);
    }
    free(problem);
    free(prediction);
    return good;
}

static bool print_json(const struct cs_predict_results *results, const struct cs_table *table)
{
    cs_json_begin();
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "device", results->device->name);
    cJSON_AddStringToObject(root, "device_name", results->device->title);
    cJSON_AddStringToObject(root, "planned_by", results->vendor);
    cJSON_AddBoolToObject(root, "estimate", results->options->estimate);
    cJSON_AddStringToObject(root, "policy", results->options->config.policy.text);
    cJSON_AddNumberToObject(root, "layers", (double)results->layers->count);
    cs_json_add(root, "sweep", cs_table_json(table));
    return cs_json_print(root, stdout);
}

static bool print(const struct cs_predict_results *results, const struct cs_table *table)
{
    enum cs_format format = results->options->format;
    if (format == CS_FORMAT_JSON)
        return print_json(results, table);
    if (format == CS_FORMAT_TEXT)
        printf("%s%s, %s, %zu convolution%s, policy %s. Times are predicted, not measured.\n\n",
               results->options->estimate ? "ESTIMATE by a rule of thumb, not cuDNN's result\n"
                                          : "",
               results->device->title, results->vendor, results->layers->count,
               results->layers->count == 1 ? "" : "s", results->options->config.policy.text);
    return cs_table_print(table, format, stdout);
}

bool cs_predict_sweep(const struct cs_predict_results *results,
                      const struct cs_predictor *predictor, char *error, size_t size)
{
    struct cs_table table;
    cs_table_init(&table, columns, sizeof columns / sizeof *columns);
    bool good = fill(results, predictor, &table, error, size);
    if (good && (table.broken || !print(results, &table))) {
        snprintf(error, size, "out of memory");
        good = false;
    }
    cs_table_fini(&table);
    return good;
}
