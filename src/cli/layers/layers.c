/* A growing list of layers, for all input formats. */
#include "cli/layers/layers.h"

#include "cli/layers/layer_reader.h"
#include <stdlib.h>
#include <string.h>

bool cs_layers_add(struct cs_layers *layers, const char *model, const char *name, int64_t line,
                   const struct cs_problem *problem)
{
    if (layers->count == layers->room) {
        size_t room = layers->room > 0 ? 2 * layers->room : 64;
        struct cs_layer *grown = reallocarray(layers->layer, room, sizeof *grown);
        if (!grown)
            return false;
        layers->layer = grown;
        layers->room = room;
    }
    static const struct cs_recorded none = {.level = {-1, 0}, .engine = -1, .calls = 1};
    struct cs_layer layer = {strdup(model), strdup(name), line, *problem, none};
    if (!layer.model || !layer.name) {
        free(layer.model);
        free(layer.name);
        return false;
    }
    layers->layer[layers->count++] = layer;
    return true;
}

void cs_layers_fini(struct cs_layers *layers)
{
    for (size_t i = 0; i < layers->count; i++) {
        free(layers->layer[i].model);
        free(layers->layer[i].name);
    }
    free(layers->layer);
}
