/* The first section of a report: the savings and the advice of the run. */
#include "cli/report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *cs_report_option(const struct cs_run_summary *run, const char *name)
{
    for (size_t i = 0; i < run->options; i++)
        if (strcmp(run->option[i].name, name) == 0)
            return run->option[i].value;
    return "";
}

/* True if the policy only reports, and no rule tiles. */
static bool only_reports(const struct cs_run_summary *run)
{
    for (size_t i = 0; i < run->passed_count; i++)
        if (strcmp(run->passed[i].id, "REPORT_ONLY") == 0 && run->passed[i].calls > 0)
            return run->tiled == 0;
    return false;
}

static void add_saved(struct cs_table *table, const char *name, const char *title, int64_t before,
                      int64_t after)
{
    char percent[CS_BYTES_TEXT] = "-";
    int64_t saved = before > after ? before - after : 0;
    /* As doubles, because the product may exceed 63 bits. */
    int64_t share = before > 0 ? (int64_t)(100 * (double)saved / (double)before + 0.5) : 0;
    snprintf(percent, sizeof percent, "%" PRId64 " %%", share);
    const struct cs_value row[] = {{.text = name},     {.text = title},
                                   {.number = saved},  {.number = share, .shown = percent},
                                   {.number = before}, {.number = after}};
    cs_table_add(table, row);
}

void cs_report_conclude(struct cs_report *report)
{
    static const struct cs_column columns[] = {{"name", NULL, CS_CELL_TEXT},
                                               {"title", "what", CS_CELL_TEXT},
                                               {"saved", "saved", CS_CELL_BYTES},
                                               {"percent", "percent", CS_CELL_COUNT},
                                               {"without", "without convshim", CS_CELL_BYTES},
                                               {"with", "with convshim", CS_CELL_BYTES}};
    const struct cs_run_summary *all = &report->all;
    char peak[96];
    struct cs_section *section = &report->section[CS_REPORT_CONCLUSION];
    snprintf(report->conclusion, sizeof report->conclusion,
             "%" PRId64 " of %" PRId64 " calls tiled, %" PRId64 " extra launches.%s%s", all->tiled,
             all->calls, all->extra_launches, all->runs > 1 ? "" : " ",
             all->runs > 1 ? "" : all->advice);
    *section = (struct cs_section){
        .name = "conclusion", .title = "Conclusion", .note = report->conclusion};
    cs_table_init(&section->table, columns, sizeof columns / sizeof *columns);
    if (all->framework && all->allocated_without > 0) {
        snprintf(peak, sizeof peak, "allocated peak, by %.60s", all->framework);
        add_saved(&section->table, "allocated_peak", peak, all->allocated_without,
                  all->allocated_with);
    }
    if (all->peak_without > 0)
        add_saved(&section->table, "peak",
                  only_reports(all) ? "peak of convolutions if policy = fit"
                                    : "peak of convolutions",
                  all->peak_without, all->peak_with);
    add_saved(&section->table, "workspace", "largest workspace", all->required_max,
              all->reported_max);
    if (only_reports(all))
        add_saved(&section->table, "possible", "largest workspace if policy = fit",
                  all->required_max, all->possible_max);
}
