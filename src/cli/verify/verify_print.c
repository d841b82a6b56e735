/* Prints the results of `convshim verify`: the table, the ladder, the answer. */
#include "account/account.h"
#include "account/outcome.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/table.h"
#include "cli/verify/verify.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    RATIO_TEXT = 16
};

const char *const cs_verdict_names[CS_VERDICTS] = {"equal",   "last bits differ",
                                                   "DIFFERS", "no result: the untiled runs differ",
                                                   "FAILED",  "not run"};

/* Sums over the convolutions that ran as tiles and whose results were compared. */
struct sums {
    size_t count[CS_VERDICTS], tiled;
    double us[2];     /* untiled, tiled */
    double predicted; /* microseconds with convshim: the measured untiled time times the predicted
                         ratio; below 0: not all are predicted */
};

static struct sums add_up(const struct cs_verification *verification)
{
    struct sums sums = {.tiled = 0};
    for (size_t i = 0; i < verification->rows; i++) {
        const struct cs_verified *row = &verification->row[i];
        double predicted = row->prediction.time_ratio, us = cs_verify_time(row, CS_VERIFY_UNTILED);
        sums.count[row->verdict]++;
        if (!row->tiled || cs_verify_ratio(row) <= 0)
            continue;
        sums.tiled++;
        sums.us[0] += us;
        sums.us[1] += cs_verify_time(row, CS_VERIFY_TILED);
        sums.predicted =
            predicted > 0 && sums.predicted >= 0 ? sums.predicted + predicted * us : -1;
    }
    return sums;
}

/* --- the table --- */

static const struct cs_column columns[] = {
    {"name", "convolution", CS_CELL_TEXT},     {"text", "shape", CS_CELL_TEXT},
    {"required", "required", CS_CELL_BYTES},   {"reported", "reported", CS_CELL_BYTES},
    {"tiles", "tiles", CS_CELL_TEXT},          {"untiled", "untiled", CS_CELL_TEXT},
    {"with", "with convshim", CS_CELL_TEXT},   {"ratio", "measured", CS_CELL_RATIO},
    {"predicted", "predicted", CS_CELL_RATIO}, {"spread", "spread", CS_CELL_TEXT},
    {"result", "result", CS_CELL_TEXT},
};

static int64_t workspace_of(const struct cs_verified *row, enum cs_verify_side side)
{
    return cJSON_HasObjectItem(row->measured[side], "workspace")
               ? (int64_t)cs_json_double(row->measured[side], "workspace")
               : -1;
}

static const char *time_text(const struct cs_verified *row, enum cs_verify_side side,
                             char text[CS_BYTES_TEXT])
{
    double us = cs_verify_time(row, side);
    return us > 0 ? cs_table_time_text(text, (int64_t)(us * 1e3)) : "-";
}

/* The largest distance from the 10th to the 90th percentile of a run, in percent of its median. */
static const char *spread_text(const struct cs_verified *row, char text[RATIO_TEXT])
{
    double most = 0;
    for (int side = 0; side < CS_VERIFY_SIDES; side++) {
        const cJSON *line = row->measured[side];
        double median = cs_json_double(line, "median_us");
        if (median > 0)
            most = fmax(most,
                        (cs_json_double(line, "p90_us") - cs_json_double(line, "p10_us")) / median);
    }
    snprintf(text, RATIO_TEXT, cs_verify_ratio(row) > 0 ? "%.0f %%" : "-", most * 100);
    return text;
}

static const char *tiles_text(const struct cs_verified *row, char text[CS_BYTES_TEXT])
{
    const cJSON *line = row->measured[CS_VERIFY_TILED];
    const char *axis = cs_json_text(line, "axis");
    snprintf(text, CS_BYTES_TEXT, row->tiled && axis ? "%s x %.0f" : "-", axis,
             cs_json_double(line, "tiles"));
    return text;
}

/* Why a row has no result: the status of its untiled run, if that is ok, of the run with the
 * library.
 */
static const char *status_of(const struct cs_verified *row)
{
    const char *untiled = cs_json_text(row->measured[CS_VERIFY_UNTILED], "status");
    const char *tiled = cs_json_text(row->measured[CS_VERIFY_TILED], "status");
    if (!untiled || strcmp(untiled, "ok") != 0)
        return untiled ? untiled : "no time";
    return tiled && strcmp(tiled, "ok") != 0   ? tiled
           : row->verdict == CS_VERDICT_FAILED ? "the process ended"
                                               : "no time";
}

static void add_row(struct cs_table *table, const struct cs_verified *row)
{
    char untiled[CS_BYTES_TEXT], with[CS_BYTES_TEXT], tiles[CS_BYTES_TEXT], spread[RATIO_TEXT];
    char result[64], shape[CS_PROBLEM_TEXT];
    bool ran = row->verdict != CS_VERDICT_FAILED && row->verdict != CS_VERDICT_NOT_RUN;
    cs_site_problem_text(&row->layer->problem, shape, sizeof shape);
    snprintf(result, sizeof result, "%s%s%s", cs_verdict_names[row->verdict], ran ? "" : ": ",
             ran ? "" : status_of(row));
    cs_table_add(table, (const struct cs_value[]){
                            {.text = row->layer->name},
                            {.text = strcmp(shape, row->layer->name) != 0 ? shape : ""},
                            {.number = workspace_of(row, CS_VERIFY_UNTILED)},
                            {.number = workspace_of(row, CS_VERIFY_TILED)},
                            {.text = tiles_text(row, tiles)},
                            {.text = time_text(row, CS_VERIFY_UNTILED, untiled)},
                            {.text = time_text(row, CS_VERIFY_TILED, with)},
                            {.ratio = cs_verify_ratio(row)},
                            {.ratio = row->prediction.time_ratio},
                            {.text = spread_text(row, spread)},
                            {.text = result},
                        });
}

static bool print_table(const struct cs_verification *verification)
{
    const struct cs_verify_gpu *gpu = &verification->gpu;
    struct cs_table table;
    cs_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < verification->rows; i++)
        add_row(&table, &verification->row[i]);
    printf("%s%s, cuDNN %s, convshim " CS_VERSION ". Times are medians of one call%s.\n", gpu->name,
           gpu->simulated ? " (simulated)" : "", gpu->cudnn,
           gpu->simulated ? " in simulated time" : "");
    if (gpu->other)
        printf("Programs that use the loader's cuDNN get %s. To verify it: --cudnn PATH\n",
               gpu->other);
    puts("");
    bool good = cs_table_print(&table, CS_FORMAT_TEXT, stdout);
    cs_table_fini(&table);
    if (verification->left_out > 0)
        printf("%zu more convolutions of the list were not run, because they require less "
               "workspace.\n",
               verification->left_out);
    return good;
}

static void print_ladder(const struct cs_verification *verification)
{
    const struct cs_verify_ladder *ladder = &verification->ladder;
    if (ladder->known)
        printf("\nEach kernel adds %.1f us, and two lanes hide %.0f %% of it%s.\n",
               ladder->kernel_us, ladder->lane_gain * 100,
               verification->gpu.simulated
                   ? " (simulated)"
                   : ". The library uses both numbers on this GPU model from now on");
    if (ladder->repeats > 0)
        printf("%s%" PRId64 " of %" PRId64 " repeats on two lanes are equal.\n",
               ladder->known ? "" : "\n", ladder->repeats - ladder->differing, ladder->repeats);
}

/* --- the answer --- */

/* "12 % slower" */
static void put_slower(struct cs_text *text, double with, double without)
{
    double percent = without > 0 ? (with / without - 1) * 100 : 0;
    if (fabs(percent) < 0.5)
        cs_text_put(text, "as fast");
    else
        cs_text_put(text, "%.0f %% %s", fabs(percent), percent > 0 ? "slower" : "faster");
}

static const struct cs_verified *first_of(const struct cs_verification *verification,
                                          enum cs_verified_as verdict)
{
    for (size_t i = 0; i < verification->rows; i++)
        if (verification->row[i].verdict == verdict)
            return &verification->row[i];
    return NULL;
}

static void put_unsafe(struct cs_text *text, const struct cs_verification *verification,
                       const struct sums *sums, const struct cs_verified *row)
{
    const struct cs_difference *difference = &row->difference;
    cs_text_put(text, "Not safe: %s: ", row->layer->name);
    if (row->verdict != CS_VERDICT_DIFFERS)
        cs_text_put(text, "it fails only with convshim");
    else if (difference->known)
        cs_text_put(text,
                    "%" PRId64 " of %" PRId64
                    " numbers differ with convshim, by up to %.2g (largest number %.2g)",
                    difference->differing, difference->elements, difference->largest,
                    difference->value);
    else
        cs_text_put(text, "some bits of the result differ with convshim");
    cs_text_put(
        text, ". This affects %zu of %zu convolutions. Please report it with the file of --out.",
        sums->count[CS_VERDICT_DIFFERS] + sums->count[CS_VERDICT_FAILED], verification->rows);
}

/* " 6 were not run: memory, time." */
static void put_missing(struct cs_text *text, const struct cs_verification *verification,
                        const struct sums *sums)
{
    static const char *const names[] = {"memory", "time", "not supported"};
    size_t missing = sums->count[CS_VERDICT_NOT_RUN], varies = sums->count[CS_VERDICT_VARIES];
    bool why[3] = {false}, first = true;
    for (size_t i = 0; i < verification->rows; i++) {
        if (verification->row[i].verdict != CS_VERDICT_NOT_RUN)
            continue;
        const char *status = status_of(&verification->row[i]);
        bool large = strcmp(status, "out of memory") == 0 || strcmp(status, "too large") == 0;
        why[large ? 0 : strcmp(status, "no time") == 0 ? 1 : 2] = true;
    }
    if (missing > 0)
        cs_text_put(text, " %zu %s not run:", missing, missing == 1 ? "was" : "were");
    for (int i = 0; i < 3; i++) {
        if (why[i])
            cs_text_put(text, "%s %s", first ? "" : ",", names[i]);
        first = first && !why[i];
    }
    if (missing > 0)
        cs_text_put(text, ".");
    if (varies > 0)
        cs_text_put(text, " %zu without a result: the untiled runs differ.", varies);
}

static void put_safe(struct cs_text *text, const struct cs_verification *verification,
                     const struct sums *sums)
{
    size_t equal = sums->count[CS_VERDICT_EQUAL], rounded = sums->count[CS_VERDICT_ROUNDED];
    cs_text_put(text, "Safe%s: ", verification->gpu.simulated ? " on the simulated device" : "");
    if (rounded > 0)
        cs_text_put(text, "%zu of %zu results equal, %zu %s in the last bits.", equal,
                    equal + rounded, rounded, rounded == 1 ? "differs" : "differ");
    else if (equal == 1)
        cs_text_put(text, "the result is equal.");
    else
        cs_text_put(text, "all %zu results equal.", equal);
    put_missing(text, verification, sums);
    if (verification->gpu.simulated)
        return;
    cs_text_put(text, " The %zu tiled convolutions together are ", sums->tiled);
    put_slower(text, sums->us[1], sums->us[0]);
    if (sums->predicted > 0) {
        cs_text_put(text, " (predicted: ");
        put_slower(text, sums->predicted, sums->us[0]);
        cs_text_put(text, ")");
    }
    cs_text_put(text, ".");
}

/* Puts the last line of the output. True if it is "Safe". */
static bool put_answer(struct cs_text *text, const struct cs_verification *verification)
{
    const struct sums sums = add_up(verification);
    const struct cs_verified *row = first_of(verification, CS_VERDICT_DIFFERS);
    if (!row)
        row = first_of(verification, CS_VERDICT_FAILED);
    if (row) {
        put_unsafe(text, verification, &sums, row);
    } else if (verification->ladder.differing > 0) {
        cs_text_put(text,
                    "Not safe: %" PRId64 " of %" PRId64
                    " repeats on two lanes differ. Use --lanes 1, and please report it with the "
                    "file of --out.",
                    verification->ladder.differing, verification->ladder.repeats);
    } else if (sums.count[CS_VERDICT_EQUAL] + sums.count[CS_VERDICT_ROUNDED] == 0) {
        cs_text_put(text, "No result: no convolution could be compared.");
        put_missing(text, verification, &sums);
    } else if (sums.tiled == 0) {
        cs_text_put(text, "No result: convshim tiled none of these convolutions.");
        put_missing(text, verification, &sums);
        cs_text_put(text, " To tile those above 64 MiB: --workspace 64MiB");
    } else {
        put_safe(text, verification, &sums);
        return true;
    }
    return false;
}

int cs_verify_conclude(const struct cs_verification *verification)
{
    char answer[512];
    bool safe = put_answer(&(struct cs_text){answer, sizeof answer, 0}, verification);
    if (!print_table(verification)) {
        cs_cli_complain("verify: out of memory");
        return CS_CLI_NO;
    }
    print_ladder(verification);
    bool written = cs_verify_write(verification, answer);
    puts("");
    cs_cli_put(answer, stdout);
    puts("");
    return safe && written ? CS_CLI_OK : CS_CLI_NO;
}
