/* A growing list of layers, and notes about mistakes in it, for all input formats. */
#include "cli/layers/layers.h"

#include "cli/common/array.h"
#include "cli/layers/layer_reader.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_NOTES = 10,
    NOTE_BYTES = 400,
    ERROR_BYTES = 200
};

bool cs_layers_add(struct cs_layers *layers, const char *model, const char *name, int64_t line,
                   const struct cs_problem *problem)
{
    static const struct cs_recorded none = CS_NOT_RECORDED;
    struct cs_layer layer = {strdup(model), strdup(name), line, *problem, none};
    struct cs_layer *place = layer.model && layer.name
                                 ? cs_array_add(&layers->layer, &layers->count, sizeof *place)
                                 : NULL;
    if (place) {
        *place = layer;
        return true;
    }
    free(layer.model);
    free(layer.name);
    return false;
}

void cs_layers_fini(struct cs_layers *layers)
{
    for (size_t i = 0; i < layers->count; i++) {
        free(layers->layer[i].model);
        free(layers->layer[i].name);
    }
    free(layers->layer);
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
