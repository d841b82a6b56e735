/* Reads --vary, runs the program with each value, and searches a range for the largest that fits.
 */
#include "cli/simulate/simulate.h"

#include "cli/common/array.h"
#include "cli/common/cli.h"
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static char *replace(const char *word, const char *what, const char *value, bool *uses_p)
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
        copy[i] = replace(command[i], what, value, uses_p);
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

/* A value for which there is no answer ends the search. */
static bool take_row(struct search *search, struct cs_simulated_pair *pair, const char *value)
{
    struct cs_row *row = cs_array_add(&search->row, &search->rows, sizeof *row);
    char text[512], *end;
    if (!row)
        return false;
    cs_row_make(pair, value, true, row);
    row->number = strtod(value, &end);
    row->number = *end || end == value ? NAN : row->number;
    if (cs_simulate_answer(pair) != CS_ANSWER_NONE)
        return true;
    (void)cs_simulate_fits(pair, pair->chosen[CS_WITH] ? CS_WITH : CS_WITHOUT, text, sizeof text);
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

static const struct cs_row *row_of(struct search *search, int64_t number)
{
    char value[CS_VARY_TEXT];
    snprintf(value, sizeof value, "%" PRId64, number);
    for (size_t i = 0; i < search->rows; i++)
        if (strcmp(search->row[i].name, value) == 0)
            return &search->row[i];
    return run_value(search, value) ? &search->row[search->rows - 1] : NULL;
}

static bool fits(const struct cs_row *row, enum cs_side side)
{
    return row->answer[side] == CS_ANSWER_YES || row->answer[side] == CS_ANSWER_MAY_FAIL;
}

/* Where the line between two rows reaches the memory; the middle if that is not known. `near`: how
 * many such places in a row were next to a known value. Then the distance to it doubles. */
static int64_t guess(int64_t below, int64_t yes, int64_t above, int64_t no, int64_t memory,
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

/* The largest value of the range that fits; below the range: none does; -2: no answer. */
static int64_t search_side(struct search *search, enum cs_side side)
{
    const int64_t memory = cs_simulate_memory(search->pair);
    int64_t yes = search->vary->low, no = search->vary->high;
    const struct cs_row *row = row_of(search, yes);
    if (!row)
        return -2;
    int64_t below = row->value[CS_FIGURE_needed][side];
    if (!fits(row, side))
        return yes - 1;
    row = row_of(search, no);
    if (!row)
        return -2;
    if (fits(row, side))
        return no;
    int64_t above = row->value[CS_FIGURE_needed][side];
    for (int near = 0; no - yes > 1;) {
        const int64_t at = guess(below, yes, above, no, memory, &near);
        row = row_of(search, at);
        if (!row)
            return -2;
        *(fits(row, side) ? &yes : &no) = at;
        *(fits(row, side) ? &below : &above) = row->value[CS_FIGURE_needed][side];
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
    const enum cs_side judged = search->pair->chosen[CS_WITH] ? CS_WITH : CS_WITHOUT;
    for (int side = 0; side < CS_SIDES; side++)
        if (search->pair->chosen[side] && search->status != CS_CLI_NONE)
            largest[side] = search_side(search, (enum cs_side)side);
    if (largest[judged] == -2)
        search->status = CS_CLI_NONE;
    else if (search->status == CS_CLI_OK && largest[judged] < search->vary->low)
        search->status = CS_CLI_NO;
    qsort(search->row, search->rows, sizeof *search->row, by_number);
}

static void run_values(struct search *search)
{
    const enum cs_side judged = search->pair->chosen[CS_WITH] ? CS_WITH : CS_WITHOUT;
    for (size_t i = 0; i < search->vary->values; i++)
        if (!run_value(search, search->vary->value[i])) {
            search->status = CS_CLI_NONE;
            return;
        }
    for (size_t i = 0; i < search->rows; i++)
        if (search->status == CS_CLI_OK && search->row[i].answer[judged] == CS_ANSWER_NO)
            search->status = CS_CLI_NO;
}

int cs_simulate_vary(struct cs_simulation *simulation, const struct cs_simulate_options *options,
                     const struct cs_simulated_pair *pair)
{
    struct search search = {.simulation = simulation,
                            .pair = pair,
                            .vary = &options->vary,
                            .command = simulation->program.command,
                            .status = CS_CLI_OK};
    struct cs_vary_result result = {.vary = &options->vary, .pair = pair, .largest = {-2, -2}};
    if (options->vary.values == 0)
        search_range(&search, result.largest);
    else
        run_values(&search);
    result.rows = (struct cs_rows){options->vary.name, false, search.row, search.rows};
    if (search.rows > 0 && !cs_vary_print(simulation, &result, options->format))
        search.status = CS_CLI_NONE;
    if (options->html && search.rows > 0 && !cs_vary_html(simulation, &result, options->html))
        search.status = CS_CLI_NONE;
    free(search.row);
    return search.status;
}
