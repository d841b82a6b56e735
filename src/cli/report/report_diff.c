/* The sections of a report on two runs. */
#include "cli/report/report.h"

#include <string.h>

/* A member of struct cs_run_summary that is compared. */
static const struct figure {
    const char *name, *title;
    size_t offset;
    char *(*unit)(char text[CS_BYTES_TEXT], int64_t number); /* for people; NULL: none */
} figures[] = {
    {"calls", "convolutions", offsetof(struct cs_run_summary, calls), NULL},
    {"tiled", "tiled", offsetof(struct cs_run_summary, tiled_calls), NULL},
    {"fallback", "on the fallback plan", offsetof(struct cs_run_summary, fallback), NULL},
    {"failed", "failed", offsetof(struct cs_run_summary, failed), NULL},
    {"launches", "tile launches", offsetof(struct cs_run_summary, launches), NULL},
    {"peak_without", "peak of convolutions without convshim",
     offsetof(struct cs_run_summary, peak_without), cs_table_bytes_text},
    {"peak_with", "peak of convolutions with convshim", offsetof(struct cs_run_summary, peak_with),
     cs_table_bytes_text},
    {"required_max", "largest workspace without convshim",
     offsetof(struct cs_run_summary, required_max), cs_table_bytes_text},
    {"reported_max", "largest workspace with convshim",
     offsetof(struct cs_run_summary, reported_max), cs_table_bytes_text},
    {"own_peak", "peak of convshim's own scratch", offsetof(struct cs_run_summary, own_peak),
     cs_table_bytes_text},
    {"host_ns", "host time of convshim", offsetof(struct cs_run_summary, host_ns),
     cs_table_time_text},
};

/* With its sign; a text, as a table's numbers are none below 0. Both are from 0 to 2^63. */
static const char *change_text(int64_t a, int64_t b, char text[CS_CELL_TEXT_BYTES])
{
    snprintf(text, CS_CELL_TEXT_BYTES, a == b ? "0" : "%+lld", (long long)(b - a));
    return text;
}

/* The figures of two runs and their difference; for people in units. */
static void add_figure(struct cs_table *table, const struct figure *figure, int64_t a, int64_t b)
{
    char change[CS_CELL_TEXT_BYTES], left[CS_BYTES_TEXT], right[CS_BYTES_TEXT];
    char size[CS_BYTES_TEXT], shown[CS_BYTES_TEXT + 1];
    struct cs_value row[] = {{.text = figure->name},
                             {.text = figure->title},
                             {.number = a},
                             {.number = b},
                             {.text = change_text(a, b, change)}};
    if (figure->unit) {
        row[2].shown = figure->unit(left, a);
        row[3].shown = figure->unit(right, b);
        snprintf(shown, sizeof shown, "%c%s", a < b ? '+' : '-',
                 figure->unit(size, a < b ? b - a : a - b));
        row[4].shown = a == b ? NULL : shown;
    }
    cs_table_add(table, row);
}

static void add_figures(struct cs_report *report, const struct cs_run_summary *a,
                        const struct cs_run_summary *b)
{
    static const struct cs_column columns[] = {{"name", NULL, CS_CELL_TEXT},
                                               {"title", "figure", CS_CELL_TEXT},
                                               {"a", "first", CS_CELL_COUNT},
                                               {"b", "second", CS_CELL_COUNT},
                                               {"change", "change", CS_CELL_TEXT}};
    struct cs_section *section = &report->section[report->sections++];
    *section = (struct cs_section){.name = "figures", .title = "Figures", .most = SIZE_MAX};
    cs_table_init(&section->table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        int64_t left = *(const int64_t *)((const char *)a + figures[i].offset);
        int64_t right = *(const int64_t *)((const char *)b + figures[i].offset);
        add_figure(&section->table, &figures[i], left, right);
    }
}

static const struct cs_summary_site *find_site(const struct cs_run_summary *run, const char *id)
{
    for (size_t i = 0; i < run->sites; i++)
        if (strcmp(run->site[i].id, id) == 0)
            return &run->site[i];
    return NULL;
}

static bool same_site(const struct cs_summary_site *a, const struct cs_summary_site *b)
{
    return a && b && a->calls == b->calls && a->required == b->required &&
           a->reported == b->reported && !a->reason == !b->reason;
}

static void add_site(struct cs_table *table, const struct cs_summary_site *a,
                     const struct cs_summary_site *b)
{
    const struct cs_value row[] = {{.text = a ? a->id : b->id},
                                   {.text = a ? a->text : b->text},
                                   {.text = cs_report_direction(a ? a : b)},
                                   {.number = a ? a->calls : -1},
                                   {.number = b ? b->calls : -1},
                                   {.number = a ? a->required : -1},
                                   {.number = b ? b->required : -1},
                                   {.number = a ? a->reported : -1},
                                   {.number = b ? b->reported : -1}};
    cs_table_add(table, row);
}

static void add_sites(struct cs_report *report, const struct cs_run_summary *a,
                      const struct cs_run_summary *b)
{
    static const struct cs_column columns[] = {{"id", NULL, CS_CELL_TEXT},
                                               {"problem", "convolution", CS_CELL_TEXT},
                                               {"direction", "direction", CS_CELL_TEXT},
                                               {"calls_a", "calls, first", CS_CELL_COUNT},
                                               {"calls_b", "calls, second", CS_CELL_COUNT},
                                               {"required_a", "required, first", CS_CELL_BYTES},
                                               {"required_b", "required, second", CS_CELL_BYTES},
                                               {"reported_a", "reported, first", CS_CELL_BYTES},
                                               {"reported_b", "reported, second", CS_CELL_BYTES}};
    struct cs_section *section = &report->section[report->sections++];
    *section = (struct cs_section){.name = "sites",
                                   .title = "Convolutions that differ",
                                   .note = "-: not in this run.",
                                   .most = SIZE_MAX};
    cs_table_init(&section->table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < a->sites; i++) {
        const struct cs_summary_site *other = find_site(b, a->site[i].id);
        if (!same_site(&a->site[i], other))
            add_site(&section->table, &a->site[i], other);
    }
    for (size_t i = 0; i < b->sites; i++)
        if (!find_site(a, b->site[i].id))
            add_site(&section->table, NULL, &b->site[i]);
}

static void add_option(struct cs_table *table, const char *name, const char *a, const char *b)
{
    const struct cs_value row[] = {{.text = name}, {.text = *a ? a : "-"}, {.text = *b ? b : "-"}};
    if (strcmp(a, b) != 0)
        cs_table_add(table, row);
}

/* Adds the options in which the runs differ, and differences in program, command, device and
 * versions. */
static void add_options(struct cs_report *report, const struct cs_run_summary *a,
                        const struct cs_run_summary *b)
{
    static const struct cs_column columns[] = {{"option", "option", CS_CELL_TEXT},
                                               {"a", "first", CS_CELL_TEXT},
                                               {"b", "second", CS_CELL_TEXT}};
    struct cs_section *section = &report->section[report->sections++];
    *section = (struct cs_section){
        .name = "options", .title = "Options and environment that differ", .most = SIZE_MAX};
    cs_table_init(&section->table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < a->options; i++)
        add_option(&section->table, a->option[i].name, a->option[i].value,
                   cs_report_option(b, a->option[i].name));
    for (size_t i = 0; i < b->options; i++)
        if (!*cs_report_option(a, b->option[i].name))
            add_option(&section->table, b->option[i].name, "", b->option[i].value);
    add_option(&section->table, "(program)", a->program, b->program);
    add_option(&section->table, "(command)", a->command, b->command);
    add_option(&section->table, "(device)", a->device, b->device);
    add_option(&section->table, "(cuDNN)", a->vendor, b->vendor);
    add_option(&section->table, "(convshim)", a->convshim, b->convshim);
}

void cs_report_diff(struct cs_report *report, const struct cs_run_summary *a,
                    const struct cs_run_summary *b)
{
    add_options(report, a, b);
    add_figures(report, a, b);
    add_sites(report, a, b);
}
