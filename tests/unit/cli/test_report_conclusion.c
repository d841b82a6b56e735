/* src/cli/report: the advice of a report, which is its most important finding alone. */
#include "check.h"
#include "cli/report/report.h"
#include <limits.h>
#include <string.h>

enum {
    MOST_PASSED = 2
};

/* A run as a summary contains it, with its expected advice. */
struct said {
    const char *bypass, *workspace;
    struct cs_summary_passed passed[MOST_PASSED];
    size_t passed_count;
    int64_t tiled, fallback, failed, launches, required;
    const char *advice; /* after the text that each report contains; "" for none */
};

static const char no_tiling[] = "NO_TILING", report_only[] = "REPORT_ONLY", provided[] = "PROVIDED",
                  other[] = "LAYOUT";

static void fill(const struct said *said, struct cs_run_option *option, struct cs_report *report)
{
    struct cs_run_summary *all = &report->all;
    option[0] = (struct cs_run_option){"policy", "fit"};
    option[1] = (struct cs_run_option){"workspace", said->workspace};
    all->bypass = said->bypass ? said->bypass : "";
    all->option = option;
    all->options = said->workspace ? 2 : 1;
    all->passed = (struct cs_summary_passed *)said->passed;
    all->passed_count = said->passed_count;
    all->calls = 9;
    all->tiled = said->tiled;
    all->fallback = said->fallback;
    all->failed = said->failed;
    all->launches = said->launches;
    all->required_max = said->required;
}

static void check_said(const struct said *said)
{
    struct cs_run_option option[2];
    static struct cs_report report;
    char wanted[300];
    memset(&report, 0, sizeof report);
    fill(said, option, &report);
    cs_report_conclude(&report);
    snprintf(wanted, sizeof wanted, "%d of 9 calls tiled, 0 extra launches.%s%s", (int)said->tiled,
             *said->advice ? " " : "", said->advice);
    CHECK_STR(report.conclusion, wanted);
    bool only_reports = said->passed_count > 1 && said->passed[1].id == report_only;
    CHECK_INT((int64_t)report.section[CS_REPORT_CONCLUSION].table.rows, only_reports ? 2 : 1);
    cs_table_fini(&report.section[CS_REPORT_CONCLUSION].table);
}

static void untiled_run_gets_its_reason(void)
{
    static const struct said said[] = {
        {.passed = {{other, NULL, 1}, {report_only, NULL, 3}},
         .passed_count = 2,
         .advice = "Policy off only reports. To tile: policy = fit."},
        {.passed = {{no_tiling, NULL, 3}},
         .passed_count = 1,
         .workspace = "16MiB",
         .advice = "No tiling fits the limit. Try a larger workspace, as 64 MiB."},
        {.passed = {{no_tiling, NULL, 3}},
         .passed_count = 1,
         .workspace = "auto",
         .advice = "No tiling fits the limit. Try a larger workspace."},
        {.passed = {{no_tiling, NULL, 0}, {provided, NULL, 2}},
         .passed_count = 2,
         .advice = "Nothing was tiled, because the program allocates its own workspaces."},
        {.advice = "Nothing was tiled, because no convolution requires workspace (common with "
                   "channels-last tensors)."},
        {.required = 1 << 20,
         .passed = {{other, NULL, 7}},
         .passed_count = 1,
         .advice =
             "Nothing was tiled, because no convolution requires more than the threshold. The "
             "largest requires 1 MiB."},
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        check_said(&said[i]);
}

static void most_important_finding_is_the_advice(void)
{
    static const struct said said[] = {
        {.bypass = "libfoo.so",
         .tiled = 1,
         .failed = 2,
         .advice = "Some calls bypass convshim (libfoo.so). To find out why: convshim doctor -- "
                   "COMMAND."},
        {.tiled = 1,
         .failed = 2,
         .fallback = 3,
         .advice = "2 calls failed after their first launch. Please report this."},
        {.failed = 1, .advice = "1 calls failed after their first launch. Please report this."},
        {.fallback = 3,
         .passed = {{no_tiling, NULL, 4}},
         .passed_count = 1,
         .workspace = "1MiB",
         .advice = "3 calls ran in one piece on the fallback plan, which is slow."},
        {.tiled = 1,
         .launches = 40,
         .passed = {{no_tiling, NULL, 4}},
         .passed_count = 1,
         .workspace = "1MiB",
         .advice = "4 calls have no tiling that fits. Try workspace = 4 MiB."},
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        check_said(&said[i]);
}

/* For all combinations of counts: failed calls come first, then untiled ones. */
static void every_mixture_of_calls(void)
{
    for (int mixture = 0; mixture < 64; mixture++) {
        char advice[100] = "";
        struct said said = {.tiled = mixture % 4,
                            .fallback = mixture / 4 % 4,
                            .failed = mixture / 16,
                            .advice = advice};
        if (said.failed > 0)
            snprintf(advice, sizeof advice,
                     "%d calls failed after their first launch. Please report this.",
                     (int)said.failed);
        else if (said.fallback > 0)
            snprintf(advice, sizeof advice,
                     "%d calls ran in one piece on the fallback plan, which is slow.",
                     (int)said.fallback);
        else if (said.tiled == 0)
            snprintf(advice, sizeof advice, "%s",
                     "Nothing was tiled, because no convolution requires workspace (common with "
                     "channels-last tensors).");
        check_said(&said);
    }
}

static void cost_of_tiles_is_advised(void)
{
    static const struct said said[] = {
        {.tiled = 2,
         .launches = 64,
         .workspace = "1MiB",
         .advice = "32 tiles per call take time. workspace = 4 MiB needs fewer."},
        {.tiled = 2, .launches = 63, .workspace = "1MiB", .advice = ""},
        /* If four times the limit is unknown, the advice names no size. */
        {.tiled = 2, .launches = 64, .workspace = "auto", .advice = ""},
        {.tiled = 2, .launches = 64, .workspace = "8388607TiB", .advice = ""},
        {.tiled = 2, .launches = 64, .advice = ""},
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        check_said(&said[i]);
}

int main(void)
{
    TEST(untiled_run_gets_its_reason);
    TEST(most_important_finding_is_the_advice);
    TEST(every_mixture_of_calls);
    TEST(cost_of_tiles_is_advised);
    return REPORT();
}
