/* Prints the results of --vary: a row for each value, the slopes, the largest values, JSON and a
 * picture. */
#include "cli/simulate/simulate.h"

#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/output.h"
#include "cli/common/page.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    COLUMNS = 11,
    LINE = 256
};

static const struct cs_column columns[COLUMNS] = {
    {"value", "value", CS_CELL_TEXT},
    {"allocated_peak_without", "allocated", CS_CELL_BYTES},
    {"allocated_peak_with", "with", CS_CELL_BYTES},
    {"reserved_peak_without", "reserved", CS_CELL_BYTES},
    {"reserved_peak_with", "with", CS_CELL_BYTES},
    {"device_peak_without", "device peak", CS_CELL_BYTES},
    {"device_peak_with", "with", CS_CELL_BYTES},
    {"needed_without", "with context", CS_CELL_BYTES},
    {"needed_with", "with", CS_CELL_BYTES},
    {"answer_without", "fits", CS_CELL_TEXT},
    {"answer_with", "with", CS_CELL_TEXT}};

static struct cs_value answer(const struct cs_vary_result *result, const struct cs_vary_row *row,
                              enum cs_side side)
{
    const bool chosen = result->pair->chosen[side];
    return (struct cs_value){.text = chosen ? cs_answer_names[row->side[side].answer] : NULL};
}

static void make_table(const struct cs_vary_result *result, struct cs_table *table)
{
    cs_table_init(table, columns, COLUMNS);
    for (size_t i = 0; i < result->rows; i++) {
        const struct cs_vary_row *row = &result->row[i];
        const struct cs_vary_peaks *a = &row->side[CS_WITHOUT], *b = &row->side[CS_WITH];
        cs_table_add(table, (const struct cs_value[]){{.text = row->value},
                                                      cs_value_number(a->allocated),
                                                      cs_value_number(b->allocated),
                                                      cs_value_number(a->reserved),
                                                      cs_value_number(b->reserved),
                                                      cs_value_number(a->device_peak),
                                                      cs_value_number(b->device_peak),
                                                      cs_value_number(a->needed),
                                                      cs_value_number(b->needed),
                                                      answer(result, row, CS_WITHOUT),
                                                      answer(result, row, CS_WITH)});
    }
}

/* The square describes the growth better, as for the side of an image. */
static bool prefers_square(const struct cs_vary_result *result, enum cs_side side)
{
    return cs_vary_slope(result->row, result->rows, side, true).distance <
           cs_vary_slope(result->row, result->rows, side, false).distance;
}

static bool knows_slope(const struct cs_vary_result *result, enum cs_side side)
{
    return result->pair->chosen[side] &&
           !isnan(cs_vary_slope(result->row, result->rows, side, false).each);
}

static const char *kind_of_peak(const struct cs_vary_result *result)
{
    const struct cs_vary_row *row = &result->row[0];
    return row->side[CS_WITHOUT].allocated >= 0 || row->side[CS_WITH].allocated >= 0 ? "allocated"
                                                                                     : "device";
}

/* "12.50 bytes for each px * px" */
static void say_slope(const struct cs_vary_result *result, enum cs_side side, bool square,
                      char text[LINE])
{
    const char *name = result->vary->name;
    snprintf(text, LINE, "%.2f bytes for each %s%s%s",
             cs_vary_slope(result->row, result->rows, side, square).each, name, square ? " * " : "",
             square ? name : "");
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
                (result->rows > 2 && square != prefers_square(result, (enum cs_side)side)))
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
        cJSON_AddNumberToObject(object, "bytes_for_each",
                                cs_vary_slope(result->row, result->rows, side, false).each);
        cJSON_AddNumberToObject(object, "bytes_for_each_square",
                                cs_vary_slope(result->row, result->rows, side, true).each);
        cJSON_AddBoolToObject(object, "grows_with_square", prefers_square(result, side));
    }
    if (result->vary->values == 0 && result->largest[side] >= result->vary->low)
        cJSON_AddNumberToObject(object, "largest", (double)result->largest[side]);
    return object;
}

static bool print_json(const struct cs_simulation *simulation, const struct cs_vary_result *result,
                       const struct cs_table *table)
{
    cs_json_begin();
    cJSON *root = cJSON_CreateObject(), *rows = cs_table_json(table);
    cJSON_AddNumberToObject(root, "version", CS_SIMULATE_JSON_VERSION);
    cJSON_AddStringToObject(root, "vary", result->vary->name);
    cJSON_AddStringToObject(root, "device", result->pair->device->title);
    cJSON_AddNumberToObject(root, "memory", (double)cs_simulate_memory(result->pair));
    cs_json_add(root, "command", cs_simulate_command_json(simulation));
    cs_json_add(root, "rows", rows);
    for (int side = 0; side < CS_SIDES; side++)
        if (result->pair->chosen[side])
            cs_json_add(root, cs_side_names[side], side_json(result, (enum cs_side)side));
    return cs_json_print(root, stdout) && rows;
}

/* For people, without the columns of a side that was not run. */
static void choose_columns(const struct cs_vary_result *result, struct cs_column shown[COLUMNS])
{
    memcpy(shown, columns, sizeof columns);
    shown[0].title = result->vary->name;
    for (int i = 1; i < COLUMNS; i++) {
        const int side = i % 2 == 1 ? CS_WITHOUT : CS_WITH;
        if (!result->pair->chosen[side])
            shown[i].title = NULL;
        else if (!result->pair->chosen[CS_WITHOUT])
            shown[i].title = columns[i - 1].title;
    }
}

bool cs_vary_print(const struct cs_simulation *simulation, const struct cs_vary_result *result,
                   enum cs_format format)
{
    struct cs_table table;
    struct cs_column shown[COLUMNS];
    make_table(result, &table);
    bool good;
    if (format == CS_FORMAT_JSON) {
        good = print_json(simulation, result, &table);
    } else {
        choose_columns(result, shown);
        table.column = shown;
        good = cs_table_print(&table, format, stdout);
    }
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

struct page {
    const struct cs_vary_result *result;
    struct cs_plot plot;
};

/* The bytes at a place between the smallest and the largest number, on lines between the rows. */
static int64_t bytes_at(const struct cs_vary_result *result, enum cs_side side, double at)
{
    const struct cs_vary_row *below = NULL, *above = NULL;
    for (size_t i = 0; i < result->rows; i++) {
        const struct cs_vary_row *row = &result->row[i];
        if (isnan(row->number) || row->side[side].needed < 0)
            continue;
        if (row->number <= at && (!below || row->number > below->number))
            below = row;
        if (row->number >= at && (!above || row->number < above->number))
            above = row;
    }
    if (!below || !above)
        return 0;
    const double width = above->number - below->number,
                 part = width > 0 ? (at - below->number) / width : 0;
    return below->side[side].needed +
           (int64_t)(part * ((double)above->side[side].needed - (double)below->side[side].needed));
}

static void range_of(const struct cs_vary_result *result, double *least_p, double *most_p)
{
    *least_p = INFINITY;
    *most_p = -INFINITY;
    for (size_t i = 0; i < result->rows; i++)
        if (!isnan(result->row[i].number)) {
            *least_p = fmin(*least_p, result->row[i].number);
            *most_p = fmax(*most_p, result->row[i].number);
        }
}

static double number_at(const struct cs_vary_result *result, size_t column)
{
    double least, most;
    range_of(result, &least, &most);
    return least + (most - least) * (double)column / (CS_PLOT_COLUMNS - 1);
}

static void put_tooltip(const void *state, size_t column, FILE *out)
{
    const struct page *page = state;
    char bytes[CS_BYTES_TEXT];
    fprintf(out, "%s %.6g:", page->result->vary->name, number_at(page->result, column));
    for (int side = 0; side < CS_SIDES; side++)
        if (page->result->pair->chosen[side])
            fprintf(out, " %s %s", cs_table_bytes_text(bytes, page->plot.bytes[side][column]),
                    cs_side_names[side]);
}

static void put_plot(struct page *page, FILE *out)
{
    static const char *const names[CS_SIDES] = {"without", "with convshim"};
    char tick[3][CS_VARY_TEXT];
    struct cs_plot *plot = &page->plot;
    double least, most;
    range_of(page->result, &least, &most);
    if (!(most > least))
        return;
    plot->title = "Memory that the program needs, with the context";
    plot->columns = CS_PLOT_COLUMNS;
    plot->tooltip = put_tooltip;
    plot->state = page;
    for (int i = 0; i < 3; i++) {
        snprintf(tick[i], sizeof tick[i], "%s %.6g", page->result->vary->name,
                 least + (most - least) * i / 2);
        plot->tick[i] = tick[i];
    }
    for (int side = 0; side < CS_SIDES; side++) {
        plot->name[side] = page->result->pair->chosen[side] ? names[side] : NULL;
        for (size_t i = 0; i < CS_PLOT_COLUMNS && plot->name[side]; i++)
            plot->bytes[side][i] =
                bytes_at(page->result, (enum cs_side)side, number_at(page->result, i));
    }
    cs_plot_put(plot, out);
}

static bool put_page(const void *state, FILE *out)
{
    static struct page page; /* too large for the stack */
    const struct cs_vary_result *result = state;
    struct cs_table table;
    struct cs_column shown[COLUMNS];
    char text[LINE];
    page = (struct page){.result = result};
    cs_page_begin("convshim simulate", result->vary->name, out);
    put_plot(&page, out);
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
    make_table(result, &table);
    choose_columns(result, shown);
    table.column = shown;
    fputs("<div class=\"wide\">", out);
    cs_table_html(&table, "sorts", out);
    fputs("</div>\n", out);
    bool whole = !table.broken;
    cs_table_fini(&table);
    cs_page_end(out);
    return whole;
}

bool cs_vary_html(const struct cs_simulation *simulation, const struct cs_vary_result *result,
                  const char *path)
{
    bool written = cs_output_write(path, put_page, result);
    if (written)
        cs_cli_complain("%s: page in %s", simulation->title, path);
    else
        cs_cli_complain("%s: %s: cannot be written: %s", simulation->title, path, strerror(errno));
    return written;
}
