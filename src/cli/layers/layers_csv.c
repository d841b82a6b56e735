/* Reads layers from CSV; errors name file, line and column. */
#include "cli/layers/layer_reader.h"

#include "cli/common/cli.h"
#include "cli/common/read_file.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_COLUMNS = 64,
    ERROR_BYTES = 200
};

enum field {
#define CS_FIELD_TEXT(name, value) FIELD_##name,
#define CS_FIELD_NUMBER(name, value, member) FIELD_##name,
#include "cli/layers/layer_fields.def"
#undef CS_FIELD_TEXT
#undef CS_FIELD_NUMBER
    FIELDS
};

enum {
    TEXT = -1
};

static const struct {
    const char *name, *value;
    long member; /* offset of a number in struct cs_shape, or TEXT */
} fields[FIELDS] = {
#define CS_FIELD_TEXT(name, value) {#name, value, TEXT},
#define CS_FIELD_NUMBER(name, value, member) {#name, value, offsetof(struct cs_shape, member)},
#include "cli/layers/layer_fields.def"
#undef CS_FIELD_TEXT
#undef CS_FIELD_NUMBER
};

/* The texts of one layer, borrowed; NULL: not given. */
struct record {
    const char *value[FIELDS];
};

static enum field find_field(const char *name)
{
    for (int i = 0; i < FIELDS; i++)
        if (strcmp(name, fields[i].name) == 0)
            return (enum field)i;
    return FIELDS;
}

static bool is_required(enum field field, const struct cs_layer_rules *rules)
{
    return !fields[field].value && !(field == FIELD_dtype && rules->dtype);
}

/* --- a layer --- */

static void refuse_column(struct cs_layer_reader *reading, int64_t line, const char *name)
{
    const char *names[FIELDS + 1] = {NULL};
    for (int i = 0; i < FIELDS; i++)
        names[i] = fields[i].name;
    const char *nearest = cs_cli_nearest(name, names);
    cs_layer_reader_diagnose(reading, line, "unknown column '%.40s'%s%s%s", name,
                             nearest ? "; did you mean '" : "", nearest ? nearest : "",
                             nearest ? "'?" : "");
}

static const char *value_of(const struct record *record, enum field field)
{
    const char *value = record->value[field];
    return value && *value ? value : fields[field].value;
}

static bool read_numbers(const struct record *record, struct cs_shape *shape,
                         char error[ERROR_BYTES])
{
    for (int i = 0; i < FIELDS; i++) {
        const char *value = value_of(record, (enum field)i);
        if (fields[i].member == TEXT)
            continue;
        if (!value) {
            snprintf(error, ERROR_BYTES, "%s is missing", fields[i].name);
            return false;
        }
        if (cs_shape_numbers(value, (int64_t *)((char *)shape + fields[i].member), 1) != 1) {
            snprintf(error, ERROR_BYTES, "%s is '%.40s', not a whole number", fields[i].name,
                     value);
            return false;
        }
    }
    return true;
}

static bool refuse_word(char error[ERROR_BYTES], enum field field, const char *word,
                        const char *allowed)
{
    if (word)
        snprintf(error, ERROR_BYTES, "%s is '%.40s', not %s", fields[field].name, word, allowed);
    else
        snprintf(error, ERROR_BYTES, "%s is missing", fields[field].name);
    return false;
}

static bool read_words(const struct record *record, const struct cs_layer_rules *rules,
                       struct cs_shape *shape, char error[ERROR_BYTES])
{
    const char *direction = value_of(record, FIELD_dir);
    const char *dtype = value_of(record, FIELD_dtype);
    const char *layout = value_of(record, FIELD_layout);
    shape->layout = rules->layout;
    if (*layout && !cs_shape_layout(layout, &shape->layout))
        return refuse_word(error, FIELD_layout, layout, "nchw or nhwc");
    if (!cs_shape_direction(direction, &shape->direction))
        return refuse_word(error, FIELD_dir, direction, "fwd, dgrad or wgrad");
    if (rules->direction)
        shape->direction = *rules->direction;
    if (rules->dtype)
        shape->dtype = *rules->dtype;
    else if (!dtype || !cs_shape_dtype(dtype, &shape->dtype))
        return refuse_word(error, FIELD_dtype, dtype, "f32, f16 or bf16");
    return true;
}

static bool read_shape(const struct record *record, const struct cs_layer_rules *rules,
                       struct cs_shape *shape, char error[ERROR_BYTES])
{
    if (!value_of(record, FIELD_layer)) {
        snprintf(error, ERROR_BYTES, "layer is missing");
        return false;
    }
    if (!read_numbers(record, shape, error) || !read_words(record, rules, shape, error))
        return false;
    bool flat = shape->in[0] == 1 && shape->kernel[0] == 1 && shape->pad[0] == 0;
    shape->spatial = flat ? 2 : 3;
    return true;
}

static void add_record(struct cs_layer_reader *reading, const struct record *record, int64_t line)
{
    char error[ERROR_BYTES];
    struct cs_shape shape = {0};
    struct cs_problem problem;
    if (!read_shape(record, reading->rules, &shape, error) ||
        !cs_shape_problem(&shape, &problem, error, sizeof error))
        cs_layer_reader_diagnose(reading, line, "%s", error);
    else if (!cs_layers_add(reading->layers, value_of(record, FIELD_model),
                            value_of(record, FIELD_layer), line, &problem))
        cs_layer_reader_diagnose(reading, line, "out of memory");
}

/* --- lines --- */

struct header {
    int columns;
    enum field field[MAX_COLUMNS];
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
    bool seen[FIELDS + 1] = {false};
    header->columns = split_line(line, cell);
    for (int i = 0; i < header->columns; i++) {
        enum field field = find_field(cell[i]);
        header->field[i] = field;
        if (field == FIELDS)
            refuse_column(reading, number, cell[i]);
        else if (seen[field])
            cs_layer_reader_diagnose(reading, number, "column '%s' appears twice", cell[i]);
        seen[field] = true;
    }
    if (header->columns < 0)
        cs_layer_reader_diagnose(reading, number,
                                 "invalid header: too many columns, or a quote is not closed");
    for (int i = 0; i < FIELDS && reading->notes == 0; i++)
        if (!seen[i] && is_required((enum field)i, reading->rules))
            cs_layer_reader_diagnose(reading, number, "no column '%s'%s", fields[i].name,
                                     i == FIELD_dtype ? ". To set one for all lines: --dtype" : "");
}

static void read_line(struct cs_layer_reader *reading, char *line, int64_t number,
                      const struct header *header)
{
    char *cell[MAX_COLUMNS];
    struct record record = {{NULL}};
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
    add_record(reading, &record, number);
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

static void read_lines(struct cs_layer_reader *reading, char *text)
{
    const char *end = text + strlen(text);
    struct header header = {.columns = 0};
    char *rest = text, *line;
    for (int64_t number = 1; (line = next_line(&rest, end)); number++) {
        bool first = header.columns == 0;
        if (strchr(line, '\r')) {
            cs_layer_reader_diagnose(
                reading, number,
                "lines end with a carriage return alone. Save the file with line feeds.");
            break;
        }
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
    char *text = cs_read_file_text(path, error);
    if (!text) {
        cs_layer_reader_diagnose(&reading, 0, "%s", error);
        return false;
    }
    read_lines(&reading, text);
    free(text);
    return cs_layer_reader_end(&reading);
}
