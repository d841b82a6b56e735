/* Reads layers from CSV; errors name file, line and column. */
#include "cli/predict/layer_reader.h"

#include "cli/common/cli.h"
#include <errno.h>
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
static char *unquote(char *cell)
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
static int split(char *line, char *cell[MAX_COLUMNS])
{
    int cells = 0;
    for (char *at = line;; at++) {
        if (cells == MAX_COLUMNS)
            return -1;
        cell[cells++] = at;
        char *end = *at == '"' ? unquote(at) : at + strcspn(at, ",");
        if (!end || (*end && *end != ','))
            return -1;
        bool last = *end == '\0';
        *end = '\0';
        if (last)
            return cells;
        at = end;
    }
}

static void refuse_column(struct cs_layer_reader *reading, int64_t line, const char *name)
{
    const char *names[CS_FIELDS + 1] = {NULL};
    for (int i = 0; i < CS_FIELDS; i++)
        names[i] = cs_layer_field_name((enum cs_field)i);
    const char *nearest = cs_cli_nearest(name, names);
    cs_layer_reader_diagnose(reading, line, "unknown column '%.40s'%s%s%s", name,
                             nearest ? "; did you mean '" : "", nearest ? nearest : "",
                             nearest ? "'?" : "");
}

static void read_header(struct cs_layer_reader *reading, char *line, int64_t number,
                        struct header *header)
{
    char *cell[MAX_COLUMNS];
    bool seen[CS_FIELDS + 1] = {false};
    header->columns = split(line, cell);
    for (int i = 0; i < header->columns; i++) {
        enum cs_field field = cs_layer_field_find(cell[i]);
        header->field[i] = field;
        if (field == CS_FIELDS)
            refuse_column(reading, number, cell[i]);
        else if (seen[field])
            cs_layer_reader_diagnose(reading, number, "column '%s' is there twice", cell[i]);
        seen[field] = true;
    }
    if (header->columns < 0)
        cs_layer_reader_diagnose(reading, number,
                                 "not a header: too many columns or a quote left open");
    for (int i = 0; i < CS_FIELDS && reading->notes == 0; i++)
        if (!seen[i] && cs_layer_field_required((enum cs_field)i))
            cs_layer_reader_diagnose(reading, number, "no column '%s'",
                                     cs_layer_field_name((enum cs_field)i));
}

static void read_line(struct cs_layer_reader *reading, char *line, int64_t number,
                      const struct header *header)
{
    char *cell[MAX_COLUMNS];
    struct cs_record record = {{NULL}};
    int cells = split(line, cell);
    if (cells < 0) {
        cs_layer_reader_diagnose(reading, number, "too many columns or a quote left open");
        return;
    }
    if (cells != header->columns) {
        cs_layer_reader_diagnose(reading, number, "%d columns, the header has %d", cells,
                                 header->columns);
        return;
    }
    for (int i = 0; i < cells; i++)
        record.value[header->field[i]] = cell[i];
    cs_layer_reader_add(reading, &record, number);
}

static void read_lines(struct cs_layer_reader *reading, FILE *file)
{
    struct header header = {.columns = 0};
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    for (int64_t number = 1; (length = getline(&line, &room, file)) >= 0; number++) {
        bool first = header.columns == 0;
        line[strcspn(line, "\r\n")] = '\0';
        if (strlen(line) + 2 < (size_t)length)
            cs_layer_reader_diagnose(reading, number, "a NUL character");
        else if (*line == '\0' || *line == '#')
            continue;
        else if (first)
            read_header(reading, line, number, &header);
        else
            read_line(reading, line, number, &header);
        /* A wrong header makes every line below it wrong. */
        if (cs_layer_reader_over(reading) || (first && reading->notes > 0))
            break;
    }
    if (ferror(file))
        cs_layer_reader_diagnose(reading, 0, "%s", strerror(errno));
    free(line);
}

bool cs_layers_csv(struct cs_layers *layers, const char *path, const struct cs_layer_rules *rules,
                   cs_layers_note_fn *note, void *ctx)
{
    struct cs_layer_reader reading = {layers, path, rules, note, ctx, "", 0};
    FILE *file = fopen(path, "re");
    if (!file) {
        cs_layer_reader_diagnose(&reading, 0, "%s", strerror(errno));
        return false;
    }
    read_lines(&reading, file);
    fclose(file);
    return cs_layer_reader_end(&reading);
}
