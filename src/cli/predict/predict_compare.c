/* The same layers planned by two cuDNNs. */
#include "cli/predict/predict.h"

#include "base/checked.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/program/child.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SIDES = 2
};

static const struct cs_column columns[] = {{"model", "model", CS_CELL_TEXT},
                                           {"layer", "layer", CS_CELL_TEXT},
                                           {"dir", "dir", CS_CELL_TEXT},
                                           {"engine_first", "engine", CS_CELL_TEXT},
                                           {"engine_second", "then", CS_CELL_TEXT},
                                           {"workspace_bytes_first", "workspace", CS_CELL_BYTES},
                                           {"workspace_bytes_second", "then", CS_CELL_BYTES},
                                           {"reported_bytes_first", "convshim", CS_CELL_BYTES},
                                           {"reported_bytes_second", "then", CS_CELL_BYTES}};

/* Parses a file as JSON from its beginning. Returns NULL if it is not JSON. */
static cJSON *read_answer(FILE *file)
{
    char *text = NULL;
    size_t room = 0;
    rewind(file);
    cJSON *root = getdelim(&text, &room, '\0', file) > 0 ? cJSON_Parse(text) : NULL;
    free(text);
    return root;
}

struct prediction {
    struct cs_predict_options options;
    int (*run)(struct cs_predict_options *options);
    FILE *file; /* takes the answer */
};

/* In the child. */
static int run_prediction(void *ctx)
{
    struct prediction *prediction = ctx;
    dup2(fileno(prediction->file), STDOUT_FILENO);
    return prediction->run(&prediction->options);
}

/* Calls `run` with one cuDNN in a separate process. Returns its answer; NULL on errors, after
 * printing a line. */
static cJSON *run_with_cudnn(const struct cs_predict_options *options, const char *cudnn,
                             int (*run)(struct cs_predict_options *options))
{
    struct prediction prediction = {*options, run, tmpfile()};
    cJSON *answer = NULL;
    prediction.options.cudnn = cudnn;
    prediction.options.other_cudnn = NULL;
    prediction.options.format = CS_FORMAT_JSON;
    if (prediction.file && cs_child_run(run_prediction, &prediction) >= 0)
        answer = read_answer(prediction.file);
    else
        cs_cli_complain("predict: %s", strerror(errno));
    if (prediction.file)
        fclose(prediction.file);
    return answer;
}

static const char *text_in(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text ? text : "-";
}

static int64_t number_in(const cJSON *object, const char *name)
{
    return cs_json_whole(cJSON_GetObjectItemCaseSensitive(object, name), -1);
}

struct totals {
    int64_t layers, engines, workspaces;
    int64_t largest[SIDES], reported[SIDES];
};

static void add_row(struct cs_table *table, const cJSON *a, const cJSON *b, struct totals *totals)
{
    const cJSON *const side[SIDES] = {a, b};
    const struct cs_value row[] = {{.text = text_in(a, "model")},
                                   {.text = text_in(a, "layer")},
                                   {.text = text_in(a, "dir")},
                                   {.text = text_in(a, "engine")},
                                   {.text = text_in(b, "engine")},
                                   {.number = number_in(a, "workspace_bytes")},
                                   {.number = number_in(b, "workspace_bytes")},
                                   {.number = number_in(a, "tiled_workspace_bytes")},
                                   {.number = number_in(b, "tiled_workspace_bytes")}};
    cs_table_add(table, row);
    totals->layers++;
    totals->engines += strcmp(text_in(a, "engine"), text_in(b, "engine")) != 0;
    totals->workspaces += number_in(a, "workspace_bytes") != number_in(b, "workspace_bytes");
    for (int i = 0; i < SIDES; i++) {
        int64_t workspace = number_in(side[i], "workspace_bytes"),
                reported = number_in(side[i], "tiled_workspace_bytes");
        cs_raise(&totals->largest[i], workspace);
        cs_raise(&totals->reported[i], reported);
    }
}

static void print_totals(const struct totals *totals, cJSON *const answer[SIDES])
{
    char text[4][CS_BYTES_TEXT];
    printf("\n%s, then %s, on %s: %" PRId64 " of %" PRId64 " layers take another engine, %" PRId64
           " another workspace.\n",
           text_in(answer[0], "planned_by"), text_in(answer[1], "planned_by"),
           text_in(answer[0], "device_name"), totals->engines, totals->layers, totals->workspaces);
    printf("Largest workspace: %s, then %s. With convshim: %s, then %s.\n",
           cs_table_bytes_text(text[0], totals->largest[0]),
           cs_table_bytes_text(text[1], totals->largest[1]),
           cs_table_bytes_text(text[2], totals->reported[0]),
           cs_table_bytes_text(text[3], totals->reported[1]));
}

int cs_predict_compare(struct cs_predict_options *options,
                       int (*run)(struct cs_predict_options *options))
{
    const char *const cudnn[SIDES] = {options->cudnn, options->other_cudnn};
    cJSON *answer[SIDES] = {NULL};
    struct totals totals = {.layers = 0};
    struct cs_table table;
    bool good = true;
    cs_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < SIDES && good; i++)
        good = (answer[i] = run_with_cudnn(options, cudnn[i], run)) != NULL;
    const cJSON *a = cJSON_GetObjectItemCaseSensitive(answer[0], "layers"),
                *b = cJSON_GetObjectItemCaseSensitive(answer[1], "layers");
    a = a ? a->child : NULL;
    b = b ? b->child : NULL;
    for (; a && b; a = a->next, b = b->next)
        add_row(&table, a, b, &totals);
    good = good && cs_table_print(&table, options->format, stdout);
    if (good && options->format == CS_FORMAT_TEXT)
        print_totals(&totals, answer);
    cs_table_fini(&table);
    for (int i = 0; i < SIDES; i++)
        cJSON_Delete(answer[i]);
    return good ? CS_CLI_OK : CS_CLI_NO;
}
