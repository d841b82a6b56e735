/* Chooses the convolutions to run, measures them without and with the library, and compares their
 * results: the checksums, and the numbers if these differ. */
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/program/command_facts.h"
#include "cli/verify/verify.h"
#include "config/limits.h"
#include "cudnn/standalone/standalone.h"
#include "cudnn/standalone/trial.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ROWS = 32,
    ERROR_BYTES = 512,
    CHUNK = 1 << 16 /* bytes, and a multiple of any type's */
};

/* --- the choice --- */

/* If nothing can be predicted, prints a line and sets zeros: the command measures anyway. */
static void predict_rows(struct cs_verification *verification, const struct cs_to_predict *list,
                         struct cs_prediction *prediction)
{
    static struct cs_config config;
    static struct cs_rules rules;
    const size_t count = verification->rows;
    char error[ERROR_BYTES] = "cuDNN returned no description of this GPU";
    cs_command_config(&config, NULL, cs_cli_note, NULL);
    cs_limits_rules(&config, "", "", &rules);
    const struct cs_predictor predictor = {
        .profile = verification->gpu.profile,
        .mode = CS_ASK_A,
        .settings = {.rules = &rules,
                     .program = "",
                     .policy = cs_policy_find(config.policy.text),
                     .limits = cs_limits_of(&config, &rules),
                     .most = INT64_MAX}};
    if (verification->gpu.profile &&
        cs_standalone_open(verification->gpu.file, error, sizeof error) &&
        cs_predict(&predictor, list, count, prediction, error, sizeof error))
        return;
    cs_cli_complain("verify: no times are predicted: %s", error);
    memset(prediction, 0, count * sizeof *prediction);
}

static bool is_same_problem(const struct cs_problem *a, const struct cs_problem *b)
{
    int64_t left[CS_PROBLEM_WORDS], right[CS_PROBLEM_WORDS];
    int count = cs_problem_words(a, left);
    return count == cs_problem_words(b, right) &&
           memcmp(left, right, (size_t)count * sizeof *left) == 0;
}

/* Makes a row for each different problem. Returns their number. */
static size_t list_rows(const struct cs_layers *layers, struct cs_verified *row)
{
    size_t rows = 0;
    for (size_t i = 0; i < layers->count; i++) {
        bool seen = false;
        for (size_t j = 0; j < rows && !seen; j++)
            seen = is_same_problem(&row[j].layer->problem, &layers->layer[i].problem);
        if (!seen)
            row[rows++] =
                (struct cs_verified){.layer = &layers->layer[i], .verdict = CS_VERDICT_NOT_RUN};
    }
    return rows;
}

static int compare_bytes(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* First the convolutions that are predicted to be tiled; among equals the larger workspace first.
 */
static int by_tiling(const void *left, const void *right)
{
    const struct cs_verified *a = left, *b = right;
    int tiled = (b->prediction.time_ratio > 0) - (a->prediction.time_ratio > 0);
    return tiled != 0 ? tiled
                      : compare_bytes(b->prediction.offer.workspace, a->prediction.offer.workspace);
}

/* Smallest peak first. The library weighs time against memory above the largest peak so far. In
 * this order each convolution has the largest, so the library decides as if it were alone. */
static int by_peak(const void *left, const void *right)
{
    const struct cs_verified *a = left, *b = right;
    return compare_bytes(a->prediction.peak, b->prediction.peak);
}

bool cs_verify_choose(struct cs_verification *verification, const struct cs_layers *layers)
{
    struct cs_verified *row = calloc(layers->count + 1, sizeof *row);
    struct cs_to_predict *list = calloc(layers->count + 1, sizeof *list);
    struct cs_prediction *prediction = calloc(layers->count + 1, sizeof *prediction);
    bool good = row && list && prediction;
    verification->row = row;
    if (good) {
        size_t rows = verification->rows = list_rows(layers, row);
        for (size_t i = 0; i < rows; i++)
            list[i] = (struct cs_to_predict){&row[i].layer->problem, i, CS_NOT_RECORDED};
        predict_rows(verification, list, prediction);
        for (size_t i = 0; i < rows; i++)
            row[i].prediction = prediction[i];
        if (rows > MOST_ROWS) {
            qsort(row, rows, sizeof *row, by_tiling);
            verification->left_out = rows - MOST_ROWS;
            verification->rows = MOST_ROWS;
        }
        qsort(row, verification->rows, sizeof *row, by_peak);
    }
    free(prediction);
    free(list);
    return good;
}

/* --- the verdict --- */

static bool has_status(const cJSON *measured, const char *status)
{
    const char *text = cs_json_text(measured, "status");
    return text && strcmp(text, status) == 0;
}

static bool is_ok(const cJSON *measured)
{
    return has_status(measured, "ok");
}

static bool is_same_text(const cJSON *a, const char *name_a, const cJSON *b, const char *name_b)
{
    const char *left = cs_json_text(a, name_a), *right = cs_json_text(b, name_b);
    return left && right && strcmp(left, right) == 0;
}

enum cs_verified_as cs_verify_judge(const struct cs_verified *row, bool cut_short)
{
    const cJSON *untiled = row->measured[CS_VERIFY_UNTILED],
                *tiled = row->measured[CS_VERIFY_TILED], *again = row->measured[CS_VERIFY_AGAIN];
    if (!is_ok(untiled) || (!tiled && cut_short) || has_status(tiled, "no time") ||
        has_status(tiled, "out of memory") || has_status(tiled, "too large"))
        return CS_VERDICT_NOT_RUN;
    if (!is_ok(tiled))
        return CS_VERDICT_FAILED;
    if (!is_same_text(untiled, "checksum", untiled, "repeated") ||
        (is_ok(again) && !is_same_text(untiled, "checksum", again, "checksum")))
        return CS_VERDICT_VARIES;
    return is_same_text(untiled, "checksum", tiled, "checksum") &&
                   is_same_text(tiled, "checksum", tiled, "repeated")
               ? CS_VERDICT_EQUAL
               : CS_VERDICT_DIFFERS;
}

/* --- the runs --- */

/* Runs the chosen rows in their order. Line i becomes measured[i]; the caller owns it. */
static bool run_rows(const struct cs_verification *verification, enum cs_verify_side side,
                     const size_t *chosen, size_t count, FILE *results, double end,
                     cJSON **measured, bool *in_time_p)
{
    const struct cs_layer **layer = calloc(count + 1, sizeof *layer);
    for (size_t i = 0; layer && i < count; i++)
        layer[i] = verification->row[chosen[i]].layer;
    const struct cs_verify_job job = {.verification = verification,
                                      .side = side,
                                      .layer = layer,
                                      .count = count,
                                      .results = results,
                                      .measured = measured};
    if (!layer)
        cs_cli_complain("verify: out of memory");
    bool ran = layer && cs_verify_run(&job, end, in_time_p);
    free(layer);
    return ran;
}

/* Measures the chosen rows on one side. */
static bool measure_rows(struct cs_verification *verification, enum cs_verify_side side,
                         const size_t *chosen, size_t count, double end, bool *in_time_p)
{
    cJSON *measured[MOST_ROWS] = {NULL};
    bool ran = run_rows(verification, side, chosen, count, NULL, end, measured, in_time_p);
    for (size_t i = 0; i < count; i++)
        verification->row[chosen[i]].measured[side] = measured[i];
    return ran;
}

/* The rows are in the order of their memory, in which the library has to decide. The first run goes
 * from the largest to the smallest, so that a lack of time drops small ones from all runs.
 * *in_time_p is of the run with the library. */
static bool measure_sides(struct cs_verification *verification, double start, double seconds,
                          bool *in_time_p)
{
    /* Ends of the runs, as shares of the time. The rest is for comparing numbers. */
    static const double shares[CS_VERIFY_SIDES] = {0.25, 0.65, 0.85};
    size_t chosen[MOST_ROWS] = {0}, rows = verification->rows, count = 0;
    bool other_in_time;
    for (size_t i = 0; i < rows; i++)
        chosen[i] = rows - 1 - i;
    if (!measure_rows(verification, CS_VERIFY_UNTILED, chosen, rows,
                      start + seconds * shares[CS_VERIFY_UNTILED], &other_in_time))
        return false;
    for (size_t i = 0; i < rows; i++)
        if (is_ok(verification->row[i].measured[CS_VERIFY_UNTILED]))
            chosen[count++] = i;
    return count == 0 || (measure_rows(verification, CS_VERIFY_TILED, chosen, count,
                                       start + seconds * shares[CS_VERIFY_TILED], in_time_p) &&
                          measure_rows(verification, CS_VERIFY_AGAIN, chosen, count,
                                       start + seconds * shares[CS_VERIFY_AGAIN], &other_in_time));
}

/* --- numbers --- */

/* Shares of the largest number. Sums in another order differ by less, a missing or wrong part by
 * far more. */
static const double rounding[CS_DTYPES] = {
    [CS_F32] = 0x1p-16, [CS_F16] = 0x1p-9, [CS_BF16] = 0x1p-6};

static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static void compare_number(struct cs_difference *difference, double untiled, double tiled)
{
    bool same = bits_of(untiled) == bits_of(tiled);
    difference->elements++;
    difference->differing += !same;
    if (isfinite(untiled))
        difference->value = fmax(difference->value, fabs(untiled));
    if (!same)
        difference->largest =
            fmax(difference->largest,
                 isfinite(untiled - tiled) ? fabs(untiled - tiled) : (double)INFINITY);
}

/* Reads the next `bytes` of both files. False if a file ends before. */
static bool compare_files(FILE *dump[2], enum cs_dtype dtype, int64_t bytes,
                          struct cs_difference *difference)
{
    char chunk[2][CHUNK];
    *difference = (struct cs_difference){.known = true};
    for (int64_t left = bytes; left > 0;) {
        size_t part = left < CHUNK ? (size_t)left : CHUNK;
        if (fread(chunk[0], 1, part, dump[0]) != part || fread(chunk[1], 1, part, dump[1]) != part)
            return difference->known = false;
        for (size_t i = 0; i < part / (size_t)cs_problem_dtype_size(dtype); i++)
            compare_number(difference, cs_trial_number(dtype, chunk[0], i),
                           cs_trial_number(dtype, chunk[1], i));
        left -= (int64_t)part;
    }
    return true;
}

/* Compares the numbers of the chosen rows, whose results are in both files, one after the other.
 * Sets the differences, and verdicts that are only rounding. */
static void compare_rows(struct cs_verification *verification, const size_t *chosen, size_t count,
                         FILE *dump[2])
{
    bool known = true;
    rewind(dump[0]);
    rewind(dump[1]);
    for (size_t i = 0; known && i < count; i++) {
        struct cs_verified *row = &verification->row[chosen[i]];
        const struct cs_problem *problem = &row->layer->problem;
        enum cs_dtype dtype = problem->tensor[cs_result(problem->direction)].dtype;
        double bytes = cs_json_double(row->measured[CS_VERIFY_UNTILED], "result_bytes");
        known = compare_files(dump, dtype, (int64_t)bytes, &row->difference);
        if (known && row->difference.largest <= rounding[dtype] * row->difference.value)
            row->verdict = CS_VERDICT_ROUNDED;
    }
}

/* True if all of them ran and wrote their results. */
static bool write_results(const struct cs_verification *verification, enum cs_verify_side side,
                          const size_t *chosen, size_t count, FILE *dump, double end)
{
    cJSON *measured[MOST_ROWS] = {NULL};
    bool in_time = false;
    bool good = run_rows(verification, side, chosen, count, dump, end, measured, &in_time);
    for (size_t i = 0; i < count; i++) {
        good = good && is_ok(measured[i]);
        cJSON_Delete(measured[i]);
    }
    return good && in_time;
}

/* Runs convolutions with different checksums again, writes their results to unnamed files, and
 * compares all numbers. Without enough time or space the verdict stays. */
static void compare_numbers(struct cs_verification *verification, double end)
{
    size_t chosen[MOST_ROWS], count = 0;
    for (size_t i = 0; i < verification->rows; i++)
        if (verification->row[i].verdict == CS_VERDICT_DIFFERS)
            chosen[count++] = i;
    if (count == 0)
        return;
    FILE *dump[2] = {tmpfile(), tmpfile()};
    double middle = (cs_verify_seconds() + end) / 2;
    if (dump[0] && dump[1] &&
        write_results(verification, CS_VERIFY_UNTILED, chosen, count, dump[0], middle) &&
        write_results(verification, CS_VERIFY_TILED, chosen, count, dump[1], end))
        compare_rows(verification, chosen, count, dump);
    for (int side = 0; side < 2; side++)
        if (dump[side])
            (void)fclose(dump[side]);
}

bool cs_verify_measure(struct cs_verification *verification, double seconds)
{
    double start = cs_verify_seconds(), most = seconds > 2 ? seconds : 2;
    bool in_time = true, ran = measure_sides(verification, start, most, &in_time);
    for (size_t i = 0; ran && i < verification->rows; i++) {
        struct cs_verified *row = &verification->row[i];
        row->verdict = cs_verify_judge(row, !in_time);
        row->tiled =
            cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row->measured[CS_VERIFY_TILED], "tiled"));
    }
    if (ran)
        compare_numbers(verification, start + most);
    return ran;
}

double cs_verify_time(const struct cs_verified *row, enum cs_verify_side side)
{
    double us = cs_json_double(row->measured[side], "median_us"),
           again = cs_json_double(row->measured[CS_VERIFY_AGAIN], "median_us");
    return side == CS_VERIFY_TILED || us <= 0 || again <= 0 ? us : (us + again) / 2;
}

double cs_verify_ratio(const struct cs_verified *row)
{
    double untiled = cs_verify_time(row, CS_VERIFY_UNTILED);
    return untiled > 0 ? cs_verify_time(row, CS_VERIFY_TILED) / untiled : 0;
}
