/* A real cuDNN whose plans contain no description: records the operations as they are set. */
#include <stdlib.h>
#include <string.h>

#include "cudnn_rule.h"

/* Before 9.10, most engines of cuDNN have no JSON. Each of its descriptors has a twin of the
 * rule-of-thumb planner, which gets the same attributes and can describe a plan. Engines, knobs and
 * sizes come from the real descriptor, and only the operations from the twin. */

static struct simdev_planner real, rule;

struct twins {
    cudnnBackendDescriptorType_t type;
    cudnnBackendDescriptor_t own, twin;
};

static cudnnStatus_t create_twins(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out)
{
    struct twins *twins = calloc(1, sizeof *twins);
    if (!twins)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    twins->type = type;
    cudnnStatus_t status = real.create(type, &twins->own);
    if (status != CUDNN_STATUS_SUCCESS)
        goto failed;
    status = rule.create(type, &twins->twin);
    if (status != CUDNN_STATUS_SUCCESS)
        goto failed_twin;
    *out = twins;
    return CUDNN_STATUS_SUCCESS;
failed_twin:
    (void)real.destroy(twins->own);
failed:
    free(twins);
    return status;
}

static cudnnStatus_t destroy_twins(cudnnBackendDescriptor_t descriptor)
{
    struct twins *twins = descriptor;
    const cudnnStatus_t status = real.destroy(twins->own);
    (void)rule.destroy(twins->twin);
    free(twins);
    return status;
}

/* The real descriptors of an array; to be freed. */
static cudnnBackendDescriptor_t *own_ones(int64_t count, const void *values)
{
    struct twins *const *pairs = values;
    cudnnBackendDescriptor_t *own = malloc((size_t)count * sizeof *own);
    for (int64_t i = 0; own && i < count; i++)
        own[i] = pairs[i] ? pairs[i]->own : NULL;
    return own;
}

static cudnnStatus_t set_descriptors(const struct twins *of, cudnnBackendAttributeName_t name,
                                     int64_t count, const void *values)
{
    struct twins *const *pairs = values;
    cudnnBackendDescriptor_t *list = own_ones(count, values);
    if (!list)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    const cudnnStatus_t status =
        real.set(of->own, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, list);
    if (status == CUDNN_STATUS_SUCCESS && name != CUDNN_ATTR_ENGINECFG_KNOB_CHOICES) {
        for (int64_t i = 0; i < count; i++)
            list[i] = pairs[i]->twin;
        (void)rule.set(of->twin, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, list);
    }
    free(list);
    return status;
}

static cudnnStatus_t set_attribute(cudnnBackendDescriptor_t descriptor,
                                   cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type, int64_t count,
                                   const void *values)
{
    const struct twins *twins = descriptor;
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR && values && count > 0)
        return set_descriptors(twins, name, count, values);
    const cudnnStatus_t status = real.set(twins->own, name, type, count, values);
    if (status == CUDNN_STATUS_SUCCESS && name != CUDNN_ATTR_ENGINE_GLOBAL_INDEX)
        (void)rule.set(twins->twin, name, type, count, values);
    return status;
}

static cudnnStatus_t finalize_twins(cudnnBackendDescriptor_t descriptor)
{
    static const int64_t plain = 0; /* the engine that the rule-of-thumb planner always has */
    const struct twins *twins = descriptor;
    const cudnnStatus_t status = real.finalize(twins->own);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (twins->type == CUDNN_BACKEND_ENGINE_DESCRIPTOR)
        (void)rule.set(twins->twin, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &plain);
    (void)rule.finalize(twins->twin);
    return status;
}

static cudnnStatus_t get_descriptors(const struct twins *of, cudnnBackendAttributeName_t name,
                                     int64_t requested, int64_t *count, void *values)
{
    struct twins **pairs = values;
    int64_t filled = 0;
    cudnnBackendDescriptor_t *list = own_ones(requested, values);
    if (!list)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    const cudnnStatus_t status =
        real.get(of->own, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, requested, &filled, list);
    free(list);
    /* One by one, because the real heuristics find more configurations than the rule of thumb. */
    for (int64_t i = 0; status == CUDNN_STATUS_SUCCESS && i < filled && i < requested; i++)
        if (pairs[i])
            (void)rule.get(of->twin, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, NULL, &pairs[i]->twin);
    if (count)
        *count = filled;
    return status;
}

static cudnnStatus_t read_child(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                                cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out)
{
    int64_t count = 0;
    cudnnStatus_t status = real.create(type, out);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    status = real.get(of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, out);
    if (status != CUDNN_STATUS_SUCCESS)
        (void)real.destroy(*out);
    return status;
}

static cudnnStatus_t engine_of(cudnnBackendDescriptor_t plan, int64_t *number)
{
    cudnnBackendDescriptor_t config, engine;
    cudnnStatus_t status = read_child(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                      CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    status =
        read_child(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine);
    if (status == CUDNN_STATUS_SUCCESS) {
        status =
            real.get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, NULL, number);
        (void)real.destroy(engine);
    }
    (void)real.destroy(config);
    return status;
}

static cudnnStatus_t describe_plan(const struct twins *plan, int64_t requested, int64_t *count,
                                   void *values)
{
    int64_t number = 0;
    const struct rule_node *node = plan->twin;
    static const cudnnBackendAttributeName_t way[] = {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                                      CUDNN_ATTR_ENGINECFG_ENGINE,
                                                      CUDNN_ATTR_ENGINE_OPERATION_GRAPH};
    for (size_t i = 0; node && i < sizeof way / sizeof *way; i++)
        node = rule_child(node, way[i], 0);
    if (!node)
        return CUDNN_STATUS_NOT_SUPPORTED;
    const cudnnStatus_t status = engine_of(plan->own, &number);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    char *text = rule_describe_plan(node, number);
    if (!text)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    const int64_t length = (int64_t)strlen(text);
    if (values)
        memcpy(values, text, (size_t)(length < requested ? length : requested));
    if (count)
        *count = length;
    free(text);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t get_attribute(cudnnBackendDescriptor_t descriptor,
                                   cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type, int64_t requested,
                                   int64_t *count, void *values)
{
    const struct twins *twins = descriptor;
    if (name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)
        return describe_plan(twins, requested, count, values);
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR && values && requested > 0)
        return get_descriptors(twins, name, requested, count, values);
    return real.get(twins->own, name, type, requested, count, values);
}

static struct twins *make_device(cudnnBackendDescriptor_t own)
{
    cudnnBackendDescriptor_t device;
    struct twins *twins = calloc(1, sizeof *twins);
    if (!twins)
        return NULL;
    *twins = (struct twins){CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, own, NULL};
    if (rule.create(twins->type, &device) != CUDNN_STATUS_SUCCESS) {
        free(twins);
        return NULL;
    }
    (void)rule.finalize(device);
    twins->twin = device;
    return twins;
}

bool simdev_planner_described(struct simdev_planner *planner)
{
    real = *planner;
    simdev_planner_rule(&rule);
    for (int i = 0; i < SIMDEV_MAX_DEVICES && real.device[i]; i++) {
        planner->device[i] = make_device(real.device[i]);
        if (!planner->device[i])
            return false;
    }
    planner->create = create_twins;
    planner->destroy = destroy_twins;
    planner->set = set_attribute;
    planner->get = get_attribute;
    planner->finalize = finalize_twins;
    return true;
}
