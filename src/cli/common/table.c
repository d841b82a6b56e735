/* Prints one table as aligned text, CSV or JSON from the same rows, and formats byte counts. */
#include "cli/common/table.h"

#include "base/checked.h"
#include "base/log.h"
#include "cli/common/array.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    GAP = 2 /* blanks between columns */
};

/* Writes a time for people, from nanoseconds: "38.4 ms". */
static void write_time(char text[CS_BYTES_TEXT], int64_t nanoseconds)
{
    double time = (double)nanoseconds;
    if (nanoseconds < 1000000)
        snprintf(text, CS_BYTES_TEXT, "%.1f us", time / 1e3);
    else if (nanoseconds < 1000000000)
        snprintf(text, CS_BYTES_TEXT, "%.1f ms", time / 1e6);
    else
        snprintf(text, CS_BYTES_TEXT, "%.1f s", time / 1e9);
}

char *cs_table_change_text(char text[CS_BYTES_TEXT], double least, double most)
{
    char first[CS_BYTES_TEXT / 2], last[CS_BYTES_TEXT / 2];
    snprintf(first, sizeof first, "%+.1f", 100 * (least - 1));
    snprintf(last, sizeof last, "%+.1f", 100 * (most - 1));
    const bool alike = strcmp(first, last) == 0;
    snprintf(text, CS_BYTES_TEXT, "%.8s%s%.8s %%", first, alike ? "" : " to ", alike ? "" : last);
    return text;
}

char *cs_table_bytes_text(char text[CS_BYTES_TEXT], int64_t bytes)
{
    return cs_log_size_text(text, (long long)bytes);
}

void cs_table_init(struct cs_table *table, const struct cs_column *column, int columns)
{
    *table = (struct cs_table){.column = column, .columns = columns};
}

void cs_table_fini(struct cs_table *table)
{
    for (size_t i = 0; i < table->rows * (size_t)table->columns; i++) {
        free((char *)table->value[i].text);
        free((char *)table->value[i].shown);
    }
    free(table->value);
}

void cs_table_add(struct cs_table *table, const struct cs_value *row)
{
    struct cs_value *to = NULL;
    if (!table->broken)
        to = cs_array_add(&table->value, &table->rows, (size_t)table->columns * sizeof *to);
    table->broken = !to;
    if (table->broken)
        return;
    for (int i = 0; i < table->columns; i++) {
        to[i] = row[i];
        to[i].text = row[i].text ? strdup(row[i].text) : NULL;
        to[i].shown = row[i].shown ? strdup(row[i].shown) : NULL;
        table->broken =
            table->broken || (row[i].text && !to[i].text) || (row[i].shown && !to[i].shown);
    }
}

const char *cs_table_text(const struct cs_column *column, const struct cs_value *value, bool people,
                          char buffer[CS_CELL_TEXT_BYTES])
{
    if (people && value->shown)
        return value->shown;
    if (column->cell == CS_CELL_TEXT)
        return value->text ? value->text : people ? "-" : "";
    bool ratio = column->cell == CS_CELL_RATIO;
    if (ratio ? value->ratio <= 0 : value->number < 0)
        snprintf(buffer, CS_CELL_TEXT_BYTES, "%s", people ? "-" : "");
    else if (ratio)
        snprintf(buffer, CS_CELL_TEXT_BYTES, "%.2f", value->ratio);
    else if (people && column->cell == CS_CELL_BYTES)
        cs_table_bytes_text(buffer, value->number);
    else if (people && column->cell == CS_CELL_TIME)
        write_time(buffer, value->number);
    else
        snprintf(buffer, CS_CELL_TEXT_BYTES, "%" PRId64, value->number);
    return buffer;
}

/* Prints a cell of CSV, in quotes if it needs them. */
static void print_quoted(const char *text, FILE *out)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void print_csv(const struct cs_table *table, FILE *out)
{
    char buffer[CS_CELL_TEXT_BYTES];
    for (int i = 0; i < table->columns; i++)
        fprintf(out, "%s%s", i > 0 ? "," : "", table->column[i].name);
    fputc('\n', out);
    for (size_t row = 0; row < table->rows; row++) {
        const struct cs_value *value = cs_table_row(table, row);
        for (int i = 0; i < table->columns; i++) {
            if (i > 0)
                fputc(',', out);
            print_quoted(cs_table_text(&table->column[i], &value[i], false, buffer), out);
        }
        fputc('\n', out);
    }
}

static void add_value(cJSON *object, const struct cs_column *column, const struct cs_value *value)
{
    char buffer[CS_CELL_TEXT_BYTES];
    const char *text = cs_table_text(column, value, false, buffer);
    if (column->cell != CS_CELL_TEXT && *text)
        cJSON_AddRawToObject(object, column->name, text);
    else if (column->cell == CS_CELL_TEXT && value->text)
        cJSON_AddStringToObject(object, column->name, text);
}

struct cJSON *cs_table_json(const struct cs_table *table)
{
    cJSON *rows = table->broken ? NULL : cJSON_CreateArray();
    for (size_t row = 0; rows && row < table->rows; row++) {
        cJSON *object = cJSON_CreateObject();
        for (int i = 0; i < table->columns; i++)
            add_value(object, &table->column[i], &cs_table_row(table, row)[i]);
        cs_json_add(rows, NULL, object);
    }
    return rows;
}

static bool print_json(const struct cs_table *table, FILE *out)
{
    cs_json_begin();
    return cs_json_print(cs_table_json(table), out);
}

/* Returns the characters of the longest text in a column, its title included. */
static int width_of(const struct cs_table *table, int column)
{
    char buffer[CS_CELL_TEXT_BYTES];
    size_t width = strlen(table->column[column].title);
    for (size_t row = 0; row < table->rows; row++) {
        const struct cs_value *value = &cs_table_row(table, row)[column];
        size_t length = strlen(cs_table_text(&table->column[column], value, true, buffer));
        width = length > width ? length : width;
    }
    return (int)width;
}

/* Prints one line without blanks at its end. `row` NULL: the titles. */
static void print_line(const struct cs_table *table, const int *width, const struct cs_value *row,
                       FILE *out)
{
    char buffer[CS_CELL_TEXT_BYTES];
    int owed = 0;
    for (int i = 0; i < table->columns; i++) {
        const struct cs_column *column = &table->column[i];
        if (!column->title)
            continue;
        const char *text = row ? cs_table_text(column, &row[i], true, buffer) : column->title;
        int length = (int)strlen(text);
        bool left = column->cell == CS_CELL_TEXT;
        int before = left ? 0 : width[i] - length;
        if (length > 0) {
            fprintf(out, "%*s", owed + before, "");
            cs_cli_put_line(text, out);
            owed = 0;
        }
        owed += GAP + (length > 0 ? width[i] - length - before : width[i]);
    }
    fputc('\n', out);
}

static bool print_text(const struct cs_table *table, FILE *out)
{
    int *width = calloc((size_t)table->columns, sizeof *width);
    if (!width)
        return false;
    for (int i = 0; i < table->columns; i++)
        width[i] = table->column[i].title ? width_of(table, i) : 0;
    print_line(table, width, NULL, out);
    for (size_t row = 0; row < table->rows; row++)
        print_line(table, width, cs_table_row(table, row), out);
    free(width);
    return true;
}

bool cs_table_print(const struct cs_table *table, enum cs_format format, FILE *out)
{
    if (table->broken)
        return false;
    if (format == CS_FORMAT_CSV) {
        print_csv(table, out);
        return true;
    }
    return format == CS_FORMAT_JSON ? print_json(table, out) : print_text(table, out);
}
