/* --vary: runs the program with each value, or searches a range for the largest that fits. Prints a
 * row for each value, the slopes and the largest values. */
#include "cli/simulate/simulate.h"

#include "base/checked.h"
#include "cli/common/array.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/output.h"
#include "cli/common/page.h"
#include <cjson/cJSON.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NO_ANSWER = -2 /* values are at least 0, and LO - 1 is at least -1 */
};

static bool parse_whole(const char *text, size_t length, int64_t *number_p)
{
    char digits[20], *end;
    if (length == 0 || length >= sizeof digits || strspn(text, "0123456789") < length)
        return false;
    snprintf(digits, sizeof digits, "%.*s", (int)length, text);
    *number_p = strtoll(digits, &end, 10);
    return *end == '\0';
}

static const char *parse_list(const char *text, struct cs_vary *to)
{
    while (*text) {
        const size_t length = strcspn(text, ",");
        if (to->values == CS_VARY_VALUES || length == 0 || length >= CS_VARY_TEXT)
            return "at most 64 values of 1 to 63 characters are allowed";
        snprintf(to->value[to->values++], CS_VARY_TEXT, "%.*s", (int)length, text);
        text += length + (text[length] == ',');
    }
    return to->values > 0 ? NULL : "values are missing";
}

const char *cs_vary_parse(const char *text, struct cs_vary *to)
{
    const size_t length = strcspn(text, "=");
    const char *values = text + length + 1, *dots;
    *to = (struct cs_vary){.values = 0};
    if (text[length] != '=' || length == 0 || length >= sizeof to->name)
        return "NAME=V1,V2,... or NAME=LO..HI is expected";
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return "a name consists of letters, digits and _";
    snprintf(to->name, sizeof to->name, "%.*s", (int)length, text);
    dots = strstr(values, "..");
    if (!dots)
        return parse_list(values, to);
    if (!parse_whole(values, (size_t)(dots - values), &to->low) ||
        !parse_whole(dots + 2, strlen(dots + 2), &to->high) || to->low >= to->high)
        return "a range is LO..HI, two whole numbers";
    return NULL;
}

/* --- the command --- */

static char *replace_name(const char *word, const char *what, const char *value, bool *uses_p)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const char *found;
    if (!out)
        return NULL;
    for (; (found = strstr(word, what)); word = found + strlen(what)) {
        fprintf(out, "%.*s%s", (int)(found - word), word, value);
        *uses_p = true;
    }
    fputs(word, out);
    return fclose(out) == 0 ? text : NULL;
}

void cs_vary_free_command(char **command)
{
    for (size_t i = 0; command && command[i]; i++)
        free(command[i]);
    free(command);
}

char **cs_vary_command(char *const *command, const char *name, const char *value, bool *uses_p)
{
    char what[CS_VARY_NAME + 2];
    size_t words = 0;
    while (command[words])
        words++;
    snprintf(what, sizeof what, "{%s}", name);
    char **copy = calloc(words + 1, sizeof *copy);
    *uses_p = false;
    for (size_t i = 0; copy && i < words; i++) {
        copy[i] = replace_name(command[i], what, value, uses_p);
        if (!copy[i]) {
            cs_vary_free_command(copy);
            return NULL;
        }
    }
    return copy;
}

/* --- slopes --- */

static int64_t peak_of(const struct cs_row *row, enum cs_side side)
{
    const int64_t allocated = row->value[CS_FIGURE_allocated_peak][side];
    return allocated >= 0 ? allocated : row->value[CS_FIGURE_device_peak][side];
}

struct cs_slope cs_vary_slope(const struct cs_row *row, size_t rows, enum cs_side side, bool square)
{
    const struct cs_row *first = NULL, *last = NULL;
    struct cs_slope slope = {NAN, 0};
    for (size_t i = 0; i < rows; i++) {
        if (isnan(row[i].number) || peak_of(&row[i], side) < 0)
            continue;
        first = !first || row[i].number < first->number ? &row[i] : first;
        last = !last || row[i].number > last->number ? &row[i] : last;
    }
    if (!first || first->number == last->number)
        return slope;
    const double power = square ? 2 : 1, from = pow(first->number, power),
                 bytes = (double)peak_of(first, side);
    slope.each = ((double)peak_of(last, side) - bytes) / (pow(last->number, power) - from);
    for (size_t i = 0; i < rows; i++) {
        if (isnan(row[i].number) || peak_of(&row[i], side) < 0)
            continue;
        const double line = bytes + slope.each * (pow(row[i].number, power) - from);
        slope.distance = fmax(slope.distance, fabs((double)peak_of(&row[i], side) - line));
    }
    return slope;
}

/* --- runs --- */

struct search {
    struct cs_simulation *simulation;
    const struct cs_simulated_pair *pair;
    const struct cs_vary *vary;
    char **command; /* with {NAME} in it */
    struct cs_row *row;
    size_t rows;
    int status;
};

/* Adds the row of a value. False: memory is short, or there is no answer for a value of a range. */
static bool take_row(struct search *search, struct cs_simulated_pair *pair, const char *value)
{
    struct cs_row *row = cs_array_add(&search->row, &search->rows, sizeof *row);
    char text[512], *end;
    if (!row)
        return false;
    cs_row_make(pair, value, true, row);
    row->number = strtod(value, &end);
    row->number = *end || end == value ? NAN : row->number;
    if (cs_simulate_fits(pair, cs_simulated_pair_judged(pair), text, sizeof text) != CS_ANSWER_NONE)
        return true;
    cs_cli_complain("simulate: %s=%s: %s", search->vary->name, value, text);
    cs_simulate_show_output(pair);
    search->status = CS_CLI_NONE;
    return search->vary->values > 0;
}

/* Each value starts the program once: the run with the library is forked from the same process. */
static bool run_value(struct search *search, const char *value)
{
    static struct cs_simulated_pair pair; /* too large for the stack */
    struct cs_simulation *simulation = search->simulation;
    char title[CS_VARY_NAME + CS_VARY_TEXT + 16];
    bool uses;
    char **command = cs_vary_command(search->command, search->vary->name, value, &uses);
    if (!command) {
        cs_cli_complain("out of memory");
        return false;
    }
    snprintf(title, sizeof title, "simulate: %s=%s", search->vary->name, value);
    for (int with = 0; with < 2; with++)
        cs_fork_server_close(&simulation->server[with]);
    simulation->title = title;
    simulation->program.command = command;
    pair = *search->pair;
    bool good = cs_simulated_pairs_run(simulation, &pair, 1);
    if (good && !take_row(search, &pair, value))
        good = false;
    cs_simulated_pair_free(&pair);
    simulation->title = "simulate";
    simulation->program.command = search->command;
    for (int with = 0; with < 2; with++)
        cs_fork_server_close(&simulation->server[with]);
    cs_vary_free_command(command);
    return good;
}

/* The row of a number. Runs the program if there is no row yet. NULL: no answer. */
static const struct cs_row *row_of(struct search *search, int64_t number)
{
    char value[CS_VARY_TEXT];
    snprintf(value, sizeof value, "%" PRId64, number);
    for (size_t i = 0; i < search->rows; i++)
        if (strcmp(search->row[i].name, value) == 0)
            return &search->row[i];
    return run_value(search, value) ? &search->row[search->rows - 1] : NULL;
}

static bool is_fitting(const struct cs_row *row, enum cs_side side)
{
    return row->answer[side] == CS_ANSWER_YES || row->answer[side] == CS_ANSWER_MAY_FAIL;
}

/* The next value to try between `yes`, which fits and needs `below` bytes, and `no`, which needs
 * `above`: where the line between them reaches `memory`, or the middle if `below` is not known.
 * *near counts results in a row that were next to `yes` or `no`. Each doubles the distance. */
static int64_t guess_value(int64_t below, int64_t yes, int64_t above, int64_t no, int64_t memory,
                           int *near)
{
    const double rise = (double)above - (double)below;
    const int64_t middle = yes + (no - yes) / 2;
    int64_t at = middle;
    if (rise > 0 && below >= 0)
        at = yes + (int64_t)((double)(memory - below) / rise * (double)(no - yes));
    const bool is_near = at <= yes + 1 || at >= no - 1;
    const int64_t stride = INT64_C(1) << *near;
    *near = is_near ? *near + 1 : 0;
    if (at <= yes + 1)
        at = stride < middle - yes ? yes + stride : middle;
    else if (at >= no - 1)
        at = stride < no - middle ? no - stride : middle;
    return at <= yes ? yes + 1 : at >= no ? no - 1 : at;
}

/* The largest value of the range that fits, a lower one if none does, or NO_ANSWER. */
static int64_t search_side(struct search *search, enum cs_side side)
{
    const int64_t memory = cs_simulate_memory(search->pair);
    int64_t yes = search->vary->low, no = search->vary->high;
    const struct cs_row *row = row_of(search, yes);
    if (!row)
        return NO_ANSWER;
    int64_t below = row->value[CS_FIGURE_needed][side];
    if (!is_fitting(row, side))
        return yes - 1;
    row = row_of(search, no);
    if (!row)
        return NO_ANSWER;
    if (is_fitting(row, side))
        return no;
    int64_t above = row->value[CS_FIGURE_needed][side];
    for (int near = 0; no - yes > 1;) {
        const int64_t at = guess_value(below, yes, above, no, memory, &near);
        row = row_of(search, at);
        if (!row)
            return NO_ANSWER;
        *(is_fitting(row, side) ? &yes : &no) = at;
        *(is_fitting(row, side) ? &below : &above) = row->value[CS_FIGURE_needed][side];
    }
    return yes;
}

static int by_number(const void *left, const void *right)
{
    const struct cs_row *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

static void search_range(struct search *search, int64_t largest[CS_SIDES])
{
    const enum cs_side judged = cs_simulated_pair_judged(search->pair);
    for (int side = 0; side < CS_SIDES; side++)
        if (search->pair->chosen[side] && search->status != CS_CLI_NONE)
            largest[side] = search_side(search, (enum cs_side)side);
    if (largest[judged] == NO_ANSWER)
        search->status = CS_CLI_NONE;
    else if (search->status == CS_CLI_OK && largest[judged] < search->vary->low)
        search->status = CS_CLI_NO;
    if (search->rows > 0)
        qsort(search->row, search->rows, sizeof *search->row, by_number);
}

static void run_values(struct search *search)
{
    const enum cs_side judged = cs_simulated_pair_judged(search->pair);
    for (size_t i = 0; i < search->vary->values; i++)
        if (!run_value(search, search->vary->value[i])) {
            search->status = CS_CLI_NONE;
            return;
        }
    for (size_t i = 0; i < search->rows; i++)
        if (search->status == CS_CLI_OK && search->row[i].answer[judged] == CS_ANSWER_NO)
            search->status = CS_CLI_NO;
}

/* --- output --- */

struct vary_result {
    const struct cs_vary *vary;
    const struct cs_simulated_pair *pair; /* the device and the chosen sides */
    struct cs_rows rows;                  /* of a range in order of numbers */
    int64_t largest[CS_SIDES];            /* of a range: see search_side */
};

enum {
    LINE = 256
};

/* True if the square of the value describes the growth better, as for the side of an image. */
static bool prefers_square(const struct vary_result *result, enum cs_side side)
{
    return cs_vary_slope(result->rows.row, result->rows.count, side, true).distance <
           cs_vary_slope(result->rows.row, result->rows.count, side, false).distance;
}

static bool knows_slope(const struct vary_result *result, enum cs_side side)
{
    return result->pair->chosen[side] &&
           !isnan(cs_vary_slope(result->rows.row, result->rows.count, side, false).each);
}

static const char *kind_of_peak(const struct vary_result *result)
{
    const int64_t *allocated = result->rows.row[0].value[CS_FIGURE_allocated_peak];
    return allocated[CS_WITHOUT] >= 0 || allocated[CS_WITH] >= 0 ? "allocated" : "device";
}

/* "12.50 bytes for each px * px" */
static void write_slope(const struct vary_result *result, enum cs_side side, bool square,
                        char text[LINE])
{
    const char *name = result->vary->name;
    snprintf(text, LINE, "%.2f bytes for each %s%s%s",
             cs_vary_slope(result->rows.row, result->rows.count, side, square).each, name,
             square ? " * " : "", square ? name : "");
}

static void write_largest(const struct vary_result *result, enum cs_side side, char text[LINE])
{
    if (result->largest[side] == NO_ANSWER)
        snprintf(text, LINE, "no answer");
    else if (result->largest[side] < result->vary->low)
        snprintf(text, LINE, "none: %" PRId64 " does not fit", result->vary->low);
    else
        snprintf(text, LINE, "%" PRId64 "%s", result->largest[side],
                 result->largest[side] == result->vary->high ? ", the end of the range" : "");
}

/* The slope, of both kinds if there are two rows, and the largest values. */
static void print_text(const struct vary_result *result)
{
    char text[LINE], bytes[CS_BYTES_TEXT];
    for (int side = 0; side < CS_SIDES; side++)
        for (int square = 0; square < 2; square++) {
            if (!knows_slope(result, (enum cs_side)side) ||
                (result->rows.count > 2 && square != prefers_square(result, (enum cs_side)side)))
                continue;
            write_slope(result, (enum cs_side)side, square, text);
            printf("%s peak %s: %s\n", kind_of_peak(result), cs_side_names[side], text);
        }
    for (int side = 0; side < CS_SIDES; side++)
        if (result->vary->values == 0 && result->pair->chosen[side]) {
            write_largest(result, (enum cs_side)side, text);
            printf("largest %s that fits in %s %s: %s\n", result->vary->name,
                   cs_table_bytes_text(bytes, cs_simulate_memory(result->pair)),
                   cs_side_names[side], text);
        }
}

static cJSON *side_json(const struct vary_result *result, enum cs_side side)
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

static bool print_json(const struct cs_simulation *simulation, const struct vary_result *result,
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

static bool print_result(const struct cs_simulation *simulation, const struct vary_result *result,
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
    const struct vary_result *result = state;
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
static void put_plot(const struct vary_result *result, FILE *out)
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
    const struct vary_result *result = state;
    struct cs_table table;
    char text[LINE];
    cs_page_begin("convshim simulate", result->vary->name, out);
    put_plot(result, out);
    for (int side = 0; side < CS_SIDES; side++) {
        if (!knows_slope(result, (enum cs_side)side))
            continue;
        write_slope(result, (enum cs_side)side, prefers_square(result, (enum cs_side)side), text);
        fprintf(out, "<p>The %s peak %s: %s</p>\n", kind_of_peak(result), cs_side_names[side],
                text);
        if (result->vary->values == 0) {
            write_largest(result, (enum cs_side)side, text);
            fprintf(out, "<p>Largest %s that fits %s: %s</p>\n", result->vary->name,
                    cs_side_names[side], text);
        }
    }
    cs_rows_table(&result->rows, &table);
    const bool whole = cs_page_table("values", "Values", &table, out);
    cs_page_end(out);
    return whole;
}

int cs_simulate_vary(struct cs_simulation *simulation, const struct cs_simulate_options *options,
                     const struct cs_simulated_pair *pair)
{
    struct search search = {.simulation = simulation,
                            .pair = pair,
                            .vary = &options->vary,
                            .command = simulation->program.command,
                            .status = CS_CLI_OK};
    struct vary_result result = {
        .vary = &options->vary, .pair = pair, .largest = {NO_ANSWER, NO_ANSWER}};
    if (options->vary.values == 0)
        search_range(&search, result.largest);
    else
        run_values(&search);
    result.rows = (struct cs_rows){options->vary.name, false, search.row, search.rows};
    if (search.rows > 0 && !print_result(simulation, &result, options->format))
        search.status = CS_CLI_NONE;
    if (options->html && search.rows > 0 &&
        !cs_output_page("simulate", options->html, put_page, &result))
        search.status = CS_CLI_NONE;
    free(search.row);
    return search.status;
}
