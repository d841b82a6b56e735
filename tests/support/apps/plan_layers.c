/* Asks cuDNN for the plan and the workspace of every layer of a list; nothing is executed. */
#include "csv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *csv;
    const char *model;
    enum conv_api api;
    enum conv_direction direction;
    enum layout layout;
    cudnnBackendHeurMode_t mode;
    bool all; /* every answer that works, as an autotuner plans them, not the first only */
};

static const char USAGE[] =
    "usage: plan_layers [--csv PATH] [--model NAME] [--api graph|legacy]\n"
    "                   [--direction forward|data|filter] [--layout nchw|nhwc]\n"
    "                   [--mode a|b|fallback] [--all]\n"
    "Prints model,layer,dtype,layout,engine,status,workspace for every layer of the list, in one "
    "direction\n"
    "(forward), of the first answer that works or, with --all, of each, with its engine's notes as "
    "bits.\n"
    "Through the graph API the workspace is asked of the engine config, except with --all, and of "
    "the plan; a difference is an error.\n"
    "Status: 0, 1 on an error or a difference, 2 on usage.\n";

static bool parse_mode(const char *name, cudnnBackendHeurMode_t *mode)
{
    if (strcmp(name, "a") == 0)
        *mode = CUDNN_HEUR_MODE_A;
    else if (strcmp(name, "b") == 0)
        *mode = CUDNN_HEUR_MODE_B;
    else if (strcmp(name, "fallback") == 0)
        *mode = CUDNN_HEUR_MODE_FALLBACK;
    else
        return option_refuse("mode", name, "a, b or fallback");
    return true;
}

static bool take(int option, const char *value, void *to)
{
    struct options *options = to;
    switch (option) {
    case 'c':
        options->csv = value;
        return true;
    case 'm':
        options->model = value;
        return true;
    case 'a':
        return conv_api_parse(value, &options->api) ||
               option_refuse("api", value, "graph or legacy");
    case 'd':
        return conv_direction_parse(value, &options->direction) ||
               option_refuse("direction", value, "forward, data or filter");
    case 'e':
        options->all = true;
        return true;
    case 'l':
        return layout_parse(value, &options->layout) ||
               option_refuse("layout", value, "nchw or nhwc");
    case 'o':
        return parse_mode(value, &options->mode);
    default:
        return false;
    }
}

/* A layer and the values printed with it. */
struct row {
    const struct options *options;
    const struct csv_layer *layer;
};

static void print_row(const struct row *row, const struct conv_plan *plan, const char *status)
{
    const struct csv_layer *layer = row->layer;
    printf("%s,%s,%s,%s,%" PRId64 ",%s,%" PRId64, layer->model, layer->layer,
           dtype_name(layer->type), layout_name(row->options->layout), plan->engine, status,
           plan->workspace);
    if (row->options->all)
        printf(",%" PRIx64, plan->notes);
    putchar('\n');
}

/* Prints the first engine, from the `first`-th on, that works. Counts it in `unasked` if its engine
 * config does not report a workspace. */
static enum outcome plan_answer(cudnnHandle_t handle, const struct options *options,
                                const struct csv_layer *layer, const struct conv_problem *problem,
                                int *first, size_t *unasked)
{
    static const char *const words[] = {"ok", "refused", "error"};
    const struct row row = {options, layer};
    const struct conv_settings settings = {.mode = options->mode,
                                           .no_fallback = true,
                                           .ask_config = !options->all,
                                           .ask_notes = options->all};
    struct conv_plan plan = {.engine = -1, .workspace = -1};
    enum outcome outcome =
        conv_plan_create(handle, options->api, problem, &settings, *first, &plan);
    if (outcome == OUTCOME_OK || *first == 0)
        print_row(&row, &plan, words[outcome]);
    if (outcome != OUTCOME_OK)
        return outcome;
    *first = plan.choice + 1;
    if (options->api == CONV_GRAPH && settings.ask_config && plan.config_workspace < 0)
        ++*unasked;
    bool same = plan.config_workspace < 0 || plan.config_workspace == plan.workspace;
    if (!same)
        fprintf(stderr,
                "%s,%s: error: the engine config reports a workspace of %" PRId64
                " bytes, its plan %" PRId64 "\n",
                layer->model, layer->layer, plan.config_workspace, plan.workspace);
    conv_plan_destroy(&plan);
    return same ? OUTCOME_OK : OUTCOME_ERROR;
}

static bool plan_layer(cudnnHandle_t handle, const struct options *options,
                       const struct csv_layer *layer, size_t *unasked)
{
    struct conv_problem problem;
    int first = 0;
    if (!csv_problem(layer, options->layout, &problem)) {
        fprintf(stderr, "%s,%s: the kernel is larger than the input\n", layer->model, layer->layer);
        return false;
    }
    problem.direction = options->direction;
    enum outcome outcome = plan_answer(handle, options, layer, &problem, &first, unasked);
    while (outcome == OUTCOME_OK && options->all)
        outcome = plan_answer(handle, options, layer, &problem, &first, unasked);
    return outcome != OUTCOME_ERROR;
}

static bool plan_layers(const struct options *options)
{
    struct csv_layer *layers = NULL;
    size_t count = 0;
    size_t unasked = 0;
    cudnnHandle_t handle = NULL;
    bool good = false;
    if (!csv_read(options->csv, options->model, &layers, &count))
        return false;
    TRY_CUDNN(cudnnCreate(&handle), free_layers);
    good = true;
    printf("model,layer,dtype,layout,engine,status,workspace%s\n", options->all ? ",notes" : "");
    for (size_t i = 0; i < count; i++)
        good = plan_layer(handle, options, &layers[i], &unasked) && good;
    if (unasked > 0)
        fprintf(stderr, "%zu engine configs do not report a workspace; only the plan does\n",
                unasked);
    cudnnDestroy(handle);
free_layers:
    free(layers);
    return good;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"csv", required_argument, NULL, 'c'},
                                          {"model", required_argument, NULL, 'm'},
                                          {"api", required_argument, NULL, 'a'},
                                          {"direction", required_argument, NULL, 'd'},
                                          {"layout", required_argument, NULL, 'l'},
                                          {"mode", required_argument, NULL, 'o'},
                                          {"all", no_argument, NULL, 'e'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options options = {.csv = "tests/data/conv_layers.csv", .mode = CUDNN_HEUR_MODE_A};
    int status = options_parse(argc, argv, known, take, &options, USAGE, 0);
    if (status >= 0)
        return status;
    return plan_layers(&options) ? 0 : 1;
}
