/* Tables of pairs: a row for each device, or for each value of --vary. */
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/simulate/simulate.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

enum {
    NAME,
    MEMORY,
    FIGURE, /* the first of two columns for each figure */
    SMALLEST = FIGURE + CS_FIGURES * CS_SIDES,
    FITS = SMALLEST + CS_SIDES
};

enum {
    DEVICES = 1,
    VALUES = 2
};

static const struct {
    struct cs_column column;
    int tables; /* that people see it in, if it has a value */
} columns[CS_ROW_COLUMNS] = {
    {{"name", "", CS_CELL_TEXT}, 0},
    {{"memory", "memory", CS_CELL_BYTES}, DEVICES},
#define CS_FIGURE(name, title, column, tables, cell, value)                                        \
    {{#name "_without", column, cell}, tables}, {{#name "_with", "with", cell}, tables},
#include "cli/simulate/figures.def"
#undef CS_FIGURE
    {{"smallest_capacity_without", "smallest", CS_CELL_BYTES}, DEVICES | VALUES},
    {{"smallest_capacity_with", "with", CS_CELL_BYTES}, DEVICES | VALUES},
    {{"answer_without", "fits", CS_CELL_TEXT}, DEVICES | VALUES},
    {{"answer_with", "with", CS_CELL_TEXT}, DEVICES | VALUES}};

/* The answer in few words. */
static void write_short_answer(const struct cs_simulated_pair *pair, enum cs_side side,
                               struct cs_row *row)
{
    const struct cs_simulated_result *result = &pair->run[side].result;
    char bytes[CS_BYTES_TEXT], *text = row->why[side];
    const int64_t failures = cs_simulated_result_failures(result);
    row->answer[side] = cs_simulate_fits(pair, side, NULL, 0);
    const char *answer = cs_answer_names[row->answer[side]];
    if (row->answer[side] == CS_ANSWER_NONE && !cs_simulated_result_ran(result))
        snprintf(text, CS_ROW_TEXT, "%s: fails, status %d", answer, result->status);
    else if (row->answer[side] == CS_ANSWER_NONE)
        snprintf(text, CS_ROW_TEXT, "%s: %s", answer,
                 cs_simulated_result_used_gpu(result) ? "NO REAL cuDNN" : "no use of the GPU");
    else if (row->answer[side] == CS_ANSWER_NO && cs_simulated_result_ran(result))
        snprintf(text, CS_ROW_TEXT, "%s: %" PRId64 " allocation%s", answer, failures,
                 failures == 1 ? " fails" : "s fail");
    else if (row->answer[side] == CS_ANSWER_NO)
        snprintf(text, CS_ROW_TEXT, "%s: short by %s", answer,
                 cs_table_bytes_text(bytes, result->missing_bytes));
    else
        snprintf(text, CS_ROW_TEXT, "%s", answer);
}

void cs_row_make(const struct cs_simulated_pair *pair, const char *name, bool spare,
                 struct cs_row *row)
{
    *row = (struct cs_row){.memory = cs_simulate_memory(pair)};
    snprintf(row->name, sizeof row->name, "%s", name);
    cs_simulate_figures(pair, spare, row->value);
    for (int side = 0; side < CS_SIDES; side++) {
        row->smallest[side] = pair->smallest[side].runs > 0 ? pair->smallest[side].runs : -1;
        row->answer[side] = CS_ANSWER_NONE;
        if (pair->chosen[side])
            write_short_answer(pair, (enum cs_side)side, row);
    }
}

static void add_row(struct cs_table *table, const struct cs_row *row)
{
    struct cs_value value[CS_ROW_COLUMNS] = {
        [NAME] = {.text = row->name}, [MEMORY] = {.number = row->memory}};
    for (int side = 0; side < CS_SIDES; side++) {
        for (int i = 0; i < CS_FIGURES; i++)
            value[FIGURE + CS_SIDES * i + side].number = row->value[i][side];
        value[SMALLEST + side].number = row->smallest[side];
        value[FITS + side] =
            (struct cs_value){.shown = *row->why[side] ? row->why[side] : NULL,
                              .text = *row->why[side] ? cs_answer_names[row->answer[side]] : NULL};
    }
    cs_table_add(table, value);
}

static bool has_value(const struct cs_table *table, int column)
{
    for (size_t i = 0; i < table->rows; i++) {
        const struct cs_value *value = &cs_table_row(table, i)[column];
        if (table->column[column].cell == CS_CELL_TEXT ? value->text != NULL : value->number >= 0)
            return true;
    }
    return false;
}

void cs_rows_table(const struct cs_rows *rows, struct cs_table *table)
{
    static struct cs_column shown[CS_ROW_COLUMNS];
    for (int i = 0; i < CS_ROW_COLUMNS; i++)
        shown[i] = columns[i].column;
    shown[NAME].title = rows->title;
    cs_table_init(table, shown, CS_ROW_COLUMNS);
    for (size_t i = 0; i < rows->count; i++)
        add_row(table, &rows->row[i]);
    for (int i = MEMORY; i < CS_ROW_COLUMNS; i++) {
        const bool second = i > FIGURE && (i - FIGURE) % CS_SIDES == CS_WITH;
        if (!(columns[i].tables & (rows->devices ? DEVICES : VALUES)) || !has_value(table, i))
            shown[i].title = NULL;
        else if (second && !shown[i - 1].title)
            shown[i].title = columns[i - 1].column.title;
    }
}

struct cJSON *cs_rows_json(const struct cs_simulation *simulation, const struct cs_rows *rows,
                           const struct cs_table *table)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "version", CS_SIMULATE_JSON_VERSION);
    cs_json_add(root, "command", cs_simulate_command_json(simulation));
    cJSON_AddStringToObject(root, "rows_of", rows->title);
    cs_json_add(root, "rows", cs_table_json(table));
    return root;
}

bool cs_simulate_print_devices(const struct cs_simulation *simulation,
                               const struct cs_simulated_pair *pair, size_t pairs,
                               enum cs_format format)
{
    static struct cs_row row[CS_MOST_DEVICES];
    const struct cs_rows rows = {"device", true, row, pairs};
    struct cs_table table;
    for (size_t i = 0; i < pairs; i++)
        cs_row_make(&pair[i], pair[i].device->name, false, &row[i]);
    cs_json_begin();
    cs_rows_table(&rows, &table);
    bool printed = format == CS_FORMAT_JSON
                       ? cs_json_print(cs_rows_json(simulation, &rows, &table), stdout)
                       : cs_table_print(&table, format, stdout);
    cs_table_fini(&table);
    if (printed && format == CS_FORMAT_TEXT)
        printf("\nSimulated: kernels were counted, not computed. The sizes are from the cuDNN in "
               "%s.\nMemory includes the context, device peaks exclude it. Times are predicted, of "
               "convolutions only.\n",
               *simulation->program.folder ? simulation->program.folder
                                           : "no folder: NONE WAS FOUND");
    return printed;
}
