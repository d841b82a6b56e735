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

/* The only row of the section of options; "": there is none, "several". */
static const char *only_option(const struct cs_run_summary *a, const struct cs_run_summary *b)
{
    static char text[128];
    static struct cs_report report;
    report.sections = 0;
    add_options(&report, a, b);
    const struct cs_table *table = &report.section[0].table;
    snprintf(text, sizeof text, "%s", table->rows > 1 ? "several" : "");
    if (table->rows == 1)
        snprintf(text, sizeof text, "%s: %s, %s", table->value[0].text, table->value[1].text,
                 table->value[2].text);
    cs_table_fini(&report.section[0].table);
    return text;
}

/* Surroundings that differ are named, each in a row of its own. */
static void surroundings_that_differ(void)
{
    static char same[] = "same", other[] = "other", nothing[] = "";
    const struct cs_run_summary one = {
        .program = same, .command = same, .device = same, .vendor = same, .convshim = same};
    struct cs_run_summary two = one;
    const struct {
        char **field;
        const char *name;
    } fields[] = {{&two.program, "(program)"},
                  {&two.command, "(command)"},
                  {&two.device, "(device)"},
                  {&two.vendor, "(cuDNN)"},
                  {&two.convshim, "(convshim)"}};
    CHECK_STR(only_option(&one, &two), "");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char wanted[64];
        *fields[i].field = other;
        snprintf(wanted, sizeof wanted, "%s: same, other", fields[i].name);
        CHECK_STR(only_option(&one, &two), wanted);
        *fields[i].field = nothing;
        snprintf(wanted, sizeof wanted, "%s: -, same", fields[i].name);
        CHECK_STR(only_option(&two, &one), wanted);
        *fields[i].field = same;
    }
}

int main(void)
{
    TEST(one_difference_is_one);
    TEST(surroundings_that_differ);
    return REPORT();
}
