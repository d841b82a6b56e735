#include "backend.h"

cudnnStatus_t backend_set(cudnnBackendDescriptor_t desc, cudnnBackendAttributeName_t name,
                          cudnnBackendAttributeType_t type, const void *value)
{
    return cudnnBackendSetAttribute(desc, name, type, 1, value);
}

cudnnStatus_t backend_set_desc(cudnnBackendDescriptor_t desc, cudnnBackendAttributeName_t name,
                               cudnnBackendDescriptor_t value)
{
    return backend_set(desc, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, &value);
}

void backend_destroy(cudnnBackendDescriptor_t desc)
{
    if (desc != NULL)
        cudnnBackendDestroyDescriptor(desc);
}

cudnnStatus_t backend_tensor_fill(cudnnBackendDescriptor_t desc, const struct tensor *tensor,
                                  int64_t id, enum backend_storage storage)
{
    int64_t alignment = tensor_alignment(tensor);
    bool yes = true;
    BACKEND_DO(backend_set(desc, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &tensor->type));
    BACKEND_DO(cudnnBackendSetAttribute(desc, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64,
                                        tensor->dims, tensor->size));
    BACKEND_DO(cudnnBackendSetAttribute(desc, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64,
                                        tensor->dims, tensor->stride));
    BACKEND_DO(backend_set(desc, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &id));
    BACKEND_DO(backend_set(desc, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &alignment));
    if (storage != BACKEND_MEMORY)
        BACKEND_DO(backend_set(desc,
                               storage == BACKEND_VIRTUAL ? CUDNN_ATTR_TENSOR_IS_VIRTUAL
                                                          : CUDNN_ATTR_TENSOR_IS_BY_VALUE,
                               CUDNN_TYPE_BOOLEAN, &yes));
    return cudnnBackendFinalize(desc);
}

cudnnStatus_t backend_tensor(const struct tensor *tensor, int64_t id, enum backend_storage storage,
                             cudnnBackendDescriptor_t *desc)
{
    BACKEND_DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, desc));
    return backend_tensor_fill(*desc, tensor, id, storage);
}

cudnnStatus_t backend_convolution(const struct conv_problem *problem,
                                  cudnnBackendDescriptor_t *desc)
{
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    int64_t spatial = problem->spatial;
    const struct {
        cudnnBackendAttributeName_t name;
        const int64_t *values;
    } extents[] = {{CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, problem->pre},
                   {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, problem->post},
                   {CUDNN_ATTR_CONVOLUTION_DILATIONS, problem->dilation},
                   {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, problem->stride}};
    BACKEND_DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, desc));
    BACKEND_DO(
        backend_set(*desc, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &compute));
    BACKEND_DO(
        backend_set(*desc, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, &mode));
    BACKEND_DO(backend_set(*desc, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, &spatial));
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++)
        BACKEND_DO(cudnnBackendSetAttribute(*desc, extents[i].name, CUDNN_TYPE_INT64, spatial,
                                            extents[i].values));
    return cudnnBackendFinalize(*desc);
}

const struct backend_operation_names backend_operation_names[CONV_DIRECTIONS] = {
    [CONV_FORWARD] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC},
                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    [CONV_DATA] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                   {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC},
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    [CONV_FILTER] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC},
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};

cudnnStatus_t backend_operation(const struct conv_problem *problem,
                                const cudnnBackendDescriptor_t *parts,
                                cudnnBackendDescriptor_t *desc)
{
    const struct backend_operation_names *operation = &backend_operation_names[problem->direction];
    BACKEND_DO(cudnnBackendCreateDescriptor(operation->type, desc));
    for (int i = 0; i < 4; i++)
        BACKEND_DO(backend_set_desc(*desc, operation->part[i], parts[i]));
    BACKEND_DO(backend_set(*desc, operation->alpha, CUDNN_TYPE_FLOAT, &problem->alpha));
    BACKEND_DO(backend_set(*desc, operation->beta, CUDNN_TYPE_FLOAT, &problem->beta));
    return cudnnBackendFinalize(*desc);
}

cudnnStatus_t backend_graph(cudnnHandle_t handle, const cudnnBackendDescriptor_t *operations,
                            int64_t count, cudnnBackendDescriptor_t *desc)
{
    BACKEND_DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, desc));
    BACKEND_DO(cudnnBackendSetAttribute(*desc, CUDNN_ATTR_OPERATIONGRAPH_OPS,
                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, count, operations));
    BACKEND_DO(backend_set(*desc, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &handle));
    return cudnnBackendFinalize(*desc);
}

static cudnnStatus_t fill_pack(cudnnBackendDescriptor_t pack, int64_t count, const int64_t *ids,
                               void *const *pointers, void *workspace)
{
    BACKEND_DO(cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                        CUDNN_TYPE_VOID_PTR, count, pointers));
    BACKEND_DO(cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
                                        count, ids));
    BACKEND_DO(
        backend_set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &workspace));
    return cudnnBackendFinalize(pack);
}

cudnnStatus_t backend_pack(int64_t count, const int64_t *ids, void *const *pointers,
                           void *workspace, cudnnBackendDescriptor_t *desc)
{
    BACKEND_DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, desc));
    return fill_pack(*desc, count, ids, pointers, workspace);
}

/* --- engines as numbers --- */

static cudnnStatus_t read_index(cudnnBackendDescriptor_t config, cudnnBackendDescriptor_t engine,
                                int64_t *index_p)
{
    int64_t count = 0;
    BACKEND_DO(cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine));
    return cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                                    &count, index_p);
}

static cudnnStatus_t read_knobs(cudnnBackendDescriptor_t config, cudnnBackendDescriptor_t *knob,
                                struct backend_engine *engine)
{
    int64_t one = 0;
    for (int i = 0; i < BACKEND_KNOBS; i++)
        BACKEND_DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, &knob[i]));
    BACKEND_DO(cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, BACKEND_KNOBS,
                                        &engine->knobs, knob));
    for (int64_t i = 0; i < engine->knobs; i++) {
        BACKEND_DO(cudnnBackendGetAttribute(knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                                            CUDNN_TYPE_KNOB_TYPE, 1, &one, &engine->type[i]));
        BACKEND_DO(cudnnBackendGetAttribute(knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE,
                                            CUDNN_TYPE_INT64, 1, &one, &engine->value[i]));
    }
    return CUDNN_STATUS_SUCCESS;
}

static void destroy_all(cudnnBackendDescriptor_t *desc, int count)
{
    for (int i = 0; i < count; i++)
        backend_destroy(desc[i]);
}

cudnnStatus_t backend_engine_read(cudnnBackendDescriptor_t config, struct backend_engine *engine)
{
    cudnnBackendDescriptor_t knob[BACKEND_KNOBS] = {NULL}, desc = NULL;
    engine->knobs = 0;
    BACKEND_DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &desc));
    cudnnStatus_t status = read_index(config, desc, &engine->index);
    backend_destroy(desc);
    if (status == CUDNN_STATUS_SUCCESS)
        status = read_knobs(config, knob, engine);
    destroy_all(knob, BACKEND_KNOBS);
    return status;
}

static cudnnStatus_t make_engine(const struct backend_engine *engine,
                                 cudnnBackendDescriptor_t graph, cudnnBackendDescriptor_t *desc)
{
    BACKEND_DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, desc));
    BACKEND_DO(backend_set_desc(*desc, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph));
    BACKEND_DO(
        backend_set(*desc, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, &engine->index));
    return cudnnBackendFinalize(*desc);
}

static cudnnStatus_t fill_config(cudnnBackendDescriptor_t config,
                                 cudnnBackendDescriptor_t engine_desc,
                                 const struct backend_engine *engine,
                                 cudnnBackendDescriptor_t *knob)
{
    for (int64_t i = 0; i < engine->knobs; i++) {
        BACKEND_DO(cudnnBackendCreateDescriptor(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, &knob[i]));
        BACKEND_DO(backend_set(knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
                               &engine->type[i]));
        BACKEND_DO(backend_set(knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64,
                               &engine->value[i]));
        BACKEND_DO(cudnnBackendFinalize(knob[i]));
    }
    BACKEND_DO(backend_set_desc(config, CUDNN_ATTR_ENGINECFG_ENGINE, engine_desc));
    if (engine->knobs > 0)
        BACKEND_DO(cudnnBackendSetAttribute(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                            CUDNN_TYPE_BACKEND_DESCRIPTOR, engine->knobs, knob));
    return cudnnBackendFinalize(config);
}

cudnnStatus_t backend_engine_config(const struct backend_engine *engine,
                                    cudnnBackendDescriptor_t graph,
                                    cudnnBackendDescriptor_t *config_p)
{
    cudnnBackendDescriptor_t knob[BACKEND_KNOBS] = {NULL}, desc = NULL, config = NULL;
    cudnnStatus_t status = make_engine(engine, graph, &desc);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config);
    if (status == CUDNN_STATUS_SUCCESS)
        status = fill_config(config, desc, engine, knob);
    destroy_all(knob, BACKEND_KNOBS);
    backend_destroy(desc);
    if (status == CUDNN_STATUS_SUCCESS)
        *config_p = config;
    else
        backend_destroy(config);
    return status;
}
