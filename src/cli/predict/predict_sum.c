/* The totals of `convshim predict`, and the smallest limit with which everything fits a
 * capacity. */
#include "cli/predict/predict.h"

#include "base/checked.h"
#include "cli/common/cli.h"
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_WORKSPACE = 1024 /* that the option of that name takes; answers are whole KiB */
};

static struct cs_predict_sum *sum_of(struct cs_predict_sum *sum, size_t *count_p, const char *model)
{
    for (size_t i = 0; i < *count_p; i++)
        if (strcmp(sum[i].model, model) == 0)
            return &sum[i];
    sum[*count_p] = (struct cs_predict_sum){.model = model};
    return &sum[(*count_p)++];
}

static void add_layer(struct cs_predict_sum *sum, const struct cs_prediction *prediction,
                      int64_t calls)
{
    const double seconds = (double)calls * prediction->seconds;
    const double most = (double)calls * prediction->most_seconds;
    const bool timed = prediction->time_ratio > 0;
    sum->layers++;
    if (prediction->status != CS_OK) {
        sum->unanswered++;
        return;
    }
    sum->tiled += prediction->decision.reason == CS_REASON_NONE;
    cs_raise(&sum->workspace, prediction->offer.workspace);
    cs_raise(&sum->tiled_workspace, prediction->decision.reported);
    cs_raise(&sum->peak, prediction->peak);
    cs_raise(&sum->tiled_peak, prediction->tiled_peak);
    cs_raise(&sum->floor, prediction->floor);
    sum->seconds += seconds;
    sum->tiled_seconds += timed ? prediction->time_ratio * seconds : seconds;
    sum->most += most;
    sum->tiled_most += timed ? prediction->most_ratio * most : most;
}

struct cs_predict_sum *cs_predict_sums(const struct cs_predict_results *results, size_t *count_p)
{
    const struct cs_layers *layers = results->layers;
    struct cs_predict_sum *sum = calloc(layers->count + 1, sizeof *sum);
    size_t count = 0;
    if (!sum)
        return NULL;
    for (size_t i = 0; i < layers->count; i++)
        add_layer(sum_of(sum, &count, layers->layer[i].model), &results->prediction[i],
                  layers->layer[i].recorded.calls);
    *count_p = count;
    return sum;
}

/* Finds the workspace limit: of the layers that do not fit without tiles, the smallest memory that
 * remains in addition to the tensors. No larger limit is safe. Returns false if the tensors of a
 * layer need all memory. */
static bool find_workspace(const struct cs_predict_results *results, struct cs_predict_fit *fit)
{
    int64_t fits = results->options->fits;
    for (size_t i = 0; i < results->layers->count; i++) {
        const struct cs_prediction *prediction = &results->prediction[i];
        if (prediction->status != CS_OK || prediction->peak <= fits)
            continue;
        int64_t left = (fits - prediction->floor) / LEAST_WORKSPACE * LEAST_WORKSPACE;
        if (left < LEAST_WORKSPACE) {
            fit->hopeless = &results->layers->layer[i];
            return false;
        }
        if (fit->workspace == 0 || left < fit->workspace)
            fit->workspace = left;
    }
    return true;
}

static bool confirm_fit(const struct cs_predict_results *results,
                        const struct cs_predictor *predictor, struct cs_predict_fit *fit,
                        char *error, size_t size)
{
    size_t count = results->layers->count;
    struct cs_predictor other = *predictor;
    struct cs_prediction *prediction = calloc(count + 1, sizeof *prediction);
    const struct cs_problem **problem = calloc(count + 1, sizeof *problem);
    bool good = prediction && problem;
    other.settings.limits.workspace = fit->workspace;
    for (size_t i = 0; good && i < count; i++)
        problem[i] = &results->layers->layer[i].problem;
    if (!good)
        snprintf(error, size, "out of memory");
    good = good && cs_predict(&other, problem, count, prediction, error, size);
    for (size_t i = 0; good && i < count && !fit->hopeless; i++)
        if (prediction[i].status == CS_OK && prediction[i].tiled_peak > results->options->fits)
            fit->hopeless = &results->layers->layer[i];
    fit->possible = good && !fit->hopeless;
    free(problem);
    free(prediction);
    return good;
}

bool cs_predict_fits(const struct cs_predict_results *results, const struct cs_predictor *predictor,
                     struct cs_predict_fit *fit, char *error, size_t size)
{
    *fit = (struct cs_predict_fit){.possible = true};
    for (size_t i = 0; i < results->layers->count; i++) {
        const struct cs_prediction *prediction = &results->prediction[i];
        bool known = prediction->status == CS_OK;
        fit->unanswered += !known;
        fit->before += !known || prediction->peak > results->options->fits;
        fit->after += !known || prediction->tiled_peak > results->options->fits;
    }
    if (fit->before == fit->unanswered)
        return true;
    if (find_workspace(results, fit))
        return confirm_fit(results, predictor, fit, error, size);
    fit->possible = false;
    return true;
}
