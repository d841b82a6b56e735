/* The sections of a report on one run or the processes of one job. */
#include "cli/report/report.h"

#include "base/text.h"
#include "config/option.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CELL_TEXT = 256 /* of a long cell */
};

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

static struct cs_table *begin_section(struct cs_report *report, enum cs_report_section section,
                                      const char *name, const char *title, const char *note,
                                      const struct cs_column *column, int columns)
{
    struct cs_section *begun = &report->section[section];
    *begun = (struct cs_section){.name = name, .title = title, .note = note};
    cs_table_init(&begun->table, column, columns);
    return &begun->table;
}

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

static void add_saved(struct cs_table *table, const char *name, const char *title, int64_t without,
                      int64_t with)
{
    char percent[CS_BYTES_TEXT] = "-";
    int64_t saved = without > with ? without - with : 0;
    /* As doubles, because the product may exceed 63 bits. */
    int64_t share = without > 0 ? (int64_t)(100 * (double)saved / (double)without + 0.5) : 0;
    snprintf(percent, sizeof percent, "%" PRId64 " %%", share);
    const struct cs_value row[] = {{.text = name},      {.text = title},
                                   {.number = saved},   {.number = share, .shown = percent},
                                   {.number = without}, {.number = with}};
    cs_table_add(table, row);
}

static void add_conclusion(struct cs_report *report)
{
    static const struct cs_column columns[] = {{"name", NULL, CS_CELL_TEXT},
                                               {"title", "what", CS_CELL_TEXT},
                                               {"saved", "saved", CS_CELL_BYTES},
                                               {"percent", "percent", CS_CELL_COUNT},
                                               {"without", "without convshim", CS_CELL_BYTES},
                                               {"with", "with convshim", CS_CELL_BYTES}};
    const struct cs_run_summary *all = &report->all;
    snprintf(report->conclusion, sizeof report->conclusion,
             "%" PRId64 " of %" PRId64 " calls tiled, %" PRId64 " extra launches.%s%s", all->tiled,
             all->calls, all->extra_launches, all->runs > 1 ? "" : " ",
             all->runs > 1 ? "" : all->advice);
    struct cs_table *table = begin_section(report, CS_REPORT_CONCLUSION, "conclusion", "Conclusion",
                                           report->conclusion, columns, LENGTH(columns));
    if (all->peak_without > 0)
        add_saved(table, "peak",
                  only_reports(all) ? "peak of convolutions if policy = fit"
                                    : "peak of convolutions",
                  all->peak_without, all->peak_with);
    add_saved(table, "workspace", "largest workspace", all->required_max, all->reported_max);
    if (only_reports(all))
        add_saved(table, "possible", "largest workspace if policy = fit", all->required_max,
                  all->possible_max);
}

static void add_text(struct cs_table *table, const char *name, const char *title, const char *text)
{
    const struct cs_value row[] = {
        {.text = name}, {.number = -1}, {.text = title}, {.text = *text ? text : "-"}};
    cs_table_add(table, row);
}

static void add_number(struct cs_table *table, const char *name, const char *title,
                       enum cs_cell cell, int64_t number)
{
    char buffer[CS_CELL_TEXT_BYTES];
    const struct cs_column column = {name, title, cell};
    const struct cs_value value = {.number = number};
    const struct cs_value row[] = {{.text = name},
                                   {.number = number},
                                   {.text = title},
                                   {.text = cs_table_text(&column, &value, true, buffer)}};
    cs_table_add(table, row);
}

static void add_calls(struct cs_table *table, const struct cs_run_summary *all)
{
    char time[CS_BYTES_TEXT];
    add_number(table, "calls", "convolutions", CS_CELL_COUNT, all->calls);
    add_number(table, "tiled", "  tiled", CS_CELL_COUNT, all->tiled);
    add_number(table, "fallback", "  on the fallback plan", CS_CELL_COUNT, all->fallback);
    add_number(table, "failed", "  failed", CS_CELL_COUNT, all->failed);
    for (size_t i = 0; i < all->passed_count; i++) {
        char title[160], name[96];
        snprintf(title, sizeof title, "  not tiled: %.140s", all->passed[i].text);
        snprintf(name, sizeof name, "not_tiled.%.70s", all->passed[i].id);
        add_number(table, name, title, CS_CELL_COUNT, all->passed[i].calls);
    }
    add_number(table, "launches", "tile launches", CS_CELL_COUNT, all->launches);
    const struct {
        const char *name, *title;
        int64_t bytes;
    } sizes[] = {
        {"peak_without", "peak of convolutions without convshim",
         all->peak_without > 0 ? all->peak_without : -1},
        {"peak_with", "peak of convolutions with convshim",
         all->peak_with > 0 ? all->peak_with : -1},
        {"required_max", "largest workspace without convshim", all->required_max},
        {"reported_max", "largest workspace with convshim", all->reported_max},
        {"own_peak", "peak of convshim's own scratch", all->own_peak},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        add_number(table, sizes[i].name, sizes[i].title, CS_CELL_BYTES, sizes[i].bytes);
    const struct cs_value host[] = {{.text = "host_ns"},
                                    {.number = all->host_ns},
                                    {.text = "host time of convshim"},
                                    {.text = cs_table_time_text(time, all->host_ns)}};
    cs_table_add(table, host);
}

/* "2026-11-22 17:00:00 UTC" */
static void date_text(int64_t ms, char *text, size_t size)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    if (!gmtime_r(&seconds, &parts) || strftime(text, size, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
        snprintf(text, size, "-");
}

/* Options that differ from their defaults, such as "lanes = 2, policy = off". A long text is
 * cut. */
static void others_text(const struct cs_run_summary *all, char *text, size_t size)
{
    struct cs_text line = {text, size, 0};
    text[0] = '\0';
    for (size_t i = 0; i < all->options; i++) {
        const struct cs_run_option *option = &all->option[i];
        int index = cs_option_find(option->name);
        bool shown = strcmp(option->name, "workspace") == 0 || strcmp(option->name, "policy") == 0;
        if (shown || (index >= 0 && strcmp(cs_options[index].value, option->value) == 0))
            continue;
        cs_text_put(&line, "%s%s = %s", line.length ? ", " : "", option->name, option->value);
    }
}

/* Adds rows about the run: command, time and options. */
static void add_run(struct cs_table *table, const struct cs_run_summary *all)
{
    char text[512], time[CS_BYTES_TEXT];
    if (*all->script)
        add_text(table, "script", "script", all->script);
    if (*all->command)
        add_text(table, "command", "command", all->command);
    date_text(all->start_ms, text, sizeof text);
    add_text(table, "started", "started", text);
    int64_t lasted = all->end_ms > all->start_ms ? all->end_ms - all->start_ms : 0;
    const struct cs_value row[] = {
        {.text = "duration_ms"},
        {.number = lasted},
        {.text = "duration"},
        {.text = cs_table_time_text(time, lasted < INT64_MAX / 1000000 ? lasted * 1000000 : 0)}};
    cs_table_add(table, row);
    add_text(table, "policy", "policy", cs_report_option(all, "policy"));
    add_text(table, "workspace", "limit of a convolution", cs_report_option(all, "workspace"));
    others_text(all, text, sizeof text);
    if (*text)
        add_text(table, "options", "other options", text);
    if (*all->source)
        add_text(table, "source", "source of the options", all->source);
}

static void add_figures(struct cs_report *report)
{
    static const struct cs_column columns[] = {{"name", NULL, CS_CELL_TEXT},
                                               {"number", NULL, CS_CELL_COUNT},
                                               {"title", "figure", CS_CELL_TEXT},
                                               {"text", "value", CS_CELL_TEXT}};
    const struct cs_run_summary *all = &report->all;
    struct cs_table *table = begin_section(report, CS_REPORT_FIGURES, "figures", "Figures", NULL,
                                           columns, LENGTH(columns));
    add_text(table, "program", "program", all->program);
    add_text(table, "device", "device", all->device);
    add_text(table, "convshim", "convshim", all->convshim);
    add_text(table, "vendor", "vendor", all->vendor);
    add_number(table, "processes", "processes", CS_CELL_COUNT, all->runs);
    if (*all->bypass)
        add_text(table, "bypass", "bypassed by calls of", all->bypass);
    add_run(table, all);
    add_calls(table, all);
}

static void add_processes(struct cs_report *report)
{
    static const struct cs_column columns[] = {{"rank", "rank", CS_CELL_COUNT},
                                               {"pid", "pid", CS_CELL_COUNT},
                                               {"program", "program", CS_CELL_TEXT},
                                               {"calls", "calls", CS_CELL_COUNT},
                                               {"tiled", "tiled", CS_CELL_COUNT},
                                               {"required_max", "required", CS_CELL_BYTES},
                                               {"reported_max", "reported", CS_CELL_BYTES},
                                               {"file", NULL, CS_CELL_TEXT}};
    struct cs_table *table =
        begin_section(report, CS_REPORT_PROCESSES, "processes", "Processes",
                      "Largest workspace of each process.", columns, LENGTH(columns));
    for (size_t i = 0; i < report->runs; i++) {
        const struct cs_run_summary *run = &report->run[i];
        const struct cs_value row[] = {{.number = run->rank},         {.number = run->pid},
                                       {.text = run->program},        {.number = run->calls},
                                       {.number = run->tiled},        {.number = run->required_max},
                                       {.number = run->reported_max}, {.text = run->path}};
        cs_table_add(table, row);
    }
}

static int compare_sites(const void *left, const void *right)
{
    const struct cs_summary_site *a = *(const struct cs_summary_site *const *)left,
                                 *b = *(const struct cs_summary_site *const *)right;
    if (a->required != b->required)
        return a->required > b->required ? -1 : 1;
    return strcmp(a->id, b->id);
}

/* The text of a reason, or its id if it is unknown, such as one of a newer library. */
static const char *reason_text(const char *id)
{
    static const struct {
        const char *id, *text;
    } reasons[] = {
#define CS_REASON(id, text) {#id, text},
#include "convshim/reasons.def"
#undef CS_REASON
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i].id, id) == 0)
            return reasons[i].text;
    return id;
}

/* "tiled, rule vae", "policy only reports, possible: 8 MiB" */
static const char *state_text(const struct cs_summary_site *site, char text[CELL_TEXT])
{
    char size[CS_BYTES_TEXT];
    const bool possible = site->reason && site->possible < site->reported;
    snprintf(text, CELL_TEXT, "%.80s%s%s%s%.64s",
             site->reason ? reason_text(site->reason) : "tiled", possible ? ", possible: " : "",
             possible ? cs_table_bytes_text(size, site->possible) : "", site->rule ? ", rule " : "",
             site->rule ? site->rule : "");
    return text;
}

static void add_site(struct cs_table *table, const struct cs_summary_site *site)
{
    char state[CELL_TEXT];
    const struct cs_value row[] = {
        {.text = site->id},
        {.text = *site->name ? site->name : NULL},
        {.text = site->text},
        {.text = site->direction},
        {.text = site->reason ? site->reason : "tiled", .shown = state_text(site, state)},
        {.number = site->calls},
        {.number = site->tiled},
        {.number = site->fallback},
        {.number = site->failed},
        {.number = site->launches},
        {.number = site->required},
        {.number = site->reported},
        {.number = site->possible},
        {.number = site->host_ns},
        {.text = site->rule}};
    cs_table_add(table, row);
}

static void add_sites(struct cs_report *report)
{
    static const struct cs_column columns[] = {{"id", NULL, CS_CELL_TEXT},
                                               {"name", NULL, CS_CELL_TEXT},
                                               {"problem", "convolution", CS_CELL_TEXT},
                                               {"direction", "direction", CS_CELL_TEXT},
                                               {"state", "state", CS_CELL_TEXT},
                                               {"calls", "calls", CS_CELL_COUNT},
                                               {"tiled", NULL, CS_CELL_COUNT},
                                               {"fallback", NULL, CS_CELL_COUNT},
                                               {"failed", NULL, CS_CELL_COUNT},
                                               {"launches", "tile launches", CS_CELL_COUNT},
                                               {"required", "required", CS_CELL_BYTES},
                                               {"reported", "reported", CS_CELL_BYTES},
                                               {"possible", NULL, CS_CELL_BYTES},
                                               {"host_ns", NULL, CS_CELL_COUNT},
                                               {"rule", NULL, CS_CELL_TEXT}};
    const struct cs_run_summary *all = &report->all;
    struct cs_table *table =
        begin_section(report, CS_REPORT_SITES, "sites", "Convolutions",
                      "Workspace of each convolution, largest first.", columns, LENGTH(columns));
    const struct cs_summary_site **sorted = calloc(all->sites + 1, sizeof *sorted);
    table->broken = !sorted;
    for (size_t i = 0; sorted && i < all->sites; i++)
        sorted[i] = &all->site[i];
    if (sorted)
        qsort(sorted, all->sites, sizeof *sorted, compare_sites);
    for (size_t i = 0; sorted && i < all->sites; i++)
        add_site(table, sorted[i]);
    free(sorted);
}

void cs_report_sections(struct cs_report *report)
{
    add_conclusion(report);
    add_sites(report);
    add_figures(report);
    add_processes(report);
}
