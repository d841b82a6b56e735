/* The verdict on a convolution, from the lines of its three runs, and the numbers of its results.
 */
#include "check.h"
#include "cli/verify/verify.h"
#include "cudnn/standalone/trial.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

struct run {
    const char *status, *checksum, *repeated; /* status NULL: no line */
};

static void add_line(cJSON *row, const char *side, const struct run *run)
{
    if (!run->status)
        return;
    cJSON *line = cJSON_AddObjectToObject(row, side);
    cJSON_AddStringToObject(line, "status", run->status);
    if (run->checksum)
        cJSON_AddStringToObject(line, "checksum", run->checksum);
    if (run->repeated)
        cJSON_AddStringToObject(line, "repeated", run->repeated);
}

static void check_verdict(struct run untiled, struct run tiled, struct run again, bool cut_short,
                          enum cs_verified_as verdict)
{
    struct cs_verified row = {.json = cJSON_CreateObject()};
    add_line(row.json, "untiled", &untiled);
    add_line(row.json, "with_convshim", &tiled);
    add_line(row.json, "untiled_again", &again);
    CHECK_INT(cs_verify_judge(&row, cut_short), verdict);
    cJSON_Delete(row.json);
}

static const struct run ok = {"ok", "a", "a"}, other = {"ok", "b", "b"}, none = {.status = NULL};

static void three_equal_runs_equal(void)
{
    check_verdict(ok, ok, ok, false, CS_VERDICT_EQUAL);
    check_verdict(ok, ok, none, false, CS_VERDICT_EQUAL);
}

static void tiled_alone_is_different_differs(void)
{
    check_verdict(ok, other, ok, false, CS_VERDICT_DIFFERS);
    check_verdict(ok, (struct run){"ok", "a", "b"}, ok, false, CS_VERDICT_DIFFERS);
}

/* A wrong input of one untiled run is not the library's. */
static void untiled_runs_differ_no_result(void)
{
    check_verdict(ok, other, other, false, CS_VERDICT_VARIES);
    check_verdict(ok, ok, other, false, CS_VERDICT_VARIES);
    check_verdict((struct run){"ok", "a", "b"}, ok, ok, false, CS_VERDICT_VARIES);
}

static void too_little_memory_is_not_run(void)
{
    check_verdict(ok, (struct run){.status = "out of memory"}, ok, false, CS_VERDICT_NOT_RUN);
    check_verdict((struct run){.status = "out of memory"}, none, none, false, CS_VERDICT_NOT_RUN);
}

static void tiled_run_without_a_line_fails_unless_cut_short(void)
{
    check_verdict(ok, none, none, false, CS_VERDICT_FAILED);
    check_verdict(ok, none, none, true, CS_VERDICT_NOT_RUN);
    check_verdict(ok, (struct run){.status = "error"}, ok, false, CS_VERDICT_FAILED);
}

static void check_number(enum cs_dtype dtype, uint32_t bits, double number)
{
    char bytes[sizeof bits];
    memcpy(bytes, &bits, sizeof bits);
    CHECK(fabs(cs_trial_number(dtype, bytes) - number) <= 0);
}

static void numbers_of_all_types(void)
{
    check_number(CS_F32, 0xbfc00000, -1.5);
    check_number(CS_BF16, 0x3f81, 1 + 0x1p-7);
    check_number(CS_F16, 0xc001, -2 - 0x1p-9);
    check_number(CS_F16, 0x7bff, 65504);
    check_number(CS_F16, 0x0003, 0x3p-24);
    check_number(CS_F16, 0x8000, 0);
    CHECK(isinf(cs_trial_number(CS_F16, (const char *)&(uint16_t){0x7c00})));
    CHECK(isnan(cs_trial_number(CS_BF16, (const char *)&(uint16_t){0xffff})));
}

int main(void)
{
    TEST(three_equal_runs_equal);
    TEST(tiled_alone_is_different_differs);
    TEST(untiled_runs_differ_no_result);
    TEST(too_little_memory_is_not_run);
    TEST(tiled_run_without_a_line_fails_unless_cut_short);
    TEST(numbers_of_all_types);
    return REPORT();
}
