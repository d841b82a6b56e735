/* Tables of results: a row for each device, or for each value of --vary. */
#include "cli/simulate/simulate.h"

#include "cli/common/json_tree.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEVICES = 1,
    VALUES = 2,
    OF_RUNS = 2 /* the first column of the runs, which have two for each member */
};

#define RUNS(name, title, cell, tables)                                                            \
    {{name "_without", title, cell}, "without." name, tables},                                     \
    {                                                                                              \
        {name "_with", "with", cell}, "with." name, tables                                         \
    }

/* The columns, the members of a result that they have, and the tables in which people see them. */
static const struct {
    struct cs_column column;
    const char *member;
    int tables;
} columns[] = {
    {{"name", "", CS_CELL_TEXT}, "name", DEVICES | VALUES},
    {{"memory", "memory", CS_CELL_BYTES}, "memory", DEVICES},
#define CS_FIGURE(name, title, column, tables, cell, value) RUNS(#name, column, cell, tables),
#include "cli/simulate/figures.def"
#undef CS_FIGURE
    RUNS("answer", "fits", CS_CELL_TEXT, DEVICES | VALUES),
    RUNS("status", NULL, CS_CELL_COUNT, 0),
    RUNS("verdict", NULL, CS_CELL_TEXT, 0),
};

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

/* The order of values that are numbers. */
static int by_number(const void *left, const void *right)
{
    const struct cs_value *a = left, *b = right;
    const double x = strtod(a->text, NULL), y = strtod(b->text, NULL);
    return (x > y) - (x < y);
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
        else if (i >= OF_RUNS && i % CS_SIDES == CS_WITH && !shown[i - 1].title)
            shown[i].title = columns[i - 1].column.title;
    }
    shown[0].title = title;
    cs_table_init(table, shown, COLUMNS);
    cJSON_ArrayForEach(result, results)
    {
        add_row(table, result);
    }
    if (kind == VALUES && !table->broken)
        qsort(table->value, table->rows, COLUMNS * sizeof *table->value, by_number);
}

bool cs_rows_print(const struct cJSON *results, const char *title, enum cs_format format)
{
    struct cs_table table;
    make_table(results, title, &table);
    const bool printed = cs_table_print(&table, format, stdout);
    cs_table_fini(&table);
    return printed;
}

void cs_rows_add(struct cJSON *root, const struct cs_simulated_program *program,
                 const struct cJSON *results, const char *title)
{
    struct cs_table table;
    make_table(results, title, &table);
    cJSON_AddNumberToObject(root, "version", CS_SIMULATE_JSON_VERSION);
    cs_json_add(root, "command", cs_simulate_command_json(program));
    cJSON_AddStringToObject(root, "rows_of", title);
    cs_json_add(root, "rows", cs_table_json(&table));
    cs_table_fini(&table);
}
