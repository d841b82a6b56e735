/* Renders the sections of a report as text, Markdown, CSV and JSON. */
#include "cli/report/report.h"

#include "cli/common/json_tree.h"

#include <cjson/cJSON.h>
#include <string.h>

/* Prints the first `most` rows of a section, and below them the number of omitted rows. */
static bool print_section(const struct cs_section *section, bool markdown, FILE *out)
{
    struct cs_table shown = section->table;
    if (shown.broken)
        return false;
    if (shown.rows == 0 || section->most == 0)
        return true;
    shown.rows = shown.rows < section->most ? shown.rows : section->most;
    fprintf(out, markdown ? "\n## %s\n\n" : "\n%s\n", section->title);
    if (section->note)
        fprintf(out, markdown ? "%s\n\n" : "%s\n", section->note);
    if (markdown)
        cs_table_markdown(&shown, out);
    else if (!cs_table_print(&shown, CS_FORMAT_TEXT, out))
        return false;
    if (shown.rows < section->table.rows)
        fprintf(out, "%s... and %zu more\n", markdown ? "\n" : "",
                section->table.rows - shown.rows);
    return true;
}

static bool print_people(const struct cs_report *report, bool markdown, FILE *out)
{
    fputs(markdown ? "# convshim report\n" : "convshim report\n", out);
    for (size_t i = 0; i < report->sections; i++)
        if (!print_section(&report->section[i], markdown, out))
            return false;
    return true;
}

static bool print_json(const struct cs_report *report, FILE *out)
{
    cs_json_begin();
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "schema", "convshim report");
    cJSON_AddNumberToObject(root, "version", 1);
    for (size_t i = 0; i < report->sections; i++)
        cs_json_add(root, report->section[i].name, cs_table_json(&report->section[i].table));
    return cs_json_print(root, out);
}

bool cs_report_print(const struct cs_report *report, enum cs_report_format format,
                     const char *table, FILE *out)
{
    if (format == CS_REPORT_JSON)
        return print_json(report, out);
    if (format != CS_REPORT_CSV)
        return print_people(report, format == CS_REPORT_MARKDOWN, out);
    for (size_t i = 0; i < report->sections; i++)
        if (strcmp(report->section[i].name, table) == 0)
            return cs_table_print(&report->section[i].table, CS_FORMAT_CSV, out);
    return false;
}
