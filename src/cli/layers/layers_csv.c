/* Reads layers from CSV. Errors name file, line and column. */
#include "cli/layers/layers.h"

#include "cli/common/cli.h"
#include "cli/common/read_file.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_COLUMNS = 64,
    TEXT = -1
};

enum field {
#define CS_FIELD_TEXT(name, value) FIELD_##name,
#define CS_FIELD_NUMBER(name, value, least, member) FIELD_##name,
#include "cli/layers/layer_fields.def"
#undef CS_FIELD_TEXT
#undef CS_FIELD_NUMBER
    FIELDS
};

static const struct {
    const char *name, *value;
    long member; /* offset of a number in struct cs_problem, or TEXT */
} fields[FIELDS] = {
#define CS_FIELD_TEXT(name, value) {#name, value, TEXT},
#define CS_FIELD_NUMBER(name, value, least, member)                                                \
    {#name, value, offsetof(struct cs_problem, member)},
#include "cli/layers/layer_fields.def"
#undef CS_FIELD_TEXT
#undef CS_FIELD_NUMBER
};

/* A file while it is read. */
struct csv_reader {
    struct cs_layers *layers;
    const char *path;
    const struct cs_layer_rules *rules;
    char *error;
    int64_t line; /* from 1 */
    int columns;  /* 0: the header is still to come */
    enum field field[MAX_COLUMNS];
};

/* Writes the error with the place of the line. Returns false. */
__attribute__((format(printf, 2, 3))) static bool refuse(struct csv_reader *reader,
                                                         const char *format, ...)
{
    va_list list;
    int length = snprintf(reader->error, CS_LAYERS_ERROR, "%.200s:%" PRId64 ": ", reader->path,
                          reader->line);
    va_start(list, format);
    vsnprintf(reader->error + length, CS_LAYERS_ERROR - (size_t)length, format, list);
    va_end(list);
    return false;
}

/* --- cells --- */

/* Removes the quotes of a cell in place. Returns the cell's end in the line, or NULL if a quote is
 * left open. */
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

/* Cuts a line into cells in place. Returns how many, 0 after an error. */
static int split_line(struct csv_reader *reader, char *line, char *cell[MAX_COLUMNS])
{
    int cells = 0;
    for (char *at = line; cells < MAX_COLUMNS; at++) {
        cell[cells++] = at;
        char *end = *at == '"' ? unquote_cell(at) : at + strcspn(at, ",");
        if (!end || (*end && *end != ','))
            break;
        bool last = *end == '\0';
        *end = '\0';
        if (last)
            return cells;
        at = end;
    }
    refuse(reader, "too many columns, or a quote is not closed");
    return 0;
}

/* --- the header --- */

static bool refuse_column(struct csv_reader *reader, const char *name)
{
    const char *names[FIELDS + 1] = {NULL};
    for (int i = 0; i < FIELDS; i++)
        names[i] = fields[i].name;
    const char *nearest = cs_cli_nearest(name, names);
    return refuse(reader, "unknown column '%.40s'%s%s%s", name, nearest ? "; did you mean '" : "",
                  nearest ? nearest : "", nearest ? "'?" : "");
}

static bool is_required(const struct csv_reader *reader, int field)
{
    return !fields[field].value && !(field == FIELD_dtype && reader->rules->dtype);
}

/* Reads the line with the names of the columns. False after an error. */
static bool read_header(struct csv_reader *reader, char *line)
{
    char *cell[MAX_COLUMNS];
    bool seen[FIELDS] = {false};
    reader->columns = split_line(reader, line, cell);
    for (int i = 0; i < reader->columns; i++) {
        int field = 0;
        while (field < FIELDS && strcmp(cell[i], fields[field].name) != 0)
            field++;
        if (field == FIELDS)
            return refuse_column(reader, cell[i]);
        if (seen[field])
            return refuse(reader, "column '%s' appears twice", cell[i]);
        reader->field[i] = (enum field)field;
        seen[field] = true;
    }
    for (int i = 0; i < FIELDS && reader->columns > 0; i++)
        if (!seen[i] && is_required(reader, i))
            return refuse(reader, "no column '%s'%s", fields[i].name,
                          i == FIELD_dtype ? ". To set one for all lines: --dtype" : "");
    return reader->columns > 0;
}

/* --- a layer --- */

static bool read_numbers(struct csv_reader *reader, const char *const value[FIELDS],
                         struct cs_problem *problem)
{
    for (int i = 0; i < FIELDS; i++) {
        if (!value[i] && is_required(reader, i))
            return refuse(reader, "%s is missing", fields[i].name);
        if (fields[i].member != TEXT &&
            cs_shape_numbers(value[i], (int64_t *)(void *)((char *)problem + fields[i].member),
                             1) != 1)
            return refuse(reader, "%s is '%.40s', not a whole number", fields[i].name, value[i]);
    }
    return true;
}

static bool read_words(struct csv_reader *reader, const char *const value[FIELDS],
                       struct cs_problem *problem, enum cs_order *layout_p)
{
    const struct cs_layer_rules *rules = reader->rules;
    enum cs_dtype *dtype = &problem->tensor[CS_X].dtype;
    *layout_p = rules->layout;
    if (*value[FIELD_layout] && !cs_shape_layout(value[FIELD_layout], layout_p))
        return refuse(reader, "layout is '%.40s', not nchw or nhwc", value[FIELD_layout]);
    if (!cs_shape_direction(value[FIELD_dir], &problem->direction))
        return refuse(reader, "dir is '%.40s', not fwd, dgrad or wgrad", value[FIELD_dir]);
    if (rules->direction)
        problem->direction = *rules->direction;
    if (rules->dtype)
        *dtype = *rules->dtype;
    else if (!cs_shape_dtype(value[FIELD_dtype], dtype))
        return refuse(reader, "dtype is '%.40s', not f32, f16 or bf16", value[FIELD_dtype]);
    return true;
}

/* Reads a line with a layer and adds the layer. False after an error. */
static bool read_layer(struct csv_reader *reader, char *line)
{
    char *cell[MAX_COLUMNS], why[CS_LAYERS_ERROR];
    const char *value[FIELDS];
    struct cs_problem problem = {.spatial = 3};
    enum cs_order layout;
    const int cells = split_line(reader, line, cell);
    if (cells == 0)
        return false;
    if (cells != reader->columns)
        return refuse(reader, "%d columns, but the header has %d", cells, reader->columns);
    for (int i = 0; i < FIELDS; i++)
        value[i] = fields[i].value;
    for (int i = 0; i < cells; i++)
        if (*cell[i])
            value[reader->field[i]] = cell[i];
    if (!read_numbers(reader, value, &problem) || !read_words(reader, value, &problem, &layout))
        return false;
    if (problem.tensor[CS_X].dims[CS_D] == 1 && problem.tensor[CS_FILTER].dims[CS_D] == 1 &&
        problem.pre[0] == 0)
        problem.spatial = 2;
    if (!cs_shape_complete(&problem, layout, why))
        return refuse(reader, "%s", why);
    return cs_layers_add(reader->layers, value[FIELD_model], value[FIELD_layer], &problem) ||
           refuse(reader, "out of memory");
}

bool cs_layers_csv(struct cs_layers *layers, const char *path, const struct cs_layer_rules *rules,
                   char error[CS_LAYERS_ERROR])
{
    struct csv_reader reader = {.layers = layers, .path = path, .rules = rules, .error = error};
    char why[CS_FILE_ERROR];
    char *const text = cs_read_file_text(path, why);
    char *rest = text, *line;
    bool good = text != NULL;
    if (!good)
        snprintf(error, CS_LAYERS_ERROR, "%.200s: %s", path, why);
    while (good && (line = strsep(&rest, "\n"))) {
        const size_t length = strlen(line);
        reader.line++;
        if (length > 0 && line[length - 1] == '\r')
            line[length - 1] = '\0';
        if (*line && *line != '#')
            good = reader.columns == 0 ? read_header(&reader, line) : read_layer(&reader, line);
    }
    free(text);
    if (good && layers->count == 0)
        snprintf(error, CS_LAYERS_ERROR, "%.200s: contains no layer", path);
    return good && layers->count > 0;
}
