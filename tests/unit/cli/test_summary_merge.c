/* src/cli/report: the runs of one job as one, and the tables of a report on them. */
#include "check.h"
#include "cli/report/report.h"
#include "config/option.h"
#include <stdlib.h>
#include <string.h>

enum {
    RUNS = 2
};

/* Two processes of a job: the first tiled a convolution that the second did not. The structures own
 * no memory. */
struct job {
    struct cs_run_option option[RUNS][3];
    struct cs_summary_passed passed[RUNS][2];
    struct cs_summary_site site[RUNS][2];
    struct cs_run_summary run[RUNS];
};

static struct cs_summary_site site_named(const char *id, const char *reason, int64_t required)
{
    return (struct cs_summary_site){.id = id,
                                    .name = "",
                                    .text = id,
                                    .direction = "forward",
                                    .reason = reason,
                                    .required = required,
                                    .reported = required / 4,
                                    .calls = 2,
                                    .tiled = reason ? 0 : 2,
                                    .launches = reason ? 2 : 8};
}

static void make(struct job *job)
{
    memset(job, 0, sizeof *job);
    for (int i = 0; i < RUNS; i++) {
        job->option[i][0] = (struct cs_run_option){"workspace", "16MiB"};
        job->option[i][1] = (struct cs_run_option){"lanes", i ? "2" : "3"};
        job->option[i][2] = (struct cs_run_option){"policy", "fit"};
        job->passed[i][0] = (struct cs_summary_passed){"NO_TILING", "a reason", 5};
        job->passed[i][1] = (struct cs_summary_passed){"SMALL", "small", 1};
        job->site[i][0] = site_named("same", i ? NULL : "NO_TILING", 100 + i);
        job->site[i][1] = site_named(i ? "second" : "first", i ? "UNHEARD_OF" : NULL, 100);
        job->run[i] = (struct cs_run_summary){.path = i ? "b.json" : "a.json",
                                              .program = "app",
                                              .convshim = "0.1.0",
                                              .vendor = "cuDNN 9.19.0",
                                              .device = i ? "T4" : "A100",
                                              .bypass = "",
                                              .advice = "Try this.",
                                              .script = "train.py",
                                              .command = "app train.py",
                                              .source = "convshim.ini",
                                              .option = job->option[i],
                                              .options = 3,
                                              .pid = 40 + i,
                                              .rank = i,
                                              .start_ms = 2000 - i,
                                              .end_ms = 3000 - i,
                                              .runs = 1,
                                              .calls = 4,
                                              .tiled = 2,
                                              .launches = 10,
                                              .peak_without = 500 - i,
                                              .peak_with = 400 + i,
                                              .required_max = 100 + i,
                                              .reported_max = 25,
                                              .passed = job->passed[i],
                                              .passed_count = (size_t)(i + 1),
                                              .site = job->site[i],
                                              .sites = 2};
    }
}

static void runs_of_a_job(void)
{
    struct job job;
    struct cs_run_summary all;
    make(&job);
    CHECK(cs_summary_merge(job.run, RUNS, &all));
    CHECK_STR(all.program, "app");
    CHECK_STR(all.device, "(various)");
    CHECK_INT(all.rank, -1);
    CHECK_INT(all.runs, 2);
    CHECK_INT(all.calls, 8);
    CHECK_INT(all.start_ms, 1999);
    CHECK_INT(all.end_ms, 3000);
    CHECK_INT(all.peak_without, 500);
    CHECK_INT(all.peak_with, 401);
    CHECK_INT(all.required_max, 101);
    CHECK_INT((int64_t)all.options, 3);
    CHECK_STR(cs_report_option(&all, "lanes"), "(various)");
    CHECK_STR(cs_report_option(&all, "policy"), "fit");
    CHECK_INT((int64_t)all.passed_count, 2);
    CHECK_INT(all.passed[0].calls, 10);
    CHECK_INT(all.passed[1].calls, 1);
    CHECK_INT((int64_t)all.sites, 3);
    CHECK(all.site[0].reason == NULL); /* tiled in the second */
    CHECK_INT(all.site[0].required, 101);
    CHECK_INT(all.site[0].calls, 4);
    CHECK_STR(all.site[2].reason, "UNHEARD_OF");
    cs_summary_fini(&all);
}

static void sums_that_leave_63_bits(void)
{
    struct job job;
    struct cs_run_summary all;
    make(&job);
    job.run[1].required_sum = INT64_MAX;
    CHECK(cs_summary_merge(job.run, RUNS, &all));
    cs_summary_fini(&all);
    job.run[0].required_sum = 1;
    CHECK(!cs_summary_merge(job.run, RUNS, &all));
    make(&job);
    job.site[0][0].calls = INT64_MAX;
    CHECK(!cs_summary_merge(job.run, RUNS, &all));
    make(&job);
    job.passed[0][0].calls = INT64_MAX;
    CHECK(!cs_summary_merge(job.run, RUNS, &all));
}

/* The text for people of a section; the caller frees it. */
static char *printed(const struct cs_report *report, const char *name)
{
    char *said = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&said, &size);
    CHECK(out != NULL);
    for (int i = 0; out && i < CS_REPORT_SECTIONS; i++)
        if (strcmp(report->section[i].name, name) == 0)
            CHECK(cs_table_print(&report->section[i].table, CS_FORMAT_TEXT, out));
    if (out)
        fclose(out);
    return said;
}

static void check_said(const struct cs_report *report, const char *name, const char *wanted)
{
    char *said = printed(report, name);
    CHECK(said && strstr(said, wanted) != NULL);
    if (!said || !strstr(said, wanted))
        CHECK_STR(said ? said : "", wanted);
    free(said);
}

static void tables_of_a_job(void)
{
    struct job job;
    static struct cs_report report;
    make(&job);
    job.run[1].bypass = "libfoo.so";
    memset(&report, 0, sizeof report);
    report.run = job.run;
    report.runs = RUNS;
    CHECK(cs_summary_merge(job.run, RUNS, &report.all));
    cs_report_sections(&report);
    check_said(&report, "figures", "train.py");
    check_said(&report, "figures", "app train.py");
    check_said(&report, "figures", "1970-01-01 00:00:01 UTC");
    check_said(&report, "figures", "lanes = (various)");
    check_said(&report, "figures", "convshim.ini");
    check_said(&report, "figures", "bypassed by calls of");
    check_said(&report, "processes", "41");
    check_said(&report, "sites", "UNHEARD_OF");
    for (int i = 0; i < CS_REPORT_SECTIONS; i++)
        cs_table_fini(&report.section[i].table);
    cs_summary_fini(&report.all);
}

/* A run with an option that is unknown today, and without a script. The clock was set back during
 * the run. */
static void tables_of_another_version(void)
{
    struct job job;
    static struct cs_report report;
    int lanes = cs_option_find("lanes");
    make(&job);
    job.option[0][0] = (struct cs_run_option){"colour", "red"};
    job.option[0][1] = (struct cs_run_option){"lanes", cs_options[lanes].value};
    job.run[0].script = job.run[0].command = job.run[0].source = "";
    job.run[0].end_ms = 0;
    memset(&report, 0, sizeof report);
    report.run = job.run;
    report.runs = 1;
    CHECK(cs_summary_merge(job.run, 1, &report.all));
    cs_report_sections(&report);
    char *figures = printed(&report, "figures");
    CHECK(figures && strstr(figures, "colour = red") != NULL);
    CHECK(figures && !strstr(figures, "lanes")); /* at its default */
    CHECK(figures && !strstr(figures, "script") && !strstr(figures, "source of the options"));
    check_said(&report, "figures", "1970-01-01 00:00:02 UTC");
    free(figures);
    for (int i = 0; i < CS_REPORT_SECTIONS; i++)
        cs_table_fini(&report.section[i].table);
    cs_summary_fini(&report.all);
}

/* The advice is that of one run. If the policy only reports, a row has the size that is possible.
 */
static void the_conclusion_of_a_run(void)
{
    for (int reports = 0; reports < 2; reports++)
        for (int tiled = 0; tiled < 2; tiled++) {
            struct job job;
            static struct cs_report report;
            make(&job);
            memset(&report, 0, sizeof report);
            job.passed[0][0].id = reports ? "REPORT_ONLY" : "LAYOUT";
            job.run[0].tiled = 2 * tiled;
            job.run[0].extra_launches = 5;
            CHECK(cs_summary_merge(job.run, 1, &report.all));
            cs_report_sections(&report);
            CHECK_STR(report.conclusion, tiled ? "2 of 4 calls tiled, 5 extra launches. Try this."
                                               : "0 of 4 calls tiled, 5 extra launches. Try this.");
            CHECK_INT((int64_t)report.section[CS_REPORT_CONCLUSION].table.rows,
                      reports && !tiled ? 3 : 2);
            for (int i = 0; i < CS_REPORT_SECTIONS; i++)
                cs_table_fini(&report.section[i].table);
            cs_summary_fini(&report.all);
        }
}

int main(void)
{
    TEST(the_conclusion_of_a_run);
    TEST(runs_of_a_job);
    TEST(sums_that_leave_63_bits);
    TEST(tables_of_a_job);
    TEST(tables_of_another_version);
    return REPORT();
}
