/* The totals of `convshim predict`. */
#include "cli/predict/predict.h"

#include "base/checked.h"
#include <stdlib.h>
#include <string.h>

/* The sum of a model, which is added if it is new. */
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
