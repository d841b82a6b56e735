/* The table of a program on several devices. */
#include "cli/simulate/simulate.h"

#include "cli/common/cli.h"
#include <inttypes.h>

enum {
    SHORT_TEXT = 64
};

/* How it ran, in few words. */
static const char *in_short(const struct cs_simulated_pair *pair, enum cs_side side,
                            char text[SHORT_TEXT])
{
    const struct cs_simulated_result *result = &pair->result[side];
    char bytes[CS_BYTES_TEXT];
    const int64_t others = cs_simulated_pair_others(pair, side).engines;
    if (!pair->chosen[side])
        return NULL;
    if (!cs_simulated_result_used_gpu(result) && cs_simulated_result_ran(result))
        snprintf(text, SHORT_TEXT, "did not use the GPU");
    else if (cs_simulated_result_out_of_memory(result))
        snprintf(text, SHORT_TEXT, "short by %s",
                 cs_table_bytes_text(bytes, result->missing_bytes));
    else if (!cs_simulated_result_ran(result))
        snprintf(text, SHORT_TEXT, "fails, status %d", result->status);
    else if (!result->planned)
        snprintf(text, SHORT_TEXT, "NOT PLANNED BY A REAL cuDNN");
    else if (result->refused > 0)
        snprintf(text, SHORT_TEXT, "runs; refused %" PRId64 ", other engines %" PRId64,
                 result->refused, others);
    else
        snprintf(text, SHORT_TEXT, "runs");
    return text;
}

static const char *time_of(const struct cs_simulated_result *result, bool chosen,
                           char text[CS_BYTES_TEXT])
{
    return chosen && result->predicted_ns >= 0 ? cs_table_time_text(text, result->predicted_ns)
                                               : NULL;
}

enum {
    COLUMNS = 19
};

/* The columns of cs_simulate_print_devices, for people and for programs, in the order of add_row.
 */
static const struct cs_column columns[COLUMNS] = {
    {"device", "device", CS_CELL_TEXT},
    {"capacity", "memory", CS_CELL_BYTES},
    {"allocated_peak_without", "allocated", CS_CELL_BYTES},
    {"allocated_peak_with", "with", CS_CELL_BYTES},
    {"reserved_peak_without", NULL, CS_CELL_BYTES},
    {"reserved_peak_with", NULL, CS_CELL_BYTES},
    {"device_peak_without", "device peak", CS_CELL_BYTES},
    {"device_peak_with", "with", CS_CELL_BYTES},
    {"largest_workspace_without", NULL, CS_CELL_BYTES},
    {"largest_workspace_with", NULL, CS_CELL_BYTES},
    {"smallest_capacity_without", "smallest", CS_CELL_BYTES},
    {"smallest_capacity_with", "with", CS_CELL_BYTES},
    {"tiled", "tiled", CS_CELL_COUNT},
    {"predicted_ns_without", "time", CS_CELL_COUNT},
    {"predicted_ns_with", "with", CS_CELL_COUNT},
    {"status_without", NULL, CS_CELL_COUNT},
    {"status_with", NULL, CS_CELL_COUNT},
    {"verdict_without", "without", CS_CELL_TEXT},
    {"verdict_with", "with", CS_CELL_TEXT}};

static void add_row(struct cs_table *table, const struct cs_simulated_pair *pair)
{
    char verdict[CS_SIDES][SHORT_TEXT], time[CS_SIDES][CS_BYTES_TEXT];
    const struct cs_simulated_result none = {.allocated = -1,
                                             .reserved = -1,
                                             .device_peak = -1,
                                             .largest_workspace = -1,
                                             .predicted_ns = -1,
                                             .tiled = -1,
                                             .status = -1};
    const struct cs_simulated_result *a =
        pair->chosen[CS_WITHOUT] ? &pair->result[CS_WITHOUT] : &none;
    const struct cs_simulated_result *b = pair->chosen[CS_WITH] ? &pair->result[CS_WITH] : &none;
    int64_t smallest[CS_SIDES];
    for (int side = 0; side < CS_SIDES; side++)
        smallest[side] = pair->smallest[side].runs > 0 ? pair->smallest[side].runs : -1;
    const struct cs_value row[COLUMNS] = {
        {.text = pair->device->name},
        cs_value_number(pair->capacity > 0 ? pair->capacity : pair->device->memory),
        cs_value_number(a->allocated),
        cs_value_number(b->allocated),
        cs_value_number(a->reserved),
        cs_value_number(b->reserved),
        cs_value_number(a->device_peak),
        cs_value_number(b->device_peak),
        cs_value_number(a->largest_workspace),
        cs_value_number(b->largest_workspace),
        cs_value_number(smallest[CS_WITHOUT]),
        cs_value_number(smallest[CS_WITH]),
        cs_value_number(b->tiled),
        {.number = a->predicted_ns,
         .shown = time_of(a, pair->chosen[CS_WITHOUT], time[CS_WITHOUT])},
        {.number = b->predicted_ns, .shown = time_of(b, pair->chosen[CS_WITH], time[CS_WITH])},
        cs_value_number(a->status),
        cs_value_number(b->status),
        {.text = in_short(pair, CS_WITHOUT, verdict[CS_WITHOUT])},
        {.text = in_short(pair, CS_WITH, verdict[CS_WITH])}};
    cs_table_add(table, row);
}

/* A column in which no row has anything is none for people. */
static void leave_out_empty(const struct cs_table *table, struct cs_column column[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        bool any = false;
        for (size_t row = 0; row < table->rows; row++) {
            const struct cs_value *value = &table->value[row * COLUMNS + (size_t)i];
            any =
                any || (columns[i].cell == CS_CELL_TEXT ? value->text != NULL : value->number >= 0);
        }
        column[i] = columns[i];
        if (!any)
            column[i].title = NULL;
    }
}

bool cs_simulate_print_devices(const struct cs_simulation *simulation,
                               const struct cs_simulated_pair *pair, size_t pairs,
                               enum cs_format format)
{
    struct cs_table table;
    struct cs_column shown[COLUMNS];
    cs_table_init(&table, columns, COLUMNS);
    for (size_t i = 0; i < pairs; i++)
        add_row(&table, &pair[i]);
    leave_out_empty(&table, shown);
    table.column = shown;
    bool printed = cs_table_print(&table, format, stdout);
    cs_table_fini(&table);
    if (printed && format == CS_FORMAT_TEXT)
        printf("\nSimulated: kernels were counted, not computed. The sizes are from the cuDNN in "
               "%s.\nMemory includes the context, device peaks exclude it. Times are predicted, of "
               "convolutions only.\n",
               *simulation->program.folder ? simulation->program.folder
                                           : "no folder: NONE WAS FOUND");
    return printed;
}
