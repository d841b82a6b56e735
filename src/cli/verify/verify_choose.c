/* Chooses the convolutions to run, and runs them in two processes of this program, without and with
 * the library. */
#include "cli/common/cli.h"
#include "cli/layers/find_cudnn.h"
#include "cli/program/run_program.h"
#include "cli/verify/verify.h"
#include "config/limits.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ROWS = 32,
    ERROR_BYTES = 512
};

static void complain(void *ctx, const char *line)
{
    (void)ctx;
    cs_cli_complain("%s", line);
}

/* Without a prediction the command goes on: it measures. */
static void predict(struct cs_verification *verification, const struct cs_problem *const *problem,
                    size_t count, struct cs_prediction *prediction)
{
    static struct cs_config config;
    static struct cs_rules rules;
    size_t program[count + 1];
    char error[ERROR_BYTES] = "cuDNN returned no description of this GPU";
    cs_command_config(&config, NULL, complain, NULL);
    cs_limits_rules(&config, "", "", &rules);
    const struct cs_predictor predictor = {
        .profile = verification->gpu.profile,
        .mode = CS_ASK_A,
        .settings = {.rules = &rules,
                     .program = "",
                     .policy = cs_policy_find(config.policy.text),
                     .limits = cs_limits_of(&config, &rules),
                     .most = INT64_MAX},
        .program = program};
    for (size_t i = 0; i < count; i++)
        program[i] = i;
    if (verification->gpu.profile &&
        cs_find_cudnn(verification->options->cudnn, error, sizeof error) &&
        cs_predict(&predictor, problem, count, prediction, error, sizeof error))
        return;
    cs_cli_complain("verify: no times are predicted: %s", error);
    memset(prediction, 0, count * sizeof *prediction);
}

static bool same_problem(const struct cs_problem *a, const struct cs_problem *b)
{
    int64_t left[CS_PROBLEM_WORDS], right[CS_PROBLEM_WORDS];
    int count = cs_problem_words(a, left);
    return count == cs_problem_words(b, right) &&
           memcmp(left, right, (size_t)count * sizeof *left) == 0;
}

/* Each problem once. */
static size_t distinct(const struct cs_layers *layers, struct cs_verified *row)
{
    size_t rows = 0;
    for (size_t i = 0; i < layers->count; i++) {
        bool seen = false;
        for (size_t j = 0; j < rows && !seen; j++)
            seen = same_problem(&row[j].layer->problem, &layers->layer[i].problem);
        if (!seen)
            row[rows++] =
                (struct cs_verified){.layer = &layers->layer[i], .verdict = CS_VERDICT_NOT_RUN};
    }
    return rows;
}

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_tiling(const void *left, const void *right)
{
    const struct cs_verified *a = left, *b = right;
    int tiled = order(b->prediction.time_ratio > 0, a->prediction.time_ratio > 0);
    return tiled != 0 ? tiled : order(b->prediction.offer.workspace, a->prediction.offer.workspace);
}

/* The library weighs time against memory above the largest that came before. In this order each
 * convolution is the largest so far, so that it is decided about as if it were alone. */
static int by_peak(const void *left, const void *right)
{
    const struct cs_verified *a = left, *b = right;
    return order(a->prediction.peak, b->prediction.peak);
}

static void select_rows(struct cs_verification *verification)
{
    if (verification->rows > MOST_ROWS) {
        qsort(verification->row, verification->rows, sizeof *verification->row, by_tiling);
        verification->left_out = verification->rows - MOST_ROWS;
        verification->rows = MOST_ROWS;
    }
    qsort(verification->row, verification->rows, sizeof *verification->row, by_peak);
}

bool cs_verify_choose(struct cs_verification *verification, const struct cs_layers *layers)
{
    verification->row = calloc(layers->count + 1, sizeof *verification->row);
    const struct cs_problem **problem = calloc(layers->count + 1, sizeof *problem);
    struct cs_prediction *prediction = calloc(layers->count + 1, sizeof *prediction);
    bool good = verification->row && problem && prediction;
    if (good) {
        verification->rows = distinct(layers, verification->row);
        for (size_t i = 0; i < verification->rows; i++)
            problem[i] = &verification->row[i].layer->problem;
        predict(verification, problem, verification->rows, prediction);
        for (size_t i = 0; i < verification->rows; i++)
            verification->row[i].prediction = prediction[i];
        select_rows(verification);
    }
    free(prediction);
    free(problem);
    return good;
}
