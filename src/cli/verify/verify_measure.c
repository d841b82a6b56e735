/* Measures the chosen convolutions without and with the library and compares their results: the
 * checksums, and where these differ the numbers. */
#include "cli/common/cli.h"
#include "cli/verify/verify.h"
#include "cudnn/standalone/trial.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Ends of the runs, as shares of the time. The rest is for comparing numbers. */
static const double shares[CS_VERIFY_SIDES] = {0.25, 0.65, 0.85};

static bool has_status(const cJSON *measured, const char *wanted)
{
    const char *status = cs_verify_text(measured, "status");
    return status && strcmp(status, wanted) == 0;
}

static bool is_ok(const cJSON *measured)
{
    return has_status(measured, "ok");
}

static bool same_text(const cJSON *a, const char *name_a, const cJSON *b, const char *name_b)
{
    const char *left = cs_verify_text(a, name_a), *right = cs_verify_text(b, name_b);
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
    if (!same_text(untiled, "checksum", untiled, "repeated") ||
        (is_ok(again) && !same_text(untiled, "checksum", again, "checksum")))
        return CS_VERDICT_VARIES;
    return same_text(untiled, "checksum", tiled, "checksum") &&
                   same_text(tiled, "checksum", tiled, "repeated")
               ? CS_VERDICT_EQUAL
               : CS_VERDICT_DIFFERS;
}

/* Runs the chosen rows in their order; `results` may be NULL. Line i becomes measured[i]. */
static bool run_rows(const struct cs_verification *verification, enum cs_verify_side side,
                     const size_t *chosen, size_t count, FILE *results, double end,
                     cJSON **measured, bool *in_time_p)
{
    const struct cs_layer **layer = calloc(count + 1, sizeof *layer);
    if (!layer) {
        cs_cli_complain("verify: out of memory");
        return false;
    }
    for (size_t i = 0; i < count; i++)
        layer[i] = verification->row[chosen[i]].layer;
    const struct cs_verify_job job = {.verification = verification,
                                      .side = side,
                                      .layer = layer,
                                      .count = count,
                                      .results = results,
                                      .measured = measured};
    bool ran = cs_verify_run(&job, end, in_time_p);
    free(layer);
    return ran;
}

/* --- numbers --- */

/* Sums of other orders differ by less, of the largest number; a missing or a wrong part differs by
 * far more. */
static const double rounding[CS_DTYPES] = {
    [CS_F32] = 0x1p-16, [CS_F16] = 0x1p-9, [CS_BF16] = 0x1p-6};

static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static struct cs_difference compare(enum cs_dtype dtype, const char *untiled, const char *with,
                                    int64_t bytes)
{
    struct cs_difference difference = {.known = true,
                                       .elements = bytes / cs_problem_dtype_size(dtype)};
    for (int64_t i = 0; i < difference.elements; i++) {
        double a = cs_trial_number(dtype, untiled, (size_t)i),
               b = cs_trial_number(dtype, with, (size_t)i);
        bool same = bits_of(a) == bits_of(b);
        difference.differing += !same;
        if (isfinite(a))
            difference.value = fmax(difference.value, fabs(a));
        if (!same)
            difference.largest =
                fmax(difference.largest, isfinite(a - b) ? fabs(a - b) : (double)INFINITY);
    }
    return difference;
}

static void judge_numbers(struct cs_verified *row, const char *untiled, const char *with,
                          int64_t bytes)
{
    enum cs_dtype dtype =
        row->layer->problem.tensor[cs_result(row->layer->problem.direction)].dtype;
    row->difference = compare(dtype, untiled, with, bytes);
    if (row->difference.largest <= rounding[dtype] * row->difference.value)
        row->verdict = CS_VERDICT_ROUNDED;
}

/* The results of all chosen rows stand in both files one after the other. */
static void compare_files(struct cs_verification *verification, const size_t *chosen, size_t count,
                          FILE *dump[2])
{
    static const char *const names[CS_OPERANDS] = {"input_bytes", "filter_bytes", "output_bytes"};
    int64_t length[2], at = 0;
    char *bytes[2];
    for (int side = 0; side < 2; side++) {
        length[side] = fseek(dump[side], 0, SEEK_END) == 0 ? (int64_t)ftell(dump[side]) : 0;
        bytes[side] = length[side] > 0 ? mmap(NULL, (size_t)length[side], PROT_READ, MAP_PRIVATE,
                                              fileno(dump[side]), 0)
                                       : MAP_FAILED;
    }
    bool good = length[0] == length[1] && bytes[0] != MAP_FAILED && bytes[1] != MAP_FAILED;
    for (size_t i = 0; good && i < count; i++) {
        struct cs_verified *row = &verification->row[chosen[i]];
        int64_t size = (int64_t)cs_verify_number(row->measured[CS_VERIFY_UNTILED],
                                                 names[cs_result(row->layer->problem.direction)]);
        good = size <= length[0] - at;
        if (good)
            judge_numbers(row, bytes[0] + at, bytes[1] + at, size);
        at += size;
    }
    for (int side = 0; side < 2; side++)
        if (bytes[side] != MAP_FAILED)
            (void)munmap(bytes[side], (size_t)length[side]);
}

/* True if all of them ran and wrote their results. */
static bool write_results(const struct cs_verification *verification, enum cs_verify_side side,
                          const size_t *chosen, size_t count, FILE *dump, double end)
{
    cJSON **measured = calloc(count + 1, sizeof(cJSON *));
    bool in_time = false, good = measured && run_rows(verification, side, chosen, count, dump, end,
                                                      measured, &in_time);
    for (size_t i = 0; measured && i < count; i++) {
        good = good && is_ok(measured[i]);
        cJSON_Delete(measured[i]);
    }
    free(measured);
    return good && in_time;
}

/* Runs convolutions with different checksums again, writes their results to unnamed files, and
 * compares all numbers. Without enough time or space the verdict stays. */
static void compare_numbers(struct cs_verification *verification, double end)
{
    size_t *chosen = calloc(verification->rows + 1, sizeof *chosen), count = 0;
    for (size_t i = 0; chosen && i < verification->rows; i++)
        if (verification->row[i].verdict == CS_VERDICT_DIFFERS)
            chosen[count++] = i;
    FILE *dump[2] = {count > 0 ? tmpfile() : NULL, count > 0 ? tmpfile() : NULL};
    double middle = (cs_verify_seconds() + end) / 2;
    if (dump[0] && dump[1] &&
        write_results(verification, CS_VERIFY_UNTILED, chosen, count, dump[0], middle) &&
        write_results(verification, CS_VERIFY_TILED, chosen, count, dump[1], end))
        compare_files(verification, chosen, count, dump);
    for (int side = 0; side < 2; side++)
        if (dump[side])
            (void)fclose(dump[side]);
    free(chosen);
}

/* --- all of it --- */

static bool measure(struct cs_verification *verification, enum cs_verify_side side,
                    const size_t *chosen, size_t count, double end, bool *in_time_p)
{
    cJSON **measured = calloc(count + 1, sizeof(cJSON *));
    bool ran =
        measured && run_rows(verification, side, chosen, count, NULL, end, measured, in_time_p);
    for (size_t i = 0; measured && i < count; i++)
        verification->row[chosen[i]].measured[side] = measured[i];
    free(measured);
    return ran;
}

/* The rows are in the order of their memory, in which the library has to decide. The first run goes
 * from the largest to the smallest, so that a lack of time drops small ones from all runs. */
static bool measure_all(struct cs_verification *verification, double start, double seconds,
                        size_t *chosen, bool *in_time_p)
{
    size_t rows = verification->rows, count = 0;
    bool untiled_in_time, again_in_time;
    for (size_t i = 0; i < rows; i++)
        chosen[i] = rows - 1 - i;
    if (!measure(verification, CS_VERIFY_UNTILED, chosen, rows,
                 start + seconds * shares[CS_VERIFY_UNTILED], &untiled_in_time))
        return false;
    for (size_t i = 0; i < rows; i++)
        if (is_ok(verification->row[i].measured[CS_VERIFY_UNTILED]))
            chosen[count++] = i;
    return count == 0 || (measure(verification, CS_VERIFY_TILED, chosen, count,
                                  start + seconds * shares[CS_VERIFY_TILED], in_time_p) &&
                          measure(verification, CS_VERIFY_AGAIN, chosen, count,
                                  start + seconds * shares[CS_VERIFY_AGAIN], &again_in_time));
}

bool cs_verify_measure(struct cs_verification *verification, double seconds)
{
    size_t *chosen = calloc(verification->rows + 1, sizeof *chosen);
    double start = cs_verify_seconds(), most = seconds > 2 ? seconds : 2;
    bool in_time = true, ran = chosen && measure_all(verification, start, most, chosen, &in_time);
    free(chosen);
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
    double us = cs_verify_number(row->measured[side], "median_us"),
           again = cs_verify_number(row->measured[CS_VERIFY_AGAIN], "median_us");
    return side == CS_VERIFY_TILED || us <= 0 || again <= 0 ? us : (us + again) / 2;
}
