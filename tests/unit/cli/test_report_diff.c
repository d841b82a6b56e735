/* src/cli/report: when a report on two runs takes a convolution of one for the same as in the
 * other. */
#include "cli/report/report_diff.c" /* NOLINT(bugprone-suspicious-include) */

#include "check.h"

static void one_difference_is_one(void)
{
    static char reason[] = "LAYOUT", other[] = "NO_TILING";
    static const struct cs_summary_site site = {.calls = 5,
                                                .shape = {.required = 100, .reported = 10}};
    static const struct cs_summary_site
        calls = {.calls = 6, .shape = {.required = 100, .reported = 10}},
        required = {.calls = 5, .shape = {.required = 101, .reported = 10}},
        reported = {.calls = 5, .shape = {.required = 100, .reported = 11}},
        untiled = {.calls = 5, .shape = {.required = 100, .reported = 10}, .reason = reason},
        another = {.calls = 5, .shape = {.required = 100, .reported = 10}, .reason = other},
        copy = {.calls = 5, .shape = {.required = 100, .reported = 10}};
    static const struct {
        const struct cs_summary_site *a, *b;
        bool same;
    } rows[] = {{&site, &copy, true},      {&site, &calls, false},   {&site, &required, false},
                {&site, &reported, false}, {&site, &untiled, false}, {&untiled, &another, true},
                {&site, NULL, false},      {NULL, &site, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_INT(same(rows[i].a, rows[i].b), rows[i].same);
}

int main(void)
{
    TEST(one_difference_is_one);
    return REPORT();
}
