/* The tables of a report on one run or the processes of one job. */
#include "cli/report/report.h"

#include "account/account.h"
#include "base/text.h"
#include "cli/common/json_tree.h"
#include "cli/layers/summary.h"
#include "config/option.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

const struct cs_report_heading cs_report_headings[CS_REPORT_TABLES] = {
    [CS_REPORT_CONCLUSION] = {"conclusion", "Conclusion", NULL},
    [CS_REPORT_SITES] = {"sites", "Convolutions", "Workspace of each convolution, largest first."},
    [CS_REPORT_FIGURES] = {"figures", "Figures", NULL},
    [CS_REPORT_PROCESSES] = {"processes", "Processes", "Largest workspace of each process."},
};

/* --- the conclusion --- */

static const struct cs_column conclusion_columns[] = {
    {"name", NULL, CS_CELL_TEXT},
    {"title", "what", CS_CELL_TEXT},
    {"saved", "saved", CS_CELL_BYTES},
    {"percent", "percent", CS_CELL_COUNT},
    {"without", "without convshim", CS_CELL_BYTES},
    {"with", "with convshim", CS_CELL_BYTES}};

/* True if the policy only reports, and no rule tiles. */
static bool only_reports(const cJSON *all)
{
    const cJSON *passed;
    cJSON_ArrayForEach(passed, cs_json_at(all, "totals.not_tiled"))
    {
        if (strcmp(cs_json_text_at(passed, "id", ""), "REPORT_ONLY") == 0)
            return cs_json_double(all, "totals.tiled") == 0;
    }
    return false;
}

/* Adds a row about the saving between two members of the summary, the sizes without and with
 * convshim. */
static void add_saved(struct cs_table *table, const char *name, const char *title, const cJSON *all,
                      const char *without_way, const char *with_way)
{
    const int64_t without = cs_json_whole_at(all, without_way, 0),
                  with = cs_json_whole_at(all, with_way, 0),
                  saved = without > with ? without - with : 0,
                  percent =
                      without > 0 ? (int64_t)(100 * (double)saved / (double)without + 0.5) : 0;
    char shown[CS_BYTES_TEXT];
    snprintf(shown, sizeof shown, "%" PRId64 " %%", percent);
    cs_table_add(table, (const struct cs_value[]){{.text = name},
                                                  {.text = title},
                                                  {.number = saved},
                                                  {.number = percent, .shown = shown},
                                                  {.number = without},
                                                  {.number = with}});
}

static void fill_conclusion(struct cs_report *report)
{
    struct cs_table *table = &report->table[CS_REPORT_CONCLUSION];
    const cJSON *all = report->all;
    const bool possible = only_reports(all), one = report->processes == 1;
    snprintf(report->conclusion, sizeof report->conclusion,
             "%" PRId64 " of %" PRId64 " calls tiled, %" PRId64 " extra launches.%s%s",
             cs_json_whole_at(all, "totals.tiled", 0), cs_json_whole_at(all, "totals.calls", 0),
             cs_json_whole_at(all, "totals.extra_launches", 0), one ? " " : "",
             one ? cs_json_text_at(all, "advice", "") : "");
    if (!possible && cs_json_double(all, "totals.allocated_without") > 0)
        add_saved(table, "allocated", "allocated peak", all, "totals.allocated_without",
                  "totals.allocated_with");
    else if (cs_json_double(all, "totals.peak_without") > 0)
        add_saved(table, "peak",
                  possible ? "peak of convolutions if policy = fit" : "peak of convolutions", all,
                  "totals.peak_without", "totals.peak_with");
    add_saved(table, "workspace", "largest workspace", all, "totals.required_max",
              "totals.reported_max");
    if (possible)
        add_saved(table, "possible", "largest workspace if policy = fit", all,
                  "totals.required_max", "totals.possible_max");
}

/* --- convolutions --- */

static const struct cs_column site_columns[] = {
    {"id", NULL, CS_CELL_TEXT},
    {"name", NULL, CS_CELL_TEXT},
    {"problem", "convolution", CS_CELL_TEXT},
    {"direction", "direction", CS_CELL_TEXT},
    {"state", NULL, CS_CELL_TEXT},
    {"calls", "calls", CS_CELL_COUNT},
    {"tiled", NULL, CS_CELL_COUNT},
    {"fallback", NULL, CS_CELL_COUNT},
    {"failed", NULL, CS_CELL_COUNT},
    {"launches", "tile launches", CS_CELL_COUNT},
    {"required", "required", CS_CELL_BYTES},
    {"reported", "reported", CS_CELL_BYTES},
    {"possible", NULL, CS_CELL_BYTES},
    {"host_ns", NULL, CS_CELL_COUNT},
    {"rule", NULL, CS_CELL_TEXT},
    {"state_text", "state", CS_CELL_TEXT},
};
static const char *const site_ways[] = {"id",       "name",     "problem.text", "problem.direction",
                                        NULL,       "calls",    "tiled",        "fallback",
                                        "failed",   "launches", "required",     "reported",
                                        "possible", "host_ns",  "rule",         NULL};

/* Returns the text of a reason, or its id if it is unknown, such as one of a newer library. */
static const char *reason_text(const char *id)
{
    for (int i = 0; i < CS_REASONS; i++)
        if (strcmp(cs_account_reason_id((enum cs_reason)i), id) == 0)
            return cs_account_reason_text((enum cs_reason)i);
    return id;
}

/* Writes the state of a site: "tiled, rule vae", "policy only reports, possible: 8 MiB". */
static void state_text(const cJSON *site, char *text, size_t size)
{
    const char *reason = cs_json_text(site, "reason"), *rule = cs_json_text(site, "rule");
    const int64_t possible = cs_json_whole_at(site, "possible", 0);
    struct cs_text line = {text, size, 0};
    char bytes[CS_BYTES_TEXT];
    cs_text_put(&line, "%s", reason ? reason_text(reason) : "tiled");
    if (reason && possible < cs_json_whole_at(site, "reported", 0))
        cs_text_put(&line, ", possible: %s", cs_table_bytes_text(bytes, possible));
    if (rule)
        cs_text_put(&line, ", rule %s", rule);
}

static void add_site(struct cs_table *table, const cJSON *site)
{
    enum {
        STATE = 4,
        STATE_TEXT = 15
    };
    const char *reason = cs_json_text(site, "reason");
    struct cs_value row[LENGTH(site_columns)];
    char state[256];
    state_text(site, state, sizeof state);
    cs_summary_row(site, site_columns, site_ways, LENGTH(site_columns), row);
    row[STATE] = (struct cs_value){.text = reason ? reason : "tiled"};
    row[STATE_TEXT] = (struct cs_value){.text = state};
    cs_table_add(table, row);
}

/* Orders sites by their required workspaces, the largest first. */
static int compare_sites(const void *left, const void *right)
{
    const cJSON *a = *(const cJSON *const *)left, *b = *(const cJSON *const *)right;
    const double first = cs_json_double(a, "required"), second = cs_json_double(b, "required");
    if (first != second)
        return first > second ? -1 : 1;
    return strcmp(cs_json_text_at(a, "id", ""), cs_json_text_at(b, "id", ""));
}

static void fill_sites(struct cs_report *report)
{
    struct cs_table *table = &report->table[CS_REPORT_SITES];
    const cJSON *sites = cs_json_at(report->all, "sites"), *site;
    const cJSON **sorted = calloc((size_t)cJSON_GetArraySize(sites) + 1, sizeof *sorted);
    size_t count = 0;
    table->broken = !sorted;
    if (!sorted)
        return;
    cJSON_ArrayForEach(site, sites)
    {
        sorted[count++] = site;
    }
    qsort(sorted, count, sizeof *sorted, compare_sites);
    for (size_t i = 0; i < count; i++)
        add_site(table, sorted[i]);
    free(sorted);
}

/* --- figures --- */

static const struct cs_column figure_columns[] = {{"name", NULL, CS_CELL_TEXT},
                                                  {"number", NULL, CS_CELL_COUNT},
                                                  {"title", "figure", CS_CELL_TEXT},
                                                  {"text", "value", CS_CELL_TEXT}};

/* A figure is a member of the summary. An empty text is left out. */
struct figure {
    const char *name, *title;
    enum cs_cell cell;
    const char *way;
};
/* The members that begin with "report." are those of add_derived. */
static const struct figure run_figures[] = {
    {"program", "program", CS_CELL_TEXT, "process.program"},
    {"script", "script", CS_CELL_TEXT, "process.script"},
    {"command", "command", CS_CELL_TEXT, "process.command"},
    {"device", "device", CS_CELL_TEXT, "device.name"},
    {"convshim", "convshim", CS_CELL_TEXT, "versions.convshim"},
    {"vendor", "vendor", CS_CELL_TEXT, "versions.vendor"},
    {"bypass", "bypassed by calls of", CS_CELL_TEXT, "bypass"},
    {"options", "options", CS_CELL_TEXT, "report.options"},
    {"source", "source of the options", CS_CELL_TEXT, "config.source"},
    {"started", "started", CS_CELL_TEXT, "report.started"},
    {"duration_ns", "duration", CS_CELL_TIME, "report.duration_ns"},
    {"processes", "processes", CS_CELL_COUNT, "report.processes"},
    {"calls", "convolutions", CS_CELL_COUNT, "totals.calls"},
    {"tiled", "  tiled", CS_CELL_COUNT, "totals.tiled"},
    {"fallback", "  on the fallback plan", CS_CELL_COUNT, "totals.fallback"},
    {"failed", "  failed", CS_CELL_COUNT, "totals.failed"},
};
static const struct figure last_figures[] = {
    {"launches", "tile launches", CS_CELL_COUNT, "totals.launches"},
    {"own_peak", "peak of convshim's own scratch", CS_CELL_BYTES, "own.peak"},
    {"host_ns", "host time of convshim", CS_CELL_TIME, "totals.host_ns"},
};

/* Writes a date from milliseconds since 1970: "2026-11-22 17:00:00 UTC". */
static void date_text(int64_t ms, char *text, size_t size)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    if (!gmtime_r(&seconds, &parts) || strftime(text, size, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
        snprintf(text, size, "-");
}

/* Writes the options that differ from their defaults: "workspace = 64MiB, lanes = 2". A long text
 * is cut. */
static void options_text(const cJSON *all, char *text, size_t size)
{
    struct cs_text line = {text, size, 0};
    const cJSON *option;
    text[0] = '\0';
    cJSON_ArrayForEach(option, cs_json_at(all, "config.options"))
    {
        const char *name = option->string, *value = cJSON_GetStringValue(option);
        if (!name || !value)
            continue;
        const int index = cs_option_find(name);
        if (index < 0 || strcmp(cs_options[index].value, value) != 0)
            cs_text_put(&line, "%s%s = %s", line.length ? ", " : "", name, value);
    }
}

/* Adds members that are computed from others to the summary. */
static void add_derived(const struct cs_report *report)
{
    cJSON *all = report->all, *derived = cJSON_AddObjectToObject(all, "report");
    const int64_t start = cs_json_whole_at(all, "process.start_ms", 0),
                  end = cs_json_whole_at(all, "process.end_ms", 0);
    char text[512];
    date_text(start, text, sizeof text);
    cJSON_AddStringToObject(derived, "started", text);
    options_text(all, text, sizeof text);
    cJSON_AddStringToObject(derived, "options", text);
    cJSON_AddNumberToObject(derived, "duration_ns", end > start ? 1e6 * (double)(end - start) : 0);
    cJSON_AddNumberToObject(derived, "processes", (double)report->processes);
}

/* Adds a row for each figure that the object has. */
static void add_figures(struct cs_table *table, const cJSON *object, const struct figure *figure,
                        int figures)
{
    for (int i = 0; i < figures; i++, figure++) {
        const struct cs_column column = {figure->name, figure->title, figure->cell};
        char buffer[CS_CELL_TEXT_BYTES];
        struct cs_value value;
        cs_summary_row(object, &column, &figure->way, 1, &value);
        const char *text = cs_table_text(&column, &value, true, buffer);
        if (*text && strcmp(text, "-") != 0)
            cs_table_add(table, (const struct cs_value[]){{.text = figure->name},
                                                          {.number = value.number},
                                                          {.text = figure->title},
                                                          {.text = text}});
    }
}

static void fill_figures(struct cs_report *report)
{
    struct cs_table *table = &report->table[CS_REPORT_FIGURES];
    const cJSON *passed;
    add_derived(report);
    add_figures(table, report->all, run_figures, LENGTH(run_figures));
    cJSON_ArrayForEach(passed, cs_json_at(report->all, "totals.not_tiled"))
    {
        char title[160], name[96];
        snprintf(title, sizeof title, "  not tiled: %.140s", cs_json_text_at(passed, "text", ""));
        snprintf(name, sizeof name, "not_tiled.%.70s", cs_json_text_at(passed, "id", ""));
        add_figures(table, passed, &(struct figure){name, title, CS_CELL_COUNT, "calls"}, 1);
    }
    add_figures(table, report->all, last_figures, LENGTH(last_figures));
}

/* --- processes --- */

static const struct cs_column process_columns[] = {
    {"rank", "rank", CS_CELL_COUNT},
    {"pid", "pid", CS_CELL_COUNT},
    {"program", "program", CS_CELL_TEXT},
    {"calls", "calls", CS_CELL_COUNT},
    {"tiled", "tiled", CS_CELL_COUNT},
    {"required_max", "required", CS_CELL_BYTES},
    {"reported_max", "reported", CS_CELL_BYTES},
    {"file", NULL, CS_CELL_TEXT},
};
static const char *const process_ways[] = {
    "process.rank", "process.pid",         "process.program",     "totals.calls",
    "totals.tiled", "totals.required_max", "totals.reported_max", NULL};

bool cs_report_add(struct cs_report *report, const char *path, cJSON *run)
{
    struct cs_value row[LENGTH(process_columns)];
    cs_summary_row(run, process_columns, process_ways, LENGTH(process_columns), row);
    row[LENGTH(process_columns) - 1] = (struct cs_value){.text = path};
    cs_table_add(&report->table[CS_REPORT_PROCESSES], row);
    report->processes++;
    return cs_summary_add(&report->all, run);
}

/* --- all of them --- */

void cs_report_init(struct cs_report *report)
{
    *report = (struct cs_report){.all = NULL};
    cs_table_init(&report->table[CS_REPORT_CONCLUSION], conclusion_columns,
                  LENGTH(conclusion_columns));
    cs_table_init(&report->table[CS_REPORT_SITES], site_columns, LENGTH(site_columns));
    cs_table_init(&report->table[CS_REPORT_FIGURES], figure_columns, LENGTH(figure_columns));
    cs_table_init(&report->table[CS_REPORT_PROCESSES], process_columns, LENGTH(process_columns));
}

void cs_report_fini(struct cs_report *report)
{
    for (int i = 0; i < CS_REPORT_TABLES; i++)
        cs_table_fini(&report->table[i]);
    cJSON_Delete(report->all);
}

bool cs_report_conclude(struct cs_report *report)
{
    bool good = true;
    cs_json_begin();
    fill_conclusion(report);
    fill_sites(report);
    fill_figures(report);
    for (int i = 0; i < CS_REPORT_TABLES; i++)
        good = good && !report->table[i].broken;
    return good && cs_json_complete();
}
