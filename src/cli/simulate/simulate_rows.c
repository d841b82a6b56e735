/* Tables of results: a row for each device or each value of --vary, and the CSV of one result. */
#include "cli/simulate/simulate.h"

#include "cli/common/json_tree.h"
#include <cjson/cJSON.h>
#include <string.h>

enum {
    DEVICES = 1,
    VALUES = 2,
    FIGURES = 2 /* the first of two columns for each figure */
};

/* The columns for programs. The members of the result that they show, and the tables in which
 * people see them. */
static const struct {
    struct cs_column column;
    const char *member;
    int tables;
} columns[] = {
    {{"name", "", CS_CELL_TEXT}, "name", DEVICES | VALUES},
    {{"memory", "memory", CS_CELL_BYTES}, "memory", DEVICES},
#define CS_FIGURE(name, title, column, tables, cell, value)                                        \
    {{#name "_without", column, cell}, "without." #name, tables},                                  \
        {{#name "_with", "with", cell}, "with." #name, tables},
#include "cli/simulate/figures.def"
#undef CS_FIGURE
    {{"smallest_capacity_without", "smallest", CS_CELL_BYTES},
     "without.smallest_capacity",
     DEVICES | VALUES},
    {{"smallest_capacity_with", "with", CS_CELL_BYTES}, "with.smallest_capacity", DEVICES | VALUES},
    {{"answer_without", "fits", CS_CELL_TEXT}, "without.answer", DEVICES | VALUES},
    {{"answer_with", "with", CS_CELL_TEXT}, "with.answer", DEVICES | VALUES}};

enum {
    COLUMNS = sizeof columns / sizeof *columns
};

static void add_row(struct cs_table *table, const cJSON *result)
{
    struct cs_value value[COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        value[i] = (struct cs_value){.text = cs_json_text(result, columns[i].member),
                                     .number = cs_json_whole_at(result, columns[i].member, -1)};
    cs_table_add(table, value);
}

static bool has_value(const cJSON *results, const char *member)
{
    const cJSON *result;
    cJSON_ArrayForEach(result, results)
    {
        if (cs_json_at(result, member))
            return true;
    }
    return false;
}

/* Makes the table; the caller frees it. People see the columns of the kind of rows that have a
 * value. A column "with" that follows no column of the other run has the figure's title. */
static void make_table(const cJSON *results, const char *title, struct cs_table *table)
{
    static struct cs_column shown[COLUMNS];
    const int kind = strcmp(title, CS_ROWS_DEVICES) == 0 ? DEVICES : VALUES;
    const cJSON *result;
    for (int i = 0; i < COLUMNS; i++) {
        shown[i] = columns[i].column;
        if (!(columns[i].tables & kind) || !has_value(results, columns[i].member))
            shown[i].title = NULL;
        else if (i >= FIGURES && i % CS_SIDES == CS_WITH && !shown[i - 1].title)
            shown[i].title = columns[i - 1].column.title;
    }
    shown[0].title = title;
    cs_table_init(table, shown, COLUMNS);
    cJSON_ArrayForEach(result, results)
    {
        add_row(table, result);
    }
}

bool cs_rows_print(const struct cJSON *results, const char *title, enum cs_format format)
{
    struct cs_table table;
    make_table(results, title, &table);
    const bool printed = cs_table_print(&table, format, stdout);
    cs_table_fini(&table);
    return printed;
}

struct cJSON *cs_rows_json(const struct cs_simulated_program *program, const struct cJSON *results,
                           const char *title)
{
    struct cs_table table;
    cJSON *root = cJSON_CreateObject();
    make_table(results, title, &table);
    cJSON_AddNumberToObject(root, "version", CS_SIMULATE_JSON_VERSION);
    cs_json_add(root, "command", cs_simulate_command_json(program));
    cJSON_AddStringToObject(root, "rows_of", title);
    cs_json_add(root, "rows", cs_table_json(&table));
    cs_table_fini(&table);
    return root;
}

/* --- one result --- */

/* The text of a number or a text. NULL: it is absent. */
static const char *text_of(const cJSON *item, char number[CS_CELL_TEXT_BYTES])
{
    if (!cJSON_IsNumber(item))
        return cJSON_GetStringValue(item);
    snprintf(number, CS_CELL_TEXT_BYTES, "%.0f", item->valuedouble);
    return number;
}

static void add_member(struct cs_table *table, const cJSON *result, const char *name,
                       const char *member)
{
    char number[CS_SIDES][CS_CELL_TEXT_BYTES];
    struct cs_value row[1 + CS_SIDES] = {{.text = name}};
    for (int side = 0; side < CS_SIDES; side++)
        row[1 + side].text =
            text_of(cs_json_at(cs_json_at(result, cs_side_names[side]), member), number[side]);
    cs_table_add(table, row);
}

bool cs_simulate_print_csv(const struct cJSON *result)
{
    static const struct cs_column of_csv[] = {
        {"figure", "", CS_CELL_TEXT}, {"without", "", CS_CELL_TEXT}, {"with", "", CS_CELL_TEXT}};
    static const char *const smallest[] = {"smallest_capacity", "smallest_capacity_same_engines"};
    struct cs_table table;
    cs_table_init(&table, of_csv, sizeof of_csv / sizeof *of_csv);
    for (int i = 0; i < CS_FIGURES; i++)
        add_member(&table, result, cs_figures[i].name, cs_figures[i].name);
    for (size_t i = 0; i < sizeof smallest / sizeof *smallest; i++)
        if (cs_result_number(result, CS_WITHOUT, smallest[i]) >= 0 ||
            cs_result_number(result, CS_WITH, smallest[i]) >= 0)
            add_member(&table, result, smallest[i], smallest[i]);
    add_member(&table, result, "fits", "answer");
    add_member(&table, result, "status", "status");
    add_member(&table, result, "verdict", "verdict");
    const bool printed = cs_table_print(&table, CS_FORMAT_CSV, stdout);
    cs_table_fini(&table);
    return printed;
}
