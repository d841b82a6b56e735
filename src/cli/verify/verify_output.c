/* Prints the results of `convshim verify` (the table, the ladder, the answer) and writes them as
 * JSON (--out). */
#include "account/account.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/output.h"
#include "cli/common/table.h"
#include "cli/verify/verify.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <string.h>

static double ratio_of(const struct cs_verified *row)
{
    return cs_json_double(row->json, "time_ratio");
}

struct sums {
    size_t count[CS_VERDICTS];
    size_t tiled;                /* convolutions that ran as tiles */
    double untiled_us, tiled_us; /* times of these */
};

/* Counts the verdicts, and adds up the times of the tiled convolutions. */
static struct sums add_up(const struct cs_verification *verification)
{
    struct sums sums = {.tiled = 0};
    for (size_t i = 0; i < verification->rows; i++) {
        const struct cs_verified *row = &verification->row[i];
        sums.count[row->verdict]++;
        if (!cJSON_IsTrue(cs_json_at(row->json, "tiled")) || ratio_of(row) <= 0)
            continue;
        sums.tiled++;
        sums.untiled_us += cs_verified_time(row, CS_VERIFY_UNTILED);
        sums.tiled_us += cs_verified_time(row, CS_VERIFY_TILED);
    }
    return sums;
}

/* Returns why a row has no result: the status of its untiled run or, if that is ok, of the run with
 * the library. */
static const char *status_of(const struct cs_verified *row)
{
    const char *untiled = cs_json_text(row->json, "untiled.status"),
               *tiled = cs_json_text(row->json, "with_convshim.status");
    if (!untiled || strcmp(untiled, "ok") != 0)
        return untiled ? untiled : "no time";
    return tiled && strcmp(tiled, "ok") != 0   ? tiled
           : row->verdict == CS_VERDICT_FAILED ? "the process ended"
                                               : "no time";
}

/* --- the table --- */

static const struct cs_column columns[] = {
    {"name", "convolution", CS_CELL_TEXT},    {"text", "shape", CS_CELL_TEXT},
    {"required", "required", CS_CELL_BYTES},  {"reported", "reported", CS_CELL_BYTES},
    {"tiles", "tiles", CS_CELL_TEXT},         {"untiled", "untiled", CS_CELL_TIME},
    {"with", "with convshim", CS_CELL_TIME},  {"ratio", "measured", CS_CELL_RATIO},
    {"predicted", "predicted", CS_CELL_TEXT}, {"spread", "spread", CS_CELL_TEXT},
    {"result", "result", CS_CELL_TEXT},
};

static int64_t nanoseconds_of(const struct cs_verified *row, enum cs_verify_side side)
{
    double us = cs_verified_time(row, side);
    return us > 0 ? (int64_t)(us * 1e3) : -1;
}

/* Writes both ends of the predicted time. */
static void write_predicted(const struct cs_verified *row, char *text, size_t size)
{
    double least = cs_json_double(row->json, "predicted.time_ratio");
    double most = cs_json_double(row->json, "predicted.time_ratio_most");
    snprintf(text, size, least > 0 ? "%.2f to %.2f" : "-", least, most);
}

/* Returns the largest distance from the 10th to the 90th percentile of a run, in percent of its
 * median. */
static double spread_of(const struct cs_verified *row)
{
    double most = 0;
    for (int side = 0; side < CS_VERIFY_SIDES; side++) {
        const cJSON *line = cs_verified_line(row, (enum cs_verify_side)side);
        double median = cs_json_double(line, "median_us"),
               range = cs_json_double(line, "p90_us") - cs_json_double(line, "p10_us");
        most = median > 0 ? fmax(most, range / median * 100) : most;
    }
    return most;
}

static void add_row(struct cs_table *table, const struct cs_verified *row)
{
    char tiles[32] = "-", spread[32] = "-", predicted[32], result[64], shape[CS_PROBLEM_TEXT];
    const cJSON *tiled = cs_verified_line(row, CS_VERIFY_TILED);
    const char *axis = cs_json_text(tiled, "axis");
    bool ran = row->verdict != CS_VERDICT_FAILED && row->verdict != CS_VERDICT_NOT_RUN;
    cs_site_problem_text(&row->layer->problem, shape, sizeof shape);
    if (axis)
        snprintf(tiles, sizeof tiles, "%s x %.0f", axis, cs_json_double(tiled, "tiles"));
    write_predicted(row, predicted, sizeof predicted);
    if (ratio_of(row) > 0)
        snprintf(spread, sizeof spread, "%.0f %%", spread_of(row));
    snprintf(result, sizeof result, "%s%s%s", cs_verdict_names[row->verdict], ran ? "" : ": ",
             ran ? "" : status_of(row));
    cs_table_add(table, (const struct cs_value[]){
                            {.text = row->layer->name},
                            {.text = strcmp(shape, row->layer->name) != 0 ? shape : ""},
                            {.number = cs_json_whole_at(row->json, "untiled.workspace", -1)},
                            {.number = cs_json_whole_at(row->json, "with_convshim.workspace", -1)},
                            {.text = tiles},
                            {.number = nanoseconds_of(row, CS_VERIFY_UNTILED)},
                            {.number = nanoseconds_of(row, CS_VERIFY_TILED)},
                            {.ratio = ratio_of(row)},
                            {.text = predicted},
                            {.text = spread},
                            {.text = result},
                        });
}

static bool print_table(const struct cs_verification *verification)
{
    struct cs_table table;
    cs_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < verification->rows; i++)
        add_row(&table, &verification->row[i]);
    printf("%s%s, cuDNN %s, convshim " CS_VERSION ". Times are medians of one call%s.\n\n",
           verification->gpu, verification->simulated ? " (simulated)" : "", verification->cudnn,
           verification->simulated ? " in simulated time" : "");
    bool good = cs_table_print(&table, CS_FORMAT_TEXT, stdout);
    cs_table_fini(&table);
    return good;
}

static void print_ladder(const struct cs_verification *verification)
{
    const cJSON *ladder = cs_json_at(verification->json, "ladder");
    const double repeats = cs_json_double(ladder, "repeats");
    if (!ladder)
        return;
    puts("");
    if (cs_json_at(ladder, "kernel_us"))
        printf("Each kernel adds %.1f us, and two lanes hide %.0f %% of it%s.\n",
               cs_json_double(ladder, "kernel_us"), cs_json_double(ladder, "lane_gain") * 100,
               verification->simulated ? " (simulated)" : "");
    if (repeats > 0)
        printf("%.0f of %.0f repeats on two lanes are equal.\n",
               repeats - cs_json_double(ladder, "differing"), repeats);
}

/* --- the answer --- */

static const struct cs_verified *first_of(const struct cs_verification *verification,
                                          enum cs_verified_as verdict)
{
    for (size_t i = 0; i < verification->rows; i++)
        if (verification->row[i].verdict == verdict)
            return &verification->row[i];
    return NULL;
}

/* Puts the result for a row that differs or failed, which is the first of these. */
static void put_unsafe(struct cs_text *text, const struct cs_verification *verification,
                       const struct sums *sums, const struct cs_verified *row)
{
    const cJSON *difference = cs_json_at(row->json, "difference");
    cs_text_put(text, "Not safe: %s: ", row->layer->name);
    if (row->verdict != CS_VERDICT_DIFFERS)
        cs_text_put(text, "it fails only with convshim");
    else if (difference)
        cs_text_put(text,
                    "%.0f of %.0f numbers differ with convshim, by up to %.2g (largest number "
                    "%.2g)",
                    cs_json_double(difference, "differing"), cs_json_double(difference, "elements"),
                    cs_json_double(difference, "largest_difference"),
                    cs_json_double(difference, "largest_number"));
    else
        cs_text_put(text, "some bits of the result differ with convshim");
    cs_text_put(
        text, ". This affects %zu of %zu convolutions. Please report it with the file of --out.",
        sums->count[CS_VERDICT_DIFFERS] + sums->count[CS_VERDICT_FAILED], verification->rows);
}

/* Puts how many rows have no result: " 6 were not run, such as NAME: no time." */
static void put_missing(struct cs_text *text, const struct cs_verification *verification,
                        const struct sums *sums)
{
    const struct cs_verified *row = first_of(verification, CS_VERDICT_NOT_RUN);
    size_t missing = sums->count[CS_VERDICT_NOT_RUN], varies = sums->count[CS_VERDICT_VARIES];
    if (row)
        cs_text_put(text, " %zu %s not run, such as %s: %s.", missing,
                    missing == 1 ? "was" : "were", row->layer->name, status_of(row));
    if (varies > 0)
        cs_text_put(text, " %zu without a result: the untiled runs differ.", varies);
}

/* Puts the result if all compared rows are equal, or equal except for the last bits. */
static void put_safe(struct cs_text *text, const struct cs_verification *verification,
                     const struct sums *sums)
{
    size_t equal = sums->count[CS_VERDICT_EQUAL], rounded = sums->count[CS_VERDICT_ROUNDED];
    const double percent = (sums->tiled_us / sums->untiled_us - 1) * 100;
    cs_text_put(text, "Safe%s: %zu of %zu results equal%s.",
                verification->simulated ? " on the simulated device" : "", equal, equal + rounded,
                rounded > 0 ? ", the others except for the last bits" : "");
    put_missing(text, verification, sums);
    if (!verification->simulated)
        cs_text_put(text, " The %zu tiled convolutions together take %.0f %% %s time.", sums->tiled,
                    fabs(percent), percent < 0 ? "less" : "more");
}

/* Puts the last line of the output. Returns the exit status. */
static int put_answer(struct cs_text *text, const struct cs_verification *verification)
{
    const struct sums sums = add_up(verification);
    const struct cs_verified *row = first_of(verification, CS_VERDICT_DIFFERS);
    if (!row)
        row = first_of(verification, CS_VERDICT_FAILED);
    if (row) {
        put_unsafe(text, verification, &sums, row);
        return CS_CLI_NO;
    }
    if (cs_json_double(verification->json, "ladder.differing") > 0) {
        cs_text_put(text,
                    "Not safe: %.0f of %.0f repeats on two lanes differ. Use --lanes 1, and please "
                    "report it with the file of --out.",
                    cs_json_double(verification->json, "ladder.differing"),
                    cs_json_double(verification->json, "ladder.repeats"));
        return CS_CLI_NO;
    }
    if (sums.count[CS_VERDICT_EQUAL] + sums.count[CS_VERDICT_ROUNDED] > 0 && sums.tiled > 0) {
        put_safe(text, verification, &sums);
        return CS_CLI_OK;
    }
    const bool none = sums.count[CS_VERDICT_EQUAL] + sums.count[CS_VERDICT_ROUNDED] == 0;
    cs_text_put(text, none ? "No result: no convolution could be compared."
                           : "No result: convshim tiled none of these convolutions.");
    put_missing(text, verification, &sums);
    if (!none)
        cs_text_put(text, " To tile those above 64 MiB: --workspace 64MiB");
    return CS_CLI_NONE;
}

/* --- all of it --- */

static bool put_json(const void *json, FILE *out)
{
    return cs_json_print(cJSON_Duplicate(json, true), out);
}

int cs_verify_conclude(struct cs_verification *verification)
{
    char answer[512];
    const char *path = verification->options->out;
    const int status = put_answer(&(struct cs_text){answer, sizeof answer, 0}, verification);
    cJSON_AddStringToObject(verification->json, "answer", answer);
    if (!print_table(verification)) {
        cs_cli_complain("verify: out of memory");
        return CS_CLI_NONE;
    }
    print_ladder(verification);
    bool written = !path || cs_output_write(path, put_json, verification->json);
    if (!written)
        cs_cli_complain("verify: --out %s: %s", path, strerror(errno));
    puts("");
    cs_cli_put(answer, stdout);
    puts("");
    return written ? status : CS_CLI_NONE;
}
