/* A growing list of layers, and the layers of a JSON summary. */
#include "cli/layers/layers.h"

#include "cli/common/array.h"
#include "cli/common/json_tree.h"
#include "cli/layers/summary.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cs_layer *cs_layers_add(struct cs_layers *layers, const char *model, const char *name,
                               const struct cs_problem *problem)
{
    struct cs_layer layer = {.model = strdup(model),
                             .name = strdup(name),
                             .problem = *problem,
                             .recorded = {.engine = -1}};
    struct cs_layer *place = layer.model && layer.name
                                 ? cs_array_add(&layers->layer, &layers->count, sizeof *place)
                                 : NULL;
    if (place) {
        *place = layer;
        return place;
    }
    free(layer.model);
    free(layer.name);
    return NULL;
}

void cs_layers_fini(struct cs_layers *layers)
{
    for (size_t i = 0; i < layers->count; i++) {
        free(layers->layer[i].model);
        free(layers->layer[i].name);
    }
    free(layers->layer);
}

bool cs_layers_text(struct cs_layers *layers, const char *name, const char *text,
                    const struct cs_layer_rules *rules, char error[CS_LAYERS_ERROR])
{
    struct cs_problem problem;
    if (!cs_shape_text(text, rules, &problem, error))
        return false;
    if (cs_layers_add(layers, "", name, &problem))
        return true;
    snprintf(error, CS_LAYERS_ERROR, "out of memory");
    return false;
}

/* --- summaries --- */

/* Reads a list of exactly `count` whole numbers. False if it is anything else. */
static bool read_numbers(const cJSON *list, int64_t *number, int count)
{
    const cJSON *item;
    int i = 0;
    cJSON_ArrayForEach(item, list)
    {
        const double value = cJSON_GetNumberValue(item);
        if (i == count || value != floor(value))
            return false;
        number[i] = cs_json_whole(item, -1);
        if (number[i++] < 0)
            return false;
    }
    return i == count;
}

static bool read_dtype(const cJSON *object, const char *way, enum cs_dtype *dtype_p)
{
    return cs_shape_dtype(cs_json_text_at(object, way, ""), dtype_p);
}

/* Reads the extents, strides and type of one operand. */
static bool read_tensor(const cJSON *object, enum cs_operand operand, struct cs_problem *problem)
{
    enum {
        ALIGNMENT = 16 /* bytes: the allocators of frameworks align to this or more */
    };
    struct cs_tensor *tensor = &problem->tensor[operand];
    tensor->alignment = ALIGNMENT;
    tensor->side = operand;
    tensor->written = operand == cs_result(problem->direction);
    return read_numbers(cs_json_at(object, "dims"), tensor->dims, CS_DIMS) &&
           read_numbers(cs_json_at(object, "strides"), tensor->strides, CS_DIMS) &&
           read_dtype(object, "dtype", &tensor->dtype);
}

/* Reads the problem of a site. Values of the rules replace those of the site. */
static bool read_problem(const cJSON *object, const struct cs_layer_rules *rules,
                         struct cs_problem *problem)
{
    static const char *const names[CS_OPERANDS] = {"x", "w", "y"};
    const cJSON *padding = cs_json_at(object, "padding");
    const int64_t spatial = cs_json_whole_at(object, "spatial", 0);
    *problem = (struct cs_problem){.alpha = 1,
                                   .beta = cJSON_IsTrue(cs_json_at(object, "accumulates")),
                                   .flipped = cJSON_IsTrue(cs_json_at(object, "flipped")),
                                   .groups = cs_json_whole_at(object, "groups", 0),
                                   .tensors = CS_OPERANDS};
    if (spatial < 1 || spatial > CS_SPATIAL ||
        !cs_shape_direction(cs_json_text_at(object, "direction", ""), &problem->direction) ||
        !read_dtype(object, "compute", &problem->compute) || cJSON_GetArraySize(padding) != 2 ||
        !read_numbers(cJSON_GetArrayItem(padding, 0), problem->pre, CS_SPATIAL) ||
        !read_numbers(cJSON_GetArrayItem(padding, 1), problem->post, CS_SPATIAL) ||
        !read_numbers(cs_json_at(object, "stride"), problem->stride, CS_SPATIAL) ||
        !read_numbers(cs_json_at(object, "dilation"), problem->dilation, CS_SPATIAL))
        return false;
    problem->spatial = (int)spatial;
    problem->direction = rules->direction ? *rules->direction : problem->direction;
    for (int i = 0; i < CS_OPERANDS; i++) {
        if (!read_tensor(cs_json_at(object, names[i]), (enum cs_operand)i, problem))
            return false;
        if (rules->dtype)
            problem->tensor[i].dtype = *rules->dtype;
    }
    return cs_problem_check(problem) == CS_OK;
}

/* Reads the data that the run recorded of a site. `engine` is -1 if the legacy API chose it. */
static void read_recorded(const cJSON *site, struct cs_recorded *recorded)
{
    recorded->engine = cs_json_whole_at(site, "engine", -1);
    recorded->required = cs_json_whole_at(site, "required", 0);
}

/* Adds a site that was called. Others come from queries of the legacy API; another engine may have
 * run the convolution, as a site of its own. Returns the error as text, or NULL. */
static const char *add_site(struct cs_layers *layers, const char *model, const cJSON *site,
                            const struct cs_layer_rules *rules)
{
    const char *name = cs_json_text_at(site, "name", ""),
               *text = cs_json_text_at(site, "problem.text", "");
    struct cs_problem problem;
    if (cs_json_whole_at(site, "calls", 0) == 0)
        return NULL;
    if (!read_problem(cs_json_at(site, "problem"), rules, &problem))
        return "not a convolution in the form of a summary";
    struct cs_layer *layer = cs_layers_add(layers, model, *name ? name : text, &problem);
    if (!layer)
        return "out of memory";
    read_recorded(site, &layer->recorded);
    return NULL;
}

bool cs_layers_summary(struct cs_layers *layers, const char *path,
                       const struct cs_layer_rules *rules, char error[CS_LAYERS_ERROR])
{
    cJSON *summary = cs_summary_read(path, error), *site;
    const char *model = cs_json_text_at(summary, "process.program", ""), *fault = NULL;
    int64_t number = 0;
    if (!summary)
        return false;
    snprintf(layers->device, sizeof layers->device, "%s",
             cs_json_text_at(summary, "device.name", ""));
    snprintf(layers->vendor, sizeof layers->vendor, "%s",
             cs_json_text_at(summary, "versions.vendor", ""));
    cJSON_ArrayForEach(site, cs_json_at(summary, "sites"))
    {
        number += !fault;
        fault = fault ? fault : add_site(layers, model, site, rules);
    }
    if (fault)
        snprintf(error, CS_LAYERS_ERROR, "%.300s: element %" PRId64 " of sites: %s", path, number,
                 fault);
    else if (layers->count == 0)
        snprintf(error, CS_LAYERS_ERROR, "%.300s: contains no layer", path);
    cJSON_Delete(summary);
    return !fault && layers->count > 0;
}
