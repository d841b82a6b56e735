/* Chooses the convolutions to run, measures them without and with the library, and compares their
 * results: the checksums, and the numbers if these differ. */
#include "base/clock.h"
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
    ERROR_BYTES = 512,
    CHUNK = 1 << 16 /* bytes, and a multiple of any type's */
};

const char *const cs_verify_side_names[CS_VERIFY_SIDES] = {"untiled", "with_convshim",
                                                           "untiled_again"};
const char *const cs_verdict_names[CS_VERDICTS] = {"equal",   "last bits differ",
                                                   "DIFFERS", "no result: the untiled runs differ",
                                                   "FAILED",  "not run"};

const cJSON *cs_verified_line(const struct cs_verified *row, enum cs_verify_side side)
{
    return cs_json_at(row->json, cs_verify_side_names[side]);
}

double cs_verified_time(const struct cs_verified *row, enum cs_verify_side side)
{
    double us = cs_json_double(cs_verified_line(row, side), "median_us"),
           again = cs_json_double(row->json, "untiled_again.median_us");
    return side == CS_VERIFY_TILED || us <= 0 || again <= 0 ? us : (us + again) / 2;
}

/* --- the choice --- */

/* Predicts all layers. If nothing can be predicted, prints a line and sets zeros: the command
 * measures anyway. */
static void predict_layers(const struct cs_verification *verification,
                           const struct cs_layers *layers, struct cs_prediction *prediction)
{
    static struct cs_config config;
    static struct cs_rules rules;
    char error[ERROR_BYTES] = "cuDNN returned no description of this GPU";
    cs_command_config(&config, NULL, cs_cli_note, NULL);
    cs_limits_rules(&config, "", "", &rules);
    const struct cs_predictor predictor = {
        .profile = verification->profile,
        .alone = true,
        .settings = {.rules = &rules,
                     .program = "",
                     .policy = cs_policy_find(config.policy.text),
                     .limits = cs_limits_of(&config, &rules),
                     .most = INT64_MAX}};
    if (verification->profile && cs_standalone_open(verification->file, error, sizeof error) &&
        cs_predict(&predictor, layers, prediction, error, sizeof error))
        return;
    cs_cli_complain("verify: no times are predicted: %s", error);
    memset(prediction, 0, layers->count * sizeof *prediction);
}

/* Makes a row for each different problem. Returns their number. */
static size_t list_rows(const struct cs_layers *layers, struct cs_verified *row)
{
    size_t rows = 0;
    for (size_t i = 0; i < layers->count; i++) {
        bool seen = false;
        for (size_t j = 0; j < rows && !seen; j++)
            seen = cs_problem_same(&row[j].layer->problem, &layers->layer[i].problem);
        if (!seen)
            row[rows++].layer = &layers->layer[i];
    }
    return rows;
}

/* Begins a row's JSON with its prediction. */
static void add_prediction(struct cs_verified *row, const struct cs_prediction *prediction)
{
    row->json = cJSON_CreateObject();
    row->verdict = CS_VERDICT_NOT_RUN;
    cJSON_AddStringToObject(row->json, "name", row->layer->name);
    cJSON *predicted = cJSON_AddObjectToObject(row->json, "predicted");
    if (prediction->untiled.least <= 0)
        return;
    cJSON_AddNumberToObject(predicted, "time_ratio",
                            prediction->ratio.least > 0 ? prediction->ratio.least : 1);
    cJSON_AddNumberToObject(predicted, "time_ratio_most",
                            prediction->ratio.most > 0 ? prediction->ratio.most : 1);
    cJSON_AddNumberToObject(predicted, "reported",
                            (double)(prediction->tiled_peak - prediction->floor));
}

/* Makes the rows with their predictions, and adds them to the JSON. */
static void make_rows(struct cs_verification *verification, const struct cs_layers *layers,
                      struct cs_prediction *prediction)
{
    struct cs_verified *row = verification->row;
    const size_t rows = verification->rows = list_rows(layers, row);
    cJSON *array = cJSON_AddArrayToObject(verification->json, "convolutions");
    predict_layers(verification, layers, prediction);
    for (size_t i = 0; i < rows; i++) {
        add_prediction(&row[i], &prediction[row[i].layer - layers->layer]);
        cs_json_add(array, NULL, row[i].json);
    }
}

bool cs_verify_choose(struct cs_verification *verification, const struct cs_layers *layers)
{
    const size_t most = layers->count + 1;
    struct cs_prediction *prediction = calloc(most, sizeof *prediction);
    verification->row = calloc(most, sizeof *verification->row);
    verification->chosen = calloc(most, sizeof *verification->chosen);
    bool good = prediction && verification->row && verification->chosen;
    if (good)
        make_rows(verification, layers, prediction);
    free(prediction);
    return good && cs_json_complete();
}

/* --- the verdict --- */

/* True if a member of the row's JSON is this text, or the same text as another one. */
static bool is_text(const struct cs_verified *row, const char *way, const char *text)
{
    const char *found = cs_json_text(row->json, way);
    return found && text && strcmp(found, text) == 0;
}

static bool is_same(const struct cs_verified *row, const char *way, const char *other)
{
    return is_text(row, way, cs_json_text(row->json, other));
}

enum cs_verified_as cs_verify_judge(const struct cs_verified *row, bool cut_short)
{
    const char *tiled = cs_json_text(row->json, "with_convshim.status");
    if (!is_text(row, "untiled.status", "ok") || (!tiled && cut_short) ||
        is_text(row, "with_convshim.status", "no time") ||
        is_text(row, "with_convshim.status", "out of memory") ||
        is_text(row, "with_convshim.status", "too large for --memory"))
        return CS_VERDICT_NOT_RUN;
    if (!is_text(row, "with_convshim.status", "ok"))
        return CS_VERDICT_FAILED;
    if (!is_same(row, "untiled.checksum", "untiled.repeated") ||
        (is_text(row, "untiled_again.status", "ok") &&
         !is_same(row, "untiled.checksum", "untiled_again.checksum")))
        return CS_VERDICT_VARIES;
    return is_same(row, "untiled.checksum", "with_convshim.checksum") &&
                   is_same(row, "with_convshim.checksum", "with_convshim.repeated")
               ? CS_VERDICT_EQUAL
               : CS_VERDICT_DIFFERS;
}

/* --- the runs --- */

/* Makes the three runs. The later ones have the rows that the first one ran. *in_time_p is of the
 * run with the library. False after printing the reason. */
static bool measure_sides(struct cs_verification *verification, double start, double seconds,
                          bool *in_time_p)
{
    /* Ends of the runs, as shares of the time. The rest is for comparing numbers. */
    static const double shares[CS_VERIFY_SIDES] = {0.25, 0.65, 0.85};
    struct cs_verified **chosen = verification->chosen;
    struct cs_verify_job job = {.verification = verification,
                                .side = CS_VERIFY_UNTILED,
                                .row = chosen,
                                .count = verification->rows};
    bool in_time;
    for (size_t i = 0; i < job.count; i++)
        chosen[i] = &verification->row[i];
    if (!cs_verify_run(&job, start + seconds * shares[CS_VERIFY_UNTILED], &in_time))
        return false;
    job.count = 0;
    for (size_t i = 0; i < verification->rows; i++)
        if (is_text(&verification->row[i], "untiled.status", "ok"))
            chosen[job.count++] = &verification->row[i];
    if (job.count == 0)
        return true;
    job.side = CS_VERIFY_TILED;
    if (!cs_verify_run(&job, start + seconds * shares[CS_VERIFY_TILED], in_time_p))
        return false;
    job.side = CS_VERIFY_AGAIN;
    return cs_verify_run(&job, start + seconds * shares[CS_VERIFY_AGAIN], &in_time);
}

/* --- numbers --- */

/* The largest differences that count as rounding, as shares of the largest number. Sums in another
 * order differ by less, a missing or wrong part by far more. */
static const double rounding[CS_DTYPES] = {
    [CS_F32] = 0x1p-16, [CS_F16] = 0x1p-9, [CS_BF16] = 0x1p-6};

/* The difference between the numbers of two results. */
struct difference {
    int64_t elements, differing;
    double largest, value; /* the largest difference, and the largest number */
};

/* Adds a pair of numbers. `same`: their bits are equal. */
static void compare_numbers(struct difference *difference, double untiled, double tiled, bool same)
{
    const double distance = fabs(untiled - tiled);
    difference->elements++;
    difference->differing += !same;
    if (isfinite(untiled))
        difference->value = fmax(difference->value, fabs(untiled));
    if (!same)
        difference->largest =
            fmax(difference->largest, isfinite(distance) ? distance : (double)INFINITY);
}

/* Compares the next `bytes` of both files. False if a file ends before. */
static bool compare_files(FILE *dump[2], enum cs_dtype dtype, int64_t bytes,
                          struct difference *difference)
{
    char chunk[2][CHUNK];
    const size_t size = (size_t)cs_problem_dtype_size(dtype);
    for (int64_t left = bytes; left > 0;) {
        size_t part = left < CHUNK ? (size_t)left : CHUNK;
        if (fread(chunk[0], 1, part, dump[0]) != part || fread(chunk[1], 1, part, dump[1]) != part)
            return false;
        for (size_t at = 0; at < part; at += size)
            compare_numbers(difference, cs_trial_number(dtype, chunk[0] + at),
                            cs_trial_number(dtype, chunk[1] + at),
                            memcmp(chunk[0] + at, chunk[1] + at, size) == 0);
        left -= (int64_t)part;
    }
    return true;
}

static int64_t result_bytes(const struct cs_verified *row)
{
    return cs_json_whole_at(row->json, "untiled.result_bytes", 0);
}

/* Sets the difference of a row whose result is next in both files, and its verdict if it differs by
 * rounding only. False if a file ends before. */
static bool compare_row(struct cs_verified *row, FILE *dump[2])
{
    const struct cs_problem *problem = &row->layer->problem;
    const enum cs_dtype dtype = problem->tensor[cs_result(problem->direction)].dtype;
    struct difference difference = {.elements = 0};
    if (!compare_files(dump, dtype, result_bytes(row), &difference))
        return false;
    cJSON *json = cJSON_AddObjectToObject(row->json, "difference");
    cJSON_AddNumberToObject(json, "elements", (double)difference.elements);
    cJSON_AddNumberToObject(json, "differing", (double)difference.differing);
    cJSON_AddNumberToObject(json, "largest_difference", difference.largest);
    cJSON_AddNumberToObject(json, "largest_number", difference.value);
    if (difference.largest <= rounding[dtype] * difference.value)
        row->verdict = CS_VERDICT_ROUNDED;
    return true;
}

/* Runs one side of the job's rows again, for their results only: the rows keep their lines. True if
 * all results are in the file, which is then read from its begin. */
static bool write_results(struct cs_verify_job *job, enum cs_verify_side side, FILE *dump,
                          double end)
{
    int64_t bytes = 0;
    bool in_time;
    job->side = side;
    job->results = dump;
    for (size_t i = 0; i < job->count; i++)
        bytes += result_bytes(job->row[i]);
    return dump && cs_verify_run(job, end, &in_time) && fseeko(dump, 0, SEEK_END) == 0 &&
           ftello(dump) == bytes && fseeko(dump, 0, SEEK_SET) == 0;
}

/* Runs convolutions with different checksums again, and compares all numbers of their results.
 * Without enough time or space the verdict stays. */
static void compare_results(struct cs_verification *verification, double end)
{
    struct cs_verify_job job = {.verification = verification, .row = verification->chosen};
    for (size_t i = 0; i < verification->rows; i++)
        if (verification->row[i].verdict == CS_VERDICT_DIFFERS)
            verification->chosen[job.count++] = &verification->row[i];
    if (job.count == 0)
        return;
    FILE *dump[2] = {tmpfile(), tmpfile()};
    double middle = (cs_clock_seconds() + end) / 2;
    bool good = write_results(&job, CS_VERIFY_UNTILED, dump[0], middle) &&
                write_results(&job, CS_VERIFY_TILED, dump[1], end);
    for (size_t i = 0; i < job.count && good; i++)
        good = compare_row(job.row[i], dump);
    for (int side = 0; side < 2; side++)
        if (dump[side])
            (void)fclose(dump[side]);
}

static void add_result(struct cs_verified *row)
{
    const double untiled = cs_verified_time(row, CS_VERIFY_UNTILED),
                 tiled = cs_verified_time(row, CS_VERIFY_TILED);
    cJSON_AddStringToObject(row->json, "result", cs_verdict_names[row->verdict]);
    cJSON_AddBoolToObject(row->json, "tiled",
                          cJSON_IsTrue(cs_json_at(row->json, "with_convshim.tiled")));
    if (untiled > 0 && tiled > 0)
        cJSON_AddNumberToObject(row->json, "time_ratio", tiled / untiled);
}

bool cs_verify_measure(struct cs_verification *verification, double seconds)
{
    double start = cs_clock_seconds(), most = seconds > 2 ? seconds : 2;
    bool in_time = true;
    if (!measure_sides(verification, start, most, &in_time))
        return false;
    for (size_t i = 0; i < verification->rows; i++)
        verification->row[i].verdict = cs_verify_judge(&verification->row[i], !in_time);
    compare_results(verification, start + most);
    for (size_t i = 0; i < verification->rows; i++)
        add_result(&verification->row[i]);
    return true;
}
