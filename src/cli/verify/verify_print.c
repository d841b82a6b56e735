/* Prints the results of `convshim verify`: the table, the JSON file, the answer. */
#include "account/account.h"
#include "account/outcome.h"
#include "base/version.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/output.h"
#include "cli/common/table.h"
#include "cli/verify/verify.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    FORMAT_VERSION = 1,
    RATIO_TEXT = 16
};

/* Sums over the convolutions that ran as tiles and whose results were compared. */
struct sums {
    size_t count[CS_VERDICTS], tiled;
    double us[CS_VERIFY_SIDES];
    double predicted; /* microseconds with convshim: the measured untiled time times the predicted
                         ratio */
};

static const char *const verdict_names[CS_VERDICTS] = {
    "equal", "last bits differ", "DIFFERS", "varies untiled", "FAILED", "not run"};

static double time_of(const struct cs_verified *row, enum cs_verify_side side)
{
    return cs_verify_number(row->measured[side], "median_us");
}

static bool compared(const struct cs_verified *row)
{
    return row->verdict != CS_VERDICT_FAILED && row->verdict != CS_VERDICT_NOT_RUN;
}

static double ratio_of(const struct cs_verified *row)
{
    double untiled = time_of(row, CS_VERIFY_UNTILED);
    return compared(row) && untiled > 0 ? time_of(row, CS_VERIFY_TILED) / untiled : 0;
}

static struct sums add_up(const struct cs_verification *verification)
{
    struct sums sums = {.tiled = 0};
    for (size_t i = 0; i < verification->rows; i++) {
        const struct cs_verified *row = &verification->row[i];
        sums.count[row->verdict]++;
        if (!row->tiled || !compared(row))
            continue;
        double predicted = row->prediction.time_ratio;
        sums.tiled++;
        sums.us[CS_VERIFY_UNTILED] += time_of(row, CS_VERIFY_UNTILED);
        sums.us[CS_VERIFY_TILED] += time_of(row, CS_VERIFY_TILED);
        sums.predicted = predicted > 0 && sums.predicted >= 0
                             ? sums.predicted + predicted * time_of(row, CS_VERIFY_UNTILED)
                             : -1;
    }
    return sums;
}

/* --- the table --- */

static const struct cs_column columns[] = {
    {"name", "convolution", CS_CELL_TEXT},     {"text", "shape", CS_CELL_TEXT},
    {"required", "required", CS_CELL_BYTES},   {"reported", "reported", CS_CELL_BYTES},
    {"tiles", "tiles", CS_CELL_COUNT},         {"untiled", "untiled", CS_CELL_TEXT},
    {"with", "with convshim", CS_CELL_TEXT},   {"ratio", "measured", CS_CELL_RATIO},
    {"predicted", "predicted", CS_CELL_RATIO}, {"result", "result", CS_CELL_TEXT},
};

static int64_t workspace_of(const struct cs_verified *row, enum cs_verify_side side)
{
    return cJSON_HasObjectItem(row->measured[side], "workspace")
               ? (int64_t)cs_verify_number(row->measured[side], "workspace")
               : -1;
}

static const char *time_text(const struct cs_verified *row, enum cs_verify_side side,
                             char text[CS_BYTES_TEXT])
{
    double us = time_of(row, side);
    return us > 0 ? cs_table_time_text(text, (int64_t)(us * 1e3)) : "-";
}

/* Why there is no result, in a word of the line that has none. */
static const char *result_text(const struct cs_verified *row, char *text, size_t size)
{
    const char *status = cs_verify_text(row->measured[CS_VERIFY_UNTILED], "status");
    if (row->verdict == CS_VERDICT_FAILED)
        status = cs_verify_text(row->measured[CS_VERIFY_TILED], "status");
    else if (row->verdict != CS_VERDICT_NOT_RUN)
        return verdict_names[row->verdict];
    if (!status || strcmp(status, "ok") == 0)
        status = row->verdict == CS_VERDICT_FAILED ? "the process ended" : "no time";
    snprintf(text, size, "%s: %s", verdict_names[row->verdict], status);
    return text;
}

static void add_row(struct cs_table *table, const struct cs_verified *row)
{
    char untiled[CS_BYTES_TEXT], with[CS_BYTES_TEXT], result[64];
    char shape[CS_PROBLEM_TEXT];
    cs_site_problem_text(&row->layer->problem, shape, sizeof shape);
    const bool named = strcmp(shape, row->layer->name) != 0;
    cs_table_add(table, (const struct cs_value[]){
                            {.text = row->layer->name},
                            {.text = named ? shape : ""},
                            {.number = workspace_of(row, CS_VERIFY_UNTILED)},
                            {.number = workspace_of(row, CS_VERIFY_TILED)},
                            {.number = row->tiled ? (int64_t)cs_verify_number(
                                                        row->measured[CS_VERIFY_TILED], "tiles")
                                                  : -1},
                            {.text = time_text(row, CS_VERIFY_UNTILED, untiled)},
                            {.text = time_text(row, CS_VERIFY_TILED, with)},
                            {.ratio = ratio_of(row)},
                            {.ratio = row->prediction.time_ratio},
                            {.text = result_text(row, result, sizeof result)},
                        });
}

static bool print_table(const struct cs_verification *verification)
{
    struct cs_table table;
    cs_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < verification->rows; i++)
        add_row(&table, &verification->row[i]);
    printf("%s, cuDNN %s, convshim " CS_VERSION ". Times are medians of one call.\n\n",
           verification->gpu.name, verification->gpu.cudnn);
    bool good = cs_table_print(&table, CS_FORMAT_TEXT, stdout);
    cs_table_fini(&table);
    if (verification->left_out > 0)
        printf("%zu more convolutions of the list were not run, because they require less "
               "workspace.\n",
               verification->left_out);
    return good;
}

/* --- the file --- */

static cJSON *difference_json(const struct cs_difference *difference)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "elements", (double)difference->elements);
    cJSON_AddNumberToObject(object, "differing", (double)difference->differing);
    cJSON_AddNumberToObject(object, "largest_difference", difference->largest);
    cJSON_AddNumberToObject(object, "largest_number", difference->value);
    return object;
}

static cJSON *row_json(const struct cs_verified *row)
{
    const struct cs_prediction *prediction = &row->prediction;
    cJSON *object = cJSON_CreateObject(), *predicted = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", row->layer->name);
    cJSON_AddStringToObject(object, "result", verdict_names[row->verdict]);
    cJSON_AddBoolToObject(object, "tiled", row->tiled);
    if (ratio_of(row) > 0)
        cJSON_AddNumberToObject(object, "time_ratio", ratio_of(row));
    if (prediction->seconds > 0) {
        cJSON_AddNumberToObject(predicted, "untiled_us", prediction->seconds * 1e6);
        cJSON_AddNumberToObject(predicted, "time_ratio",
                                prediction->time_ratio > 0 ? prediction->time_ratio : 1);
        cJSON_AddNumberToObject(predicted, "required", (double)prediction->offer.workspace);
        cJSON_AddNumberToObject(predicted, "reported",
                                (double)(prediction->tiled_peak - prediction->floor));
    }
    if (row->difference.known)
        cs_json_add(object, "difference", difference_json(&row->difference));
    cs_json_add(object, "predicted", predicted);
    static const char *const names[CS_VERIFY_SIDES] = {"untiled", "with_convshim"};
    for (int side = 0; side < CS_VERIFY_SIDES; side++)
        if (row->measured[side])
            cs_json_add(object, names[side], cJSON_Duplicate(row->measured[side], true));
    return object;
}

/* A verification with its answer. */
struct answered {
    const struct cs_verification *verification;
    const char *answer;
};

static bool write_json(const void *state, FILE *out)
{
    const struct answered *answered = state;
    const struct cs_verification *verification = answered->verification;
    cs_json_begin();
    cJSON *root = cJSON_CreateObject(), *rows = cJSON_CreateArray();
    cJSON_AddNumberToObject(root, "version", FORMAT_VERSION);
    cJSON_AddStringToObject(root, "convshim", CS_VERSION);
    cJSON_AddStringToObject(root, "answer", answered->answer);
    cJSON_AddNumberToObject(root, "seconds", verification->seconds);
    cJSON_AddNumberToObject(root, "left_out", (double)verification->left_out);
    if (verification->options->given.items)
        cJSON_AddStringToObject(root, "options", verification->options->given.items);
    cs_json_add(root, "gpu", cJSON_Duplicate(verification->gpu.json, true));
    for (size_t i = 0; i < verification->rows; i++)
        cs_json_add(rows, NULL, row_json(&verification->row[i]));
    cs_json_add(root, "convolutions", rows);
    return cs_json_print(root, out);
}

static bool write_file(const struct cs_verification *verification, const char *answer)
{
    const char *path = verification->options->out;
    if (!path)
        return true;
    bool good = cs_output_write(path, write_json, &(struct answered){verification, answer});
    if (!good)
        cs_cli_complain("verify: --out %s: %s", path, strerror(errno));
    return good;
}

/* --- the answer --- */

/* "12 % slower" */
static const char *slower_text(double with, double without, char text[RATIO_TEXT])
{
    double percent = without > 0 ? (with / without - 1) * 100 : 0;
    if (fabs(percent) < 0.5)
        snprintf(text, RATIO_TEXT, "as fast");
    else
        snprintf(text, RATIO_TEXT, "%.0f %% %s", fabs(percent), percent > 0 ? "slower" : "faster");
    return text;
}

static const struct cs_verified *first_of(const struct cs_verification *verification,
                                          enum cs_verdict verdict)
{
    for (size_t i = 0; i < verification->rows; i++)
        if (verification->row[i].verdict == verdict)
            return &verification->row[i];
    return NULL;
}

static void say_unsafe(const struct cs_verification *verification, const struct sums *sums,
                       const struct cs_verified *row, char *text, size_t size)
{
    char how[128] = "it fails only with convshim";
    const struct cs_difference *difference = &row->difference;
    if (row->verdict == CS_VERDICT_DIFFERS && difference->known)
        snprintf(how, sizeof how,
                 "%" PRId64 " of %" PRId64
                 " numbers differ with convshim, by up to %.2g (largest number %.2g)",
                 difference->differing, difference->elements, difference->largest,
                 difference->value);
    else if (row->verdict == CS_VERDICT_DIFFERS)
        snprintf(how, sizeof how, "some bits of the result differ with convshim");
    snprintf(text, size,
             "Not safe: %s: %s. This affects %zu of %zu convolutions. Please report it with the "
             "file of --out.",
             row->layer->name, how,
             sums->count[CS_VERDICT_DIFFERS] + sums->count[CS_VERDICT_FAILED], verification->rows);
}

static void say_safe(const struct cs_verification *verification, const struct sums *sums,
                     char *text, size_t size)
{
    char slower[RATIO_TEXT], predicted[RATIO_TEXT], rounded[64] = "", expected[48] = "";
    if (sums->count[CS_VERDICT_ROUNDED] > 0)
        snprintf(rounded, sizeof rounded, ", %zu differ in the last bits",
                 sums->count[CS_VERDICT_ROUNDED]);
    if (sums->predicted > 0)
        snprintf(expected, sizeof expected, " (predicted: %s)",
                 slower_text(sums->predicted, sums->us[CS_VERIFY_UNTILED], predicted));
    snprintf(text, size,
             "Safe: %zu of %zu results equal%s. The %zu tiled convolutions together are %s%s.",
             sums->count[CS_VERDICT_EQUAL], verification->rows, rounded, sums->tiled,
             slower_text(sums->us[CS_VERIFY_TILED], sums->us[CS_VERIFY_UNTILED], slower), expected);
}

/* True if it is safe. */
static bool answer_in_words(const struct cs_verification *verification, char *text, size_t size)
{
    const struct sums sums = add_up(verification);
    const struct cs_verified *row = first_of(verification, CS_VERDICT_DIFFERS);
    if (!row)
        row = first_of(verification, CS_VERDICT_FAILED);
    if (row) {
        say_unsafe(verification, &sums, row, text, size);
        return false;
    }
    if (sums.count[CS_VERDICT_EQUAL] + sums.count[CS_VERDICT_ROUNDED] == 0) {
        snprintf(text, size, "No result: no convolution could be compared.");
        return false;
    }
    if (sums.tiled == 0) {
        snprintf(text, size,
                 "No result: convshim tiled none of these convolutions. To tile those above 64 "
                 "MiB: --workspace 64MiB");
        return false;
    }
    say_safe(verification, &sums, text, size);
    return true;
}

int cs_verify_conclude(const struct cs_verification *verification)
{
    char answer[512];
    bool safe = answer_in_words(verification, answer, sizeof answer);
    if (!print_table(verification)) {
        cs_cli_complain("verify: out of memory");
        return CS_CLI_NO;
    }
    bool written = write_file(verification, answer);
    puts("");
    cs_cli_put(answer, stdout);
    puts("");
    return safe && written ? CS_CLI_OK : CS_CLI_NO;
}
