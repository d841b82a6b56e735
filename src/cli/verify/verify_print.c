/* Prints the results of `convshim verify`: the table, the program, the ladder, the answer. */
#include "account/account.h"
#include "account/outcome.h"
#include "base/version.h"
#include "cli/common/cli.h"
#include "cli/common/table.h"
#include "cli/verify/verify.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    RATIO_TEXT = 16,
    SENTENCE = 160
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

static double ratio_of(const struct cs_verified *row)
{
    double untiled = cs_verify_time(row, CS_VERIFY_UNTILED);
    return untiled > 0 ? cs_verify_time(row, CS_VERIFY_TILED) / untiled : 0;
}

static struct sums add_up(const struct cs_verification *verification)
{
    struct sums sums = {.tiled = 0};
    for (size_t i = 0; i < verification->rows; i++) {
        const struct cs_verified *row = &verification->row[i];
        double predicted = row->prediction.time_ratio, us = cs_verify_time(row, CS_VERIFY_UNTILED);
        sums.count[row->verdict]++;
        if (!row->tiled || ratio_of(row) <= 0)
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
               ? (int64_t)cs_verify_number(row->measured[side], "workspace")
               : -1;
}

static const char *time_text(const struct cs_verified *row, enum cs_verify_side side,
                             char text[CS_BYTES_TEXT])
{
    double us = cs_verify_time(row, side);
    return us > 0 ? cs_table_time_text(text, (int64_t)(us * 1e3)) : "-";
}

/* The largest distance from the 10th to the 90th percentile of all runs. */
static const char *spread_text(const struct cs_verified *row, char text[RATIO_TEXT])
{
    double most = 0;
    for (int side = 0; side < CS_VERIFY_SIDES; side++) {
        const cJSON *line = row->measured[side];
        double median = cs_verify_number(line, "median_us");
        if (median > 0)
            most =
                fmax(most, (cs_verify_number(line, "p90_us") - cs_verify_number(line, "p10_us")) /
                               median);
    }
    snprintf(text, RATIO_TEXT, ratio_of(row) > 0 ? "%.0f %%" : "-", most * 100);
    return text;
}

static const char *tiles_text(const struct cs_verified *row, char text[CS_BYTES_TEXT])
{
    const cJSON *line = row->measured[CS_VERIFY_TILED];
    const char *axis = cs_verify_text(line, "axis");
    snprintf(text, CS_BYTES_TEXT, row->tiled && axis ? "%s x %.0f" : "-", axis,
             cs_verify_number(line, "tiles"));
    return text;
}

/* The status of the first line without a result, from --once. */
static const char *status_of(const struct cs_verified *row)
{
    const char *untiled = cs_verify_text(row->measured[CS_VERIFY_UNTILED], "status");
    const char *tiled = cs_verify_text(row->measured[CS_VERIFY_TILED], "status");
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
                            {.ratio = ratio_of(row)},
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

/* Processes see nothing of each other's simulated devices, so there is no peak of another one. */
static void print_program(const struct cs_verification *verification)
{
    static const char *const names[] = {"without convshim", "with convshim"};
    for (int side = 0; side < 2 && verification->program[0].ran; side++) {
        const struct cs_verify_program *program = &verification->program[side];
        char peak[CS_BYTES_TEXT], simulated[CS_BYTES_TEXT];
        printf("%sThe program %s: %.1f s", side == 0 ? "\n" : "", names[side], program->seconds);
        if (!verification->gpu.simulated)
            printf(", device peak %s measured", cs_table_bytes_text(peak, program->peak));
        if (program->simulated_peak >= 0)
            printf(", %s simulated without its CUDA context",
                   cs_table_bytes_text(simulated, program->simulated_peak));
        puts(".");
    }
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
                                          enum cs_verified_as verdict)
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

/* " 6 were not run: memory, time." */
static const char *missing_text(const struct cs_verification *verification, const struct sums *sums,
                                char text[SENTENCE])
{
    bool memory = false, time = false, other = false;
    size_t missing = sums->count[CS_VERDICT_NOT_RUN], varies = sums->count[CS_VERDICT_VARIES];
    for (size_t i = 0; i < verification->rows; i++) {
        if (verification->row[i].verdict != CS_VERDICT_NOT_RUN)
            continue;
        const char *status = status_of(&verification->row[i]);
        bool large = strcmp(status, "out of memory") == 0 || strcmp(status, "too large") == 0;
        bool late = strcmp(status, "no time") == 0;
        memory = memory || large;
        time = time || late;
        other = other || !(large || late);
    }
    *text = '\0';
    if (missing > 0)
        snprintf(text, SENTENCE, " %zu %s not run:%s%s%s.", missing, missing == 1 ? "was" : "were",
                 memory ? " memory" : "", time ? (memory ? ", time" : " time") : "",
                 other ? (memory || time ? ", not supported" : " not supported") : "");
    if (varies > 0) {
        size_t length = strlen(text);
        snprintf(text + length, SENTENCE - length,
                 " %zu without a result: the untiled runs differ.", varies);
    }
    return text;
}

static void say_safe(const struct cs_verification *verification, const struct sums *sums,
                     char *text, size_t size)
{
    char slower[RATIO_TEXT], predicted[RATIO_TEXT], expected[48] = "", times[SENTENCE] = "";
    char results[SENTENCE], missing[SENTENCE];
    size_t equal = sums->count[CS_VERDICT_EQUAL], rounded = sums->count[CS_VERDICT_ROUNDED];
    if (rounded == 0)
        snprintf(results, sizeof results,
                 equal == 1 ? "the result is equal" : "all %zu results equal", equal);
    else
        snprintf(results, sizeof results, "%zu of %zu results equal, %zu %s in the last bits",
                 equal, equal + rounded, rounded, rounded == 1 ? "differs" : "differ");
    if (sums->predicted > 0)
        snprintf(expected, sizeof expected, " (predicted: %s)",
                 slower_text(sums->predicted, sums->us[0], predicted));
    if (!verification->gpu.simulated)
        snprintf(times, sizeof times, " The %zu tiled convolutions together are %s%s.", sums->tiled,
                 slower_text(sums->us[1], sums->us[0], slower), expected);
    snprintf(text, size, "Safe%s: %s.%s%s",
             verification->gpu.simulated ? " on the simulated device" : "", results,
             missing_text(verification, sums, missing), times);
}

/* True if it is safe. */
static bool answer_in_words(const struct cs_verification *verification, char *text, size_t size)
{
    const struct sums sums = add_up(verification);
    const struct cs_verified *row = first_of(verification, CS_VERDICT_DIFFERS);
    char missing[SENTENCE];
    if (!row)
        row = first_of(verification, CS_VERDICT_FAILED);
    if (row) {
        say_unsafe(verification, &sums, row, text, size);
    } else if (verification->ladder.differing > 0) {
        snprintf(text, size,
                 "Not safe: %" PRId64 " of %" PRId64 " repeats on two lanes differ. Use --lanes 1, "
                 "and please report it with the file of --out.",
                 verification->ladder.differing, verification->ladder.repeats);
    } else if (sums.count[CS_VERDICT_EQUAL] + sums.count[CS_VERDICT_ROUNDED] == 0) {
        snprintf(text, size, "No result: no convolution could be compared.%s",
                 missing_text(verification, &sums, missing));
    } else if (sums.tiled == 0) {
        snprintf(text, size,
                 "No result: convshim tiled none of these convolutions.%s To tile those above 64 "
                 "MiB: --workspace 64MiB",
                 missing_text(verification, &sums, missing));
    } else {
        say_safe(verification, &sums, text, size);
        return true;
    }
    return false;
}

int cs_verify_conclude(const struct cs_verification *verification)
{
    char answer[512];
    bool safe = answer_in_words(verification, answer, sizeof answer);
    if (!print_table(verification)) {
        cs_cli_complain("verify: out of memory");
        return CS_CLI_NO;
    }
    print_program(verification);
    print_ladder(verification);
    bool written = cs_verify_write(verification, answer);
    puts("");
    cs_cli_put(answer, stdout);
    puts("");
    return safe && written ? CS_CLI_OK : CS_CLI_NO;
}
