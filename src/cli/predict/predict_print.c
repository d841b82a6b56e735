/* The output of `convshim predict`: text for one convolution, and a table of layers. */
#include "cli/predict/predict.h"

#include "account/summary_json.h"
#include "base/checked.h"
#include "base/text.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "config/limits.h"
#include "cudnn/standalone/standalone.h"
#include "decide/cost.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

/* --- one convolution --- */

/* Writes a tiling, such as "H x 8 on 2 lanes", or the reason against tiles. */
static void tiling_text(const struct cs_decision *decision, char *text, size_t size)
{
    const struct cs_tiling *tiling = &decision->tiling;
    struct cs_text line = {text, size, 0};
    if (decision->reason != CS_REASON_NONE) {
        cs_text_put(&line, "%s", cs_account_reason_text(decision->reason));
    } else if (decision->tiles == 1) {
        cs_text_put(&line, "untiled, on another engine");
    } else {
        cs_text_put(&line, "%s x %" PRId64 "%s", cs_axis_tiling_name(tiling), decision->tiles,
                    cs_axis_tiling_by_phase(tiling) ? " by phase" : "");
        if (tiling->lanes > 1)
            cs_text_put(&line, " on %d lanes", tiling->lanes);
        if (decision->raised)
            cs_text_put(&line, ", limit raised");
    }
}

/* Prints a line for a size without and with convshim, with a note. */
static void put_size(const char *name, int64_t without, int64_t with, const char *note)
{
    char first[CS_BYTES_TEXT], second[CS_BYTES_TEXT];
    printf("%-10s%17s%12s%s%s\n", name, cs_table_bytes_text(first, without),
           cs_table_bytes_text(second, with), *note ? "  " : "", note);
}

static void print_convolution(const struct cs_prediction *prediction)
{
    const int64_t *bytes = prediction->bytes;
    char tiling[80], halo[80] = "", size[CS_BYTES_TEXT];
    if (prediction->status != CS_OK) {
        puts("cuDNN has no engine for this convolution on this GPU.");
        return;
    }
    tiling_text(&prediction->decision, tiling, sizeof tiling);
    if (prediction->halo > 0)
        snprintf(halo, sizeof halo, "%s read again (%.1f %% of the tensors)",
                 cs_table_bytes_text(size, prediction->halo),
                 100 * (double)prediction->halo / (double)prediction->floor);
    printf("%27s%12s\n", "without convshim", "with");
    put_size("input", bytes[CS_X], bytes[CS_X], "");
    put_size("filter", bytes[CS_FILTER], bytes[CS_FILTER], "");
    put_size("output", bytes[CS_Y], bytes[CS_Y], "");
    put_size("workspace", prediction->offer.workspace, prediction->decision.reported, tiling);
    put_size("peak", prediction->peak, prediction->tiled_peak, halo);
    const struct cs_times *ratio = &prediction->ratio;
    if (ratio->least > 0 && ratio->most <= ratio->least)
        printf("\nPredicted time of the tiles: %.2f times the untiled time (a model, not "
               "measured).\n",
               ratio->least);
    else if (ratio->least > 0)
        printf("\nPredicted time of the tiles: %.2f to %.2f times the untiled time (a model with "
               "%g to %g us per kernel, not measured).\n",
               ratio->least, ratio->most, cs_cost_defaults.kernel_us_least,
               cs_cost_defaults.kernel_us_most);
}

/* --- the table --- */

static void add_layer(struct cs_table *table, const struct cs_predict_results *results, size_t i)
{
    enum {
        ANSWER = 8, /* the first of the columns that depend on an engine, except the engine */
        REASON = 17,
        COLUMNS = 20
    };
    const struct cs_layer *layer = &results->layers->layer[i];
    const struct cs_prediction *prediction = &results->prediction[i];
    const struct cs_decision *decision = &prediction->decision;
    const bool good = prediction->status == CS_OK, tiled = decision->reason == CS_REASON_NONE;
    char engine[24];
    snprintf(engine, sizeof engine, "%" PRId64, prediction->offer.engine.index);
    struct cs_value row[COLUMNS] = {
        {.text = layer->model},
        {.text = layer->name},
        {.text = cs_shape_direction_name(layer->problem.direction)},
        {.text = results->device->name},
        {.text = good ? engine : NULL},
        {.number = prediction->bytes[CS_X]},
        {.number = prediction->bytes[CS_FILTER]},
        {.number = prediction->bytes[CS_Y]},
        {.number = prediction->offer.workspace},
        {.number = prediction->peak},
        {.text = good && tiled ? cs_axis_tiling_name(&decision->tiling) : "-"},
        {.number = tiled ? decision->tiles : 1},
        {.number = decision->reported},
        {.number = prediction->tiled_peak},
        {.number = prediction->halo},
        {.ratio = prediction->ratio.least},
        {.ratio = prediction->ratio.most},
        {.text = cs_account_reason_text(decision->reason)},
        {.number = decision->free},
        {.text = decision->raised ? "yes" : "no"},
    };
    for (int k = ANSWER; k < COLUMNS && !good; k++)
        row[k] = (struct cs_value){.number = -1};
    if (!good)
        row[REASON].text = "no engine";
    cs_table_add(table, row);
}

static void fill_layers(struct cs_table *table, const struct cs_predict_results *results)
{
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
    cs_table_init(table, columns, LENGTH(columns));
    for (size_t i = 0; i < results->layers->count; i++)
        add_layer(table, results, i);
}

/* --- formats --- */

/* Prints the convolution if there is one alone, the GPU with its memory, the planner, and the
 * options of convshim. */
static void print_head(const struct cs_predict_results *results)
{
    const struct cs_predict_options *options = results->options;
    const struct cs_ask_offer *offer = &results->prediction->offer;
    char size[CS_BYTES_TEXT] = "auto", memory[CS_BYTES_TEXT], text[256];
    if (options->config.workspace != CS_CONFIG_AUTO)
        cs_table_bytes_text(size, options->config.workspace);
    if (options->shape) {
        cs_site_problem_text(&results->layers->layer->problem, text, sizeof text);
        puts(text);
    }
    printf("%s with %s, %s", results->device->title,
           cs_table_bytes_text(memory, results->device->memory), results->vendor);
    if (options->shape && results->prediction->status == CS_OK)
        printf(", engine %" PRId64 "%s", offer->engine.index,
               offer->tensor_cores ? " (tensor cores)" : "");
    printf(", convshim with workspace %s, policy %s\n", size, options->config.policy.text);
    if (!options->cudnn && *cs_standalone_file()) {
        cs_cli_put(cs_standalone_file(), stdout);
        puts(" plans. A program may load another cuDNN: convshim doctor -- COMMAND names it, "
             "--cudnn PATH plans with it.");
    }
    putchar('\n');
}

static bool print_text(const struct cs_predict_results *results, const struct cs_table *layers)
{
    print_head(results);
    if (!results->options->shape)
        return cs_table_print(layers, CS_FORMAT_TEXT, stdout);
    print_convolution(results->prediction);
    return true;
}

static cJSON *layers_of(const struct cs_predict_results *results, const struct cs_table *table)
{
    cJSON *layers = cs_table_json(table), *layer;
    size_t i = 0;
    cJSON_ArrayForEach(layer, layers)
    {
        const struct cs_prediction *prediction = &results->prediction[i++];
        const int rule = prediction->decision.rule;
        if (rule > 0)
            cJSON_AddStringToObject(layer, "rule", results->options->rules.rule[rule - 1].name);
        if (prediction->untiled.least > 0) {
            cJSON_AddNumberToObject(layer, "predicted_seconds", prediction->untiled.least);
            cJSON_AddNumberToObject(layer, "predicted_seconds_most", prediction->untiled.most);
        }
        cJSON_AddNumberToObject(layer, "queries", (double)prediction->decision.queries);
    }
    return layers;
}

static bool print_json(const struct cs_predict_results *results, const struct cs_table *layers)
{
    const struct cs_predict_options *options = results->options;
    cs_json_begin();
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "device", results->device->name);
    cJSON_AddStringToObject(root, "device_name", results->device->title);
    cJSON_AddStringToObject(root, "planned_by", results->vendor);
    cJSON_AddNumberToObject(root, "workspace_bytes", (double)cs_limits_workspace(&options->config));
    cJSON_AddBoolToObject(root, "workspace_auto", options->config.workspace == CS_CONFIG_AUTO);
    cJSON_AddStringToObject(root, "policy", options->config.policy.text);
    cs_json_add(root, "layers", layers_of(results, layers));
    return cs_json_print(root, stdout);
}

bool cs_predict_print(const struct cs_predict_results *results)
{
    enum cs_format format = results->options->format;
    struct cs_table layers;
    fill_layers(&layers, results);
    bool good = !layers.broken;
    if (good && format == CS_FORMAT_CSV)
        good = cs_table_print(&layers, CS_FORMAT_CSV, stdout);
    else if (good && format == CS_FORMAT_JSON)
        good = print_json(results, &layers);
    else if (good)
        good = print_text(results, &layers);
    cs_table_fini(&layers);
    return good;
}
