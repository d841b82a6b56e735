/* Converts the named text fields of one row, of any format, to a layer, and reports the errors in
 * it. */
#include "cli/layers/layer_reader.h"

#include "cli/common/cli.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_NOTES = 10,
    NOTE_BYTES = 400,
    ERROR_BYTES = 200
};

static const struct {
    const char *name, *value;
} fields[CS_FIELDS] = {
#define CS_FIELD(name, value) {#name, value},
#include "cli/layers/layer_fields.def"
#undef CS_FIELD
};

enum cs_field cs_layer_field_find(const char *name)
{
    for (int i = 0; i < CS_FIELDS; i++)
        if (strcmp(name, fields[i].name) == 0)
            return (enum cs_field)i;
    return CS_FIELDS;
}

const char *cs_layer_field_name(enum cs_field field)
{
    return fields[field].name;
}

bool cs_layer_field_required(enum cs_field field, const struct cs_layer_rules *rules)
{
    return !fields[field].value && !(field == CS_FIELD_dtype && rules->dtype);
}

void cs_layer_reader_diagnose(struct cs_layer_reader *reading, int64_t line, const char *format,
                              ...)
{
    char what[ERROR_BYTES], text[NOTE_BYTES];
    va_list list;
    if (cs_layer_reader_over(reading))
        return;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    if (line > 0)
        snprintf(text, sizeof text, "%s:%s%" PRId64 ": %s", reading->path, reading->unit, line,
                 what);
    else
        snprintf(text, sizeof text, "%s: %s", reading->path, what);
    reading->note(reading->ctx, text);
    if (++reading->notes == MOST_NOTES)
        reading->note(reading->ctx, "more mistakes are not listed");
}

bool cs_layer_reader_over(const struct cs_layer_reader *reading)
{
    return reading->notes >= MOST_NOTES;
}

bool cs_layer_reader_end(struct cs_layer_reader *reading)
{
    if (reading->notes == 0 && reading->layers->count == 0)
        cs_layer_reader_diagnose(reading, 0, "contains no layer");
    return reading->notes == 0;
}

void cs_layer_reader_unknown(struct cs_layer_reader *reading, int64_t line, const char *what,
                             const char *name)
{
    const char *names[CS_FIELDS + 1] = {NULL};
    for (int i = 0; i < CS_FIELDS; i++)
        names[i] = fields[i].name;
    const char *nearest = cs_cli_nearest(name, names);
    cs_layer_reader_diagnose(reading, line, "unknown %s '%.40s'%s%s%s", what, name,
                             nearest ? "; did you mean '" : "", nearest ? nearest : "",
                             nearest ? "'?" : "");
}

static const char *value_of(const struct cs_record *record, enum cs_field field)
{
    const char *value = record->value[field];
    return value && *value ? value : fields[field].value;
}

static bool read_number(const struct cs_record *record, enum cs_field field, int64_t *number_p,
                        char error[ERROR_BYTES])
{
    const char *value = value_of(record, field);
    if (value && cs_shape_numbers(value, number_p, 1) == 1)
        return true;
    if (value)
        snprintf(error, ERROR_BYTES, "%s is '%.40s', not a whole number", fields[field].name,
                 value);
    else
        snprintf(error, ERROR_BYTES, "%s is missing", fields[field].name);
    return false;
}

static bool read_numbers(const struct cs_record *record, struct cs_shape *shape,
                         char error[ERROR_BYTES])
{
    const struct {
        enum cs_field field;
        int64_t *to;
    } numbers[] = {
        {CS_FIELD_n, &shape->n},
        {CS_FIELD_c, &shape->c},
        {CS_FIELD_k, &shape->k},
        {CS_FIELD_groups, &shape->groups},
        {CS_FIELD_d, &shape->in[0]},
        {CS_FIELD_h, &shape->in[1]},
        {CS_FIELD_w, &shape->in[2]},
        {CS_FIELD_kd, &shape->kernel[0]},
        {CS_FIELD_kh, &shape->kernel[1]},
        {CS_FIELD_kw, &shape->kernel[2]},
        {CS_FIELD_sd, &shape->stride[0]},
        {CS_FIELD_sh, &shape->stride[1]},
        {CS_FIELD_sw, &shape->stride[2]},
        {CS_FIELD_pd, &shape->pad[0]},
        {CS_FIELD_ph, &shape->pad[1]},
        {CS_FIELD_pw, &shape->pad[2]},
        {CS_FIELD_dd, &shape->dilation[0]},
        {CS_FIELD_dh, &shape->dilation[1]},
        {CS_FIELD_dw, &shape->dilation[2]},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!read_number(record, numbers[i].field, numbers[i].to, error))
            return false;
    return true;
}

static bool refuse_word(char error[ERROR_BYTES], enum cs_field field, const char *word,
                        const char *allowed)
{
    if (word)
        snprintf(error, ERROR_BYTES, "%s is '%.40s', not %s", fields[field].name, word, allowed);
    else
        snprintf(error, ERROR_BYTES, "%s is missing", fields[field].name);
    return false;
}

static bool read_words(const struct cs_record *record, const struct cs_layer_rules *rules,
                       struct cs_shape *shape, char error[ERROR_BYTES])
{
    const char *direction = value_of(record, CS_FIELD_dir);
    const char *dtype = value_of(record, CS_FIELD_dtype);
    const char *layout = value_of(record, CS_FIELD_layout);
    shape->layout = rules->layout;
    if (*layout && !cs_shape_layout(layout, &shape->layout))
        return refuse_word(error, CS_FIELD_layout, layout, "nchw or nhwc");
    if (!cs_shape_direction(direction, &shape->direction))
        return refuse_word(error, CS_FIELD_dir, direction, "fwd, dgrad or wgrad");
    if (rules->direction)
        shape->direction = *rules->direction;
    if (rules->dtype)
        shape->dtype = *rules->dtype;
    else if (!dtype || !cs_shape_dtype(dtype, &shape->dtype))
        return refuse_word(error, CS_FIELD_dtype, dtype, "f32, f16 or bf16");
    return true;
}

static bool read_shape(const struct cs_record *record, const struct cs_layer_rules *rules,
                       struct cs_shape *shape, char error[ERROR_BYTES])
{
    if (!value_of(record, CS_FIELD_layer)) {
        snprintf(error, ERROR_BYTES, "layer is missing");
        return false;
    }
    if (!read_numbers(record, shape, error) || !read_words(record, rules, shape, error))
        return false;
    bool flat = shape->in[0] == 1 && shape->kernel[0] == 1 && shape->pad[0] == 0;
    shape->spatial = flat ? 2 : 3;
    return true;
}

void cs_layer_reader_add(struct cs_layer_reader *reading, const struct cs_record *record,
                         int64_t line)
{
    char error[ERROR_BYTES];
    struct cs_shape shape = {0};
    struct cs_problem problem;
    if (!read_shape(record, reading->rules, &shape, error) ||
        !cs_shape_problem(&shape, &problem, error, sizeof error))
        cs_layer_reader_diagnose(reading, line, "%s", error);
    else if (!cs_layers_add(reading->layers, value_of(record, CS_FIELD_model),
                            value_of(record, CS_FIELD_layer), line, &problem))
        cs_layer_reader_diagnose(reading, line, "out of memory");
}
