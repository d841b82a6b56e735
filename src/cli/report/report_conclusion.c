/* The first section of a report: the savings, and advice for larger ones. */
#include "cli/report/report.h"

#include "config/config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MANY = 32 /* tiles of a call, from which on the report mentions their launches */
};

const char *cs_report_option(const struct cs_run_summary *run, const char *name)
{
    for (size_t i = 0; i < run->options; i++)
        if (strcmp(run->option[i].name, name) == 0)
            return run->option[i].value;
    return "";
}

static int64_t passed_for(const struct cs_run_summary *run, const char *id)
{
    for (size_t i = 0; i < run->passed_count; i++)
        if (strcmp(run->passed[i].id, id) == 0)
            return run->passed[i].calls;
    return 0;
}

/* True if the policy only reports, and no rule tiles. */
static bool only_reports(const struct cs_run_summary *run)
{
    return passed_for(run, "REPORT_ONLY") > 0 && run->tiled == 0;
}

/* Multiplies the run's workspace limit by `times`, as the text of an option; "" if the limit is not
 * known. */
static void larger_limit(const struct cs_run_summary *run, int64_t times, char text[CS_BYTES_TEXT])
{
    int64_t bytes;
    text[0] = '\0';
    if (cs_config_size(cs_report_option(run, "workspace"), &bytes) && bytes > 0 &&
        bytes < INT64_MAX / times)
        cs_table_bytes_text(text, bytes * times);
}

static void advise_nothing_tiled(const struct cs_run_summary *all, char *text, size_t size)
{
    char more[CS_BYTES_TEXT], largest[CS_BYTES_TEXT];
    larger_limit(all, 4, more);
    cs_table_bytes_text(largest, all->required_max);
    if (only_reports(all))
        snprintf(text, size, "Policy off only reports. To tile: policy = fit.");
    else if (passed_for(all, "NO_TILING") > 0)
        snprintf(text, size, "No tiling fits the limit. Try a larger workspace%s%s.",
                 *more ? ", as " : "", more);
    else if (passed_for(all, "PROVIDED") > 0)
        snprintf(text, size,
                 "Nothing was tiled, because the program allocates its own workspaces.");
    else if (all->required_max == 0)
        snprintf(text, size,
                 "Nothing was tiled, because no convolution requires workspace (common with "
                 "channels-last tensors).");
    else
        snprintf(text, size,
                 "Nothing was tiled, because no convolution requires more than the threshold. The "
                 "largest requires %s.",
                 largest);
}

/* Writes the most important advice as one sentence, or "". */
static void write_advice(const struct cs_report *report, char *text, size_t size)
{
    char more[CS_BYTES_TEXT];
    const struct cs_run_summary *all = &report->all;
    text[0] = '\0';
    larger_limit(all, 4, more);
    if (*all->bypass)
        snprintf(text, size,
                 "Some calls bypass convshim (%.80s). To find out why: convshim doctor -- COMMAND.",
                 all->bypass);
    else if (all->tiled + all->fallback + all->failed == 0)
        advise_nothing_tiled(all, text, size);
    else if (all->failed > 0)
        snprintf(text, size,
                 "%" PRId64 " calls failed after their first launch. Please report this.",
                 all->failed);
    else if (all->fallback > 0)
        snprintf(text, size,
                 "%" PRId64 " calls ran in one piece on the fallback plan, which is slow.",
                 all->fallback);
    else if (passed_for(all, "NO_TILING") > 0 && *more)
        snprintf(text, size, "%" PRId64 " calls have no tiling that fits. Try workspace = %s.",
                 passed_for(all, "NO_TILING"), more);
    else if (all->tiled > 0 && all->launches / all->tiled >= MANY && *more)
        snprintf(text, size, "%" PRId64 " tiles per call take time. workspace = %s needs fewer.",
                 all->launches / all->tiled, more);
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
    char advice[160], peak[96];
    struct cs_section *section = &report->section[CS_REPORT_CONCLUSION];
    write_advice(report, advice, sizeof advice);
    snprintf(report->conclusion, sizeof report->conclusion,
             "%" PRId64 " of %" PRId64 " calls tiled, %" PRId64 " extra launches.%s%s", all->tiled,
             all->calls, all->extra_launches, *advice ? " " : "", advice);
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
