/* Reads layers from CSV; errors name file, line and column. */
#include "cli/layers/layer_reader.h"

#include "cli/common/cli.h"
#include "cli/common/read_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_COLUMNS = 64
};

struct header {
    int columns;
    enum cs_field field[MAX_COLUMNS];
};

/* Takes the quotes off a cell in place; its end, or NULL if a quote is left open. */
static char *unquote_cell(char *cell)
{
    char *to = cell;
    for (char *from = cell + 1; *from; from++) {
        if (*from == '"' && *++from != '"') {
            *to = '\0';
            return from;
        }
        *to++ = *from;
    }
    return NULL;
}

/* Cuts a line into cells in place. Returns how many; -1 if there are too many or a quote is wrong.
 */
static int split_line(char *line, char *cell[MAX_COLUMNS])
{
    int cells = 0;
    for (char *at = line;; at++) {
        if (cells == MAX_COLUMNS)
            return -1;
        cell[cells++] = at;
        char *end = *at == '"' ? unquote_cell(at) : at + strcspn(at, ",");
        if (!end || (*end && *end != ','))
            return -1;
        bool last = *end == '\0';
        *end = '\0';
        if (last)
            return cells;
        at = end;
    }
}

static void read_header(struct cs_layer_reader *reading, char *line, int64_t number,
                        struct header *header)
{
    char *cell[MAX_COLUMNS];
    bool seen[CS_FIELDS + 1] = {false};
    header->columns = split_line(line, cell);
    for (int i = 0; i < header->columns; i++) {
        enum cs_field field = cs_layer_field_find(cell[i]);
        header->field[i] = field;
        if (field == CS_FIELDS)
            cs_layer_reader_unknown(reading, number, "column", cell[i]);
        else if (seen[field])
            cs_layer_reader_diagnose(reading, number, "column '%s' appears twice", cell[i]);
        seen[field] = true;
    }
    if (header->columns < 0)
        cs_layer_reader_diagnose(reading, number,
                                 "invalid header: too many columns, or a quote is not closed");
    for (int i = 0; i < CS_FIELDS && reading->notes == 0; i++)
        if (!seen[i] && cs_layer_field_required((enum cs_field)i, reading->rules))
            cs_layer_reader_diagnose(
                reading, number, "no column '%s'%s", cs_layer_field_name((enum cs_field)i),
                i == CS_FIELD_dtype ? ". To set one for all lines: --dtype" : "");
}

static void read_line(struct cs_layer_reader *reading, char *line, int64_t number,
                      const struct header *header)
{
    char *cell[MAX_COLUMNS];
    struct cs_record record = {{NULL}};
    int cells = split_line(line, cell);
    if (cells < 0) {
        cs_layer_reader_diagnose(reading, number, "too many columns, or a quote is not closed");
        return;
    }
    if (cells != header->columns) {
        cs_layer_reader_diagnose(reading, number, "%d columns, but the header has %d", cells,
                                 header->columns);
        return;
    }
    for (int i = 0; i < cells; i++)
        record.value[header->field[i]] = cell[i];
    cs_layer_reader_add(reading, &record, number);
}

/* Cuts the next line off, its end left out; NULL after the last one. */
static char *next_line(char **rest, const char *end)
{
    char *line = *rest;
    if (line == end)
        return NULL;
    char *stop = memchr(line, '\n', (size_t)(end - line));
    *rest = stop ? stop + 1 : (char *)end;
    if (!stop)
        stop = (char *)end;
    if (stop > line && stop[-1] == '\r')
        stop--;
    *stop = '\0';
    return line;
}

/* `size`: its bytes, more than the length of its text if it contains a NUL. */
static bool is_whole(struct cs_layer_reader *reading, const char *line, size_t size, int64_t number)
{
    if (strlen(line) + 2 < size)
        cs_layer_reader_diagnose(reading, number, "a NUL character");
    else if (strchr(line, '\r'))
        cs_layer_reader_diagnose(
            reading, number,
            "lines end with a carriage return alone. Save the file with line feeds.");
    else
        return true;
    return false;
}

static void read_lines(struct cs_layer_reader *reading, char *text, size_t length)
{
    struct header header = {.columns = 0};
    char *rest = text, *line;
    for (int64_t number = 1; (line = next_line(&rest, text + length)); number++) {
        bool first = header.columns == 0;
        if (!is_whole(reading, line, (size_t)(rest - line), number))
            break;
        if (*line == '\0' || *line == '#')
            continue;
        if (first)
            read_header(reading, line, number, &header);
        else
            read_line(reading, line, number, &header);
        /* A wrong header makes every line below it wrong. */
        if (cs_layer_reader_over(reading) || (first && reading->notes > 0))
            break;
    }
}

bool cs_layers_csv(struct cs_layers *layers, const char *path, const struct cs_layer_rules *rules,
                   cs_layers_note_fn *note, void *ctx)
{
    struct cs_layer_reader reading = {layers, path, rules, note, ctx, "", 0};
    char error[CS_FILE_ERROR];
    size_t length;
    char *text = cs_read_file_bytes(path, &length, error);
    if (!text) {
        cs_layer_reader_diagnose(&reading, 0, "%s", error);
        return false;
    }
    read_lines(&reading, text, length);
    free(text);
    return cs_layer_reader_end(&reading);
}
