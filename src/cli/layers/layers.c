/* A growing list of layers, for all input formats. */
#include "cli/layers/layers.h"

#include "cli/common/array.h"
#include "cli/layers/layer_reader.h"
#include <stdlib.h>
#include <string.h>

bool cs_layers_add(struct cs_layers *layers, const char *model, const char *name, int64_t line,
                   const struct cs_problem *problem)
{
    static const struct cs_recorded none = {.level = {-1, 0}, .engine = -1, .calls = 1};
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
