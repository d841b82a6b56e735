/* The output of `convshim predict` for a single convolution: sizes, engine and tiles. */
#include "cli/predict/predict.h"

#include "account/account.h"
#include "decide/cost.h"
#include <inttypes.h>

enum {
    NOTE_TEXT = 80
};

const char *const cs_predict_modes[CS_ASK_MODES] = {"a", "b", "fallback"};

static void print_head(const struct cs_predict_results *results)
{
    const struct cs_ask_offer *offer = &results->prediction->offer;
    char title[CS_PREDICT_TITLE];
    if (results->options->estimate)
        puts("ESTIMATE by a rule of thumb, not cuDNN's result");
    printf("%s\non %s, %s", cs_predict_title(&results->layers->layer->problem, title),
           results->device->title, results->vendor);
    if (results->prediction->status == CS_OK && !results->options->estimate)
        printf(", engine %" PRId64 " (mode %s%s)", offer->engine.index,
               cs_predict_modes[offer->mode], offer->tensor_cores ? ", tensor cores" : "");
    puts("\n");
}

static void tiling_text(const struct cs_prediction *prediction, char *text, size_t size)
{
    const struct cs_decision *decision = &prediction->decision;
    if (decision->reason != CS_REASON_NONE) {
        snprintf(text, size, "%s", cs_account_reason_text(decision->reason));
        return;
    }
    if (decision->tiles == 1) {
        snprintf(text, size, "untiled, on another engine");
        return;
    }
    int length =
        snprintf(text, size, "%s x %" PRId64 "%s", cs_axis_tiling_name(&decision->tiling),
                 decision->tiles, cs_axis_tiling_by_phase(&decision->tiling) ? " by phase" : "");
    if (decision->tiling.lanes > 1)
        length +=
            snprintf(text + length, size - (size_t)length, " on %d lanes", decision->tiling.lanes);
    if (decision->raised)
        snprintf(text + length, size - (size_t)length, ", limit raised");
}

static bool print_numbers(const struct cs_predict_results *results)
{
    static const struct cs_column columns[] = {{"", "", CS_CELL_TEXT},
                                               {"", "without convshim", CS_CELL_BYTES},
                                               {"", "with", CS_CELL_BYTES},
                                               {"", "", CS_CELL_TEXT}};
    const struct cs_prediction *prediction = results->prediction;
    char tiling[NOTE_TEXT], halo[NOTE_TEXT] = "", size[CS_BYTES_TEXT];
    struct cs_table table;
    tiling_text(prediction, tiling, sizeof tiling);
    if (prediction->halo > 0)
        snprintf(halo, sizeof halo, "%s read again (%.1f %% of the tensors)",
                 cs_table_bytes_text(size, prediction->halo),
                 100 * (double)prediction->halo / (double)prediction->floor);
    const struct {
        const char *name;
        int64_t without, with;
        const char *text;
    } rows[] = {
        {"input", prediction->bytes[CS_X], prediction->bytes[CS_X], ""},
        {"filter", prediction->bytes[CS_FILTER], prediction->bytes[CS_FILTER], ""},
        {"output", prediction->bytes[CS_Y], prediction->bytes[CS_Y], ""},
        {"workspace", prediction->offer.workspace, prediction->decision.reported, tiling},
        {"peak", prediction->peak, prediction->tiled_peak, halo},
    };
    cs_table_init(&table, columns, 4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cs_table_add(&table, (struct cs_value[]){{.text = rows[i].name},
                                                 {.number = rows[i].without},
                                                 {.number = rows[i].with},
                                                 {.text = rows[i].text}});
    bool printed = cs_table_print(&table, CS_FORMAT_TEXT, stdout);
    cs_table_fini(&table);
    return printed;
}

static void print_time(const struct cs_prediction *prediction)
{
    if (prediction->time_ratio > 0)
        printf("\nPredicted time of the tiles: %.2f to %.2f times the untiled time (a model with "
               "%g to %g us per kernel, not measured).\n",
               prediction->time_ratio, prediction->most_ratio, cs_cost_defaults.kernel_us,
               cs_cost_defaults.kernel_us_most);
}

bool cs_predict_print_one(const struct cs_predict_results *results)
{
    const struct cs_prediction *prediction = results->prediction;
    char advice[CS_PREDICT_ADVICE];
    print_head(results);
    if (prediction->status != CS_OK) {
        puts("cuDNN has no engine for this convolution on this GPU.");
        return true;
    }
    if (!print_numbers(results))
        return false;
    print_time(prediction);
    cs_predict_advice(results, advice);
    if (*advice)
        puts(advice);
    return true;
}
