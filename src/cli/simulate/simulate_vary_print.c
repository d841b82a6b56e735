/* Prints the results of --vary: a row for each value, the slopes, the largest values, JSON and a
 * picture. */
#include "cli/simulate/simulate.h"

#include "base/checked.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/output.h"
#include "cli/common/page.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    LINE = 256
};

/* The square describes the growth better, as for the side of an image. */
static bool prefers_square(const struct cs_vary_result *result, enum cs_side side)
{
    return cs_vary_slope(result->rows.row, result->rows.count, side, true).distance <
           cs_vary_slope(result->rows.row, result->rows.count, side, false).distance;
}

static bool knows_slope(const struct cs_vary_result *result, enum cs_side side)
{
    return result->pair->chosen[side] &&
           !isnan(cs_vary_slope(result->rows.row, result->rows.count, side, false).each);
}

static const char *kind_of_peak(const struct cs_vary_result *result)
{
    const int64_t *allocated = result->rows.row[0].value[CS_FIGURE_allocated_peak];
    return allocated[CS_WITHOUT] >= 0 || allocated[CS_WITH] >= 0 ? "allocated" : "device";
}

/* "12.50 bytes for each px * px" */
static void say_slope(const struct cs_vary_result *result, enum cs_side side, bool square,
                      char text[LINE])
{
    const char *name = result->vary->name;
    snprintf(text, LINE, "%.2f bytes for each %s%s%s",
             cs_vary_slope(result->rows.row, result->rows.count, side, square).each, name,
             square ? " * " : "", square ? name : "");
}

static void say_largest(const struct cs_vary_result *result, enum cs_side side, char text[LINE])
{
    if (result->largest[side] == -2)
        snprintf(text, LINE, "no answer");
    else if (result->largest[side] < result->vary->low)
        snprintf(text, LINE, "none: %" PRId64 " does not fit", result->vary->low);
    else
        snprintf(text, LINE, "%" PRId64 "%s", result->largest[side],
                 result->largest[side] == result->vary->high ? ", the end of the range" : "");
}

/* The slope, of both kinds if there are two rows, and the largest values. */
static void print_text(const struct cs_vary_result *result)
{
    char text[LINE], bytes[CS_BYTES_TEXT];
    for (int side = 0; side < CS_SIDES; side++)
        for (int square = 0; square < 2; square++) {
            if (!knows_slope(result, (enum cs_side)side) ||
                (result->rows.count > 2 && square != prefers_square(result, (enum cs_side)side)))
                continue;
            say_slope(result, (enum cs_side)side, square, text);
            printf("%s peak %s: %s\n", kind_of_peak(result), cs_side_names[side], text);
        }
    for (int side = 0; side < CS_SIDES; side++)
        if (result->vary->values == 0 && result->pair->chosen[side]) {
            say_largest(result, (enum cs_side)side, text);
            printf("largest %s that fits in %s %s: %s\n", result->vary->name,
                   cs_table_bytes_text(bytes, cs_simulate_memory(result->pair)),
                   cs_side_names[side], text);
        }
}

static cJSON *side_json(const struct cs_vary_result *result, enum cs_side side)
{
    cJSON *object = cJSON_CreateObject();
    if (knows_slope(result, side)) {
        cJSON_AddNumberToObject(
            object, "bytes_for_each",
            cs_vary_slope(result->rows.row, result->rows.count, side, false).each);
        cJSON_AddNumberToObject(
            object, "bytes_for_each_square",
            cs_vary_slope(result->rows.row, result->rows.count, side, true).each);
        cJSON_AddBoolToObject(object, "grows_with_square", prefers_square(result, side));
    }
    if (result->vary->values == 0 && result->largest[side] >= result->vary->low)
        cJSON_AddNumberToObject(object, "largest", (double)result->largest[side]);
    return object;
}

static bool print_json(const struct cs_simulation *simulation, const struct cs_vary_result *result,
                       const struct cs_table *table)
{
    cJSON *root = cs_rows_json(simulation, &result->rows, table);
    cJSON_AddStringToObject(root, "device", result->pair->device->title);
    cJSON_AddNumberToObject(root, "memory", (double)cs_simulate_memory(result->pair));
    for (int side = 0; side < CS_SIDES; side++)
        if (result->pair->chosen[side])
            cs_json_add(root, cs_side_names[side], side_json(result, (enum cs_side)side));
    return cs_json_print(root, stdout);
}

bool cs_vary_print(const struct cs_simulation *simulation, const struct cs_vary_result *result,
                   enum cs_format format)
{
    struct cs_table table;
    cs_json_begin();
    cs_rows_table(&result->rows, &table);
    const bool good = format == CS_FORMAT_JSON ? print_json(simulation, result, &table)
                                               : cs_table_print(&table, format, stdout);
    if (good && format == CS_FORMAT_TEXT) {
        putchar('\n');
        print_text(result);
    }
    cs_table_fini(&table);
    if (!good)
        cs_cli_complain("out of memory");
    return good;
}

/* --- the page --- */

static void put_tooltip(const void *state, size_t column, FILE *out)
{
    const struct cs_vary_result *result = state;
    const struct cs_row *row = &result->rows.row[column];
    char bytes[CS_BYTES_TEXT];
    fprintf(out, "%s ", result->vary->name);
    cs_table_html_text(row->name, out);
    for (int side = 0; side < CS_SIDES; side++)
        if (row->value[CS_FIGURE_needed][side] >= 0)
            fprintf(out, " %s %s", cs_table_bytes_text(bytes, row->value[CS_FIGURE_needed][side]),
                    cs_side_names[side]);
}

/* A column for each value. */
static void put_plot(const struct cs_vary_result *result, FILE *out)
{
    static struct cs_plot plot; /* too large for the stack */
    const size_t rows = result->rows.count;
    plot =
        (struct cs_plot){.title = "Memory that the program needs, with the context",
                         .columns = rows < CS_PLOT_COLUMNS ? rows : CS_PLOT_COLUMNS,
                         .tick = {result->rows.row[0].name, NULL, result->rows.row[rows - 1].name},
                         .tooltip = put_tooltip,
                         .state = result};
    for (int side = 0; side < CS_SIDES; side++) {
        static const char *const names[CS_SIDES] = {"without", "with convshim"};
        plot.name[side] = result->pair->chosen[side] ? names[side] : NULL;
        for (size_t i = 0; i < plot.columns; i++)
            plot.bytes[side][i] = cs_max(result->rows.row[i].value[CS_FIGURE_needed][side], 0);
    }
    cs_plot_put(&plot, out);
}

static bool put_page(const void *state, FILE *out)
{
    const struct cs_vary_result *result = state;
    struct cs_table table;
    char text[LINE];
    cs_page_begin("convshim simulate", result->vary->name, out);
    put_plot(result, out);
    for (int side = 0; side < CS_SIDES; side++) {
        if (!knows_slope(result, (enum cs_side)side))
            continue;
        say_slope(result, (enum cs_side)side, prefers_square(result, (enum cs_side)side), text);
        fprintf(out, "<p>The %s peak %s: %s</p>\n", kind_of_peak(result), cs_side_names[side],
                text);
        if (result->vary->values == 0) {
            say_largest(result, (enum cs_side)side, text);
            fprintf(out, "<p>Largest %s that fits %s: %s</p>\n", result->vary->name,
                    cs_side_names[side], text);
        }
    }
    cs_rows_table(&result->rows, &table);
    const bool whole = cs_page_table("values", "Values", &table, out);
    cs_page_end(out);
    return whole;
}

bool cs_vary_html(const struct cs_simulation *simulation, const struct cs_vary_result *result,
                  const char *path)
{
    return cs_output_page(simulation->title, path, put_page, result);
}
