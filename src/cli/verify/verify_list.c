/* Collects the convolutions to verify: of a list, of a summary, or the default ones. */
#include "cli/common/cli.h"
#include "cli/verify/verify.h"
#include <stdlib.h>
#include <string.h>

static void note(void *ctx, const char *line)
{
    (void)ctx;
    cs_cli_complain("%s", line);
}

/* True if the name of `length` bytes means the layer. */
static bool is_named(const struct cs_layer *layer, const char *name, size_t length)
{
    size_t model = strlen(layer->model);
    if (length < model || strncmp(name, layer->model, model) != 0)
        return false;
    return length == model || (name[model] == '/' && length == model + 1 + strlen(layer->name) &&
                               strncmp(name + model + 1, layer->name, length - model - 1) == 0);
}

/* Marks the layers that are named; false, with a line, if a name means none. */
static bool mark(const char *names, const struct cs_layers *layers, bool *chosen)
{
    for (const char *name = names; name;) {
        size_t length = strcspn(name, ",");
        bool found = false;
        for (size_t i = 0; i < layers->count; i++)
            if (is_named(&layers->layer[i], name, length))
                found = chosen[i] = true;
        if (!found) {
            cs_cli_complain("verify: --layers: the list has no layer '%.*s'", (int)length, name);
            return false;
        }
        name = name[length] == ',' ? name + length + 1 : NULL;
    }
    return true;
}

static bool keep_named(const char *names, struct cs_layers *layers)
{
    bool *chosen = calloc(layers->count, sizeof *chosen);
    bool good = chosen && mark(names, layers, chosen);
    if (!chosen)
        cs_cli_complain("verify: out of memory");
    size_t kept = 0;
    for (size_t i = 0; good && i < layers->count; i++) {
        if (chosen[i]) {
            layers->layer[kept++] = layers->layer[i];
            continue;
        }
        free(layers->layer[i].model);
        free(layers->layer[i].name);
    }
    if (good)
        layers->count = kept;
    free(chosen);
    return good;
}

bool cs_verify_add(const struct cs_verify_options *options, const char *name, const char *text,
                   struct cs_layers *layers)
{
    char error[256] = "out of memory";
    struct cs_shape shape = {.layout = CS_CHANNELS_FIRST};
    struct cs_problem problem;
    if (cs_shape_text(text, &shape, error, sizeof error)) {
        if (options->dtype_given)
            shape.dtype = options->dtype;
        if (cs_shape_problem(&shape, &problem, error, sizeof error) &&
            cs_layers_add(layers, "", name, 0, &problem))
            return true;
    }
    cs_cli_complain("verify: %s: %s", name, error);
    return false;
}

static bool add_defaults(const struct cs_verify_options *options, struct cs_layers *layers)
{
#define CS_LAYER(name, text)                                                                       \
    if (!cs_verify_add(options, name, text, layers))                                               \
        return false;
#include "cli/verify/default_layers.def"
#undef CS_LAYER
    return true;
}

bool cs_verify_list(const struct cs_verify_options *options, struct cs_layers *layers)
{
    const struct cs_layer_rules rules = {.layout = options->layout,
                                         .dtype = options->dtype_given ? &options->dtype : NULL};
    if (!options->csv && !options->summary)
        return add_defaults(options, layers);
    return (options->csv ? cs_layers_csv(layers, options->csv, &rules, note, NULL)
                         : cs_layers_summary(layers, options->summary, &rules, note, NULL)) &&
           (!options->layers || keep_named(options->layers, layers));
}
