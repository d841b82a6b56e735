/* Turns legacy descriptors into a problem through cuDNN's own getters. */
#include "intercept/legacy/dispatch.h"

#include "base/checked.h"
#include "intercept/graph/describe_graph.h"
#include <string.h>

enum {
    ALIGNMENT = 16 /* the largest alignment that tensor-core engines need; cudaMalloc gives more */
};

/* Copies `count` values of cuDNN's order (N C [[D] H] W) to the places of the five dimensions. */
static void spread_values(const int *values, int count, int64_t out[CS_DIMS])
{
    for (int i = 0; i < count; i++)
        out[i < CS_D ? i : i + CS_DIMS - count] = values[i];
}

/* Fills `tensor` with the extents, strides and type of a descriptor. *dims_p becomes its number of
 * dimensions. */
static enum cs_reason describe_tensor(cudnnTensorDescriptor_t descriptor, struct cs_tensor *tensor,
                                      int *dims_p)
{
    cudnnDataType_t type;
    int extent[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX];
    if (CS_REAL(cudnnGetTensorNdDescriptor, descriptor, CUDNN_DIM_MAX, &type, dims_p, extent,
                stride) != CUDNN_STATUS_SUCCESS)
        return CS_REASON_UNSEEN;
    if (*dims_p < CS_D + 1 || *dims_p > CS_DIMS)
        return CS_REASON_ATTRIBUTE;
    *tensor = (struct cs_tensor){.dims = {1, 1, 1, 1, 1}};
    spread_values(extent, *dims_p, tensor->dims);
    spread_values(stride, *dims_p, tensor->strides);
    return cs_attribute_dtype(type, &tensor->dtype) ? CS_REASON_NONE : CS_REASON_DTYPE;
}

/* Sets the strides of a packed filter, and 0 for absent dimensions. `order` lists the dimensions,
 * the innermost one first. */
static enum cs_reason pack_tensor(struct cs_tensor *tensor, const enum cs_dim order[CS_DIMS],
                                  int spatial)
{
    int64_t stride = 1;
    for (int i = 0; i < CS_DIMS; i++) {
        enum cs_dim dim = order[i];
        bool absent = dim >= CS_D && (int)dim < CS_DIMS - spatial;
        tensor->strides[dim] = absent ? 0 : stride;
        if (!cs_mul(stride, tensor->dims[dim], &stride))
            return CS_REASON_OVERFLOW;
    }
    return CS_REASON_NONE;
}

/* Fills `tensor` with the extents, packed strides and type of a filter. *dims_p becomes its number
 * of dimensions. */
static enum cs_reason describe_filter(cudnnFilterDescriptor_t descriptor, struct cs_tensor *tensor,
                                      int *dims_p)
{
    static const enum cs_dim nchw[CS_DIMS] = {CS_W, CS_H, CS_D, CS_C, CS_N};
    static const enum cs_dim nhwc[CS_DIMS] = {CS_C, CS_W, CS_H, CS_D, CS_N};
    cudnnDataType_t type;
    cudnnTensorFormat_t format;
    int extent[CUDNN_DIM_MAX];
    if (CS_REAL(cudnnGetFilterNdDescriptor, descriptor, CUDNN_DIM_MAX, &type, &format, dims_p,
                extent) != CUDNN_STATUS_SUCCESS)
        return CS_REASON_UNSEEN;
    if (*dims_p < CS_D + 1 || *dims_p > CS_DIMS)
        return CS_REASON_ATTRIBUTE;
    *tensor = (struct cs_tensor){.dims = {1, 1, 1, 1, 1}};
    spread_values(extent, *dims_p, tensor->dims);
    if (!cs_attribute_dtype(type, &tensor->dtype))
        return CS_REASON_DTYPE;
    switch (format) {
    case CUDNN_TENSOR_NCHW:
        return pack_tensor(tensor, nchw, *dims_p - 2);
    case CUDNN_TENSOR_NHWC:
        return pack_tensor(tensor, nhwc, *dims_p - 2);
    default:
        return CS_REASON_TENSOR;
    }
}

/* Sets paddings, strides, dilations, mode and compute type of a problem. */
static enum cs_reason describe_window(cudnnConvolutionDescriptor_t descriptor,
                                      struct cs_problem *problem)
{
    int pad[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX], dilation[CUDNN_DIM_MAX], spatial;
    cudnnConvolutionMode_t mode;
    cudnnDataType_t compute;
    if (CS_REAL(cudnnGetConvolutionNdDescriptor, descriptor, CUDNN_DIM_MAX - 2, &spatial, pad,
                stride, dilation, &mode, &compute) != CUDNN_STATUS_SUCCESS)
        return CS_REASON_UNSEEN;
    if (spatial < 1 || spatial > CS_SPATIAL)
        return CS_REASON_ATTRIBUTE;
    problem->spatial = spatial;
    problem->flipped = mode == CUDNN_CONVOLUTION;
    for (int i = 0; i < CS_SPATIAL; i++) {
        int from = i - (CS_SPATIAL - spatial);
        problem->pre[i] = problem->post[i] = from < 0 ? 0 : pad[from];
        problem->stride[i] = from < 0 ? 1 : stride[from];
        problem->dilation[i] = from < 0 ? 1 : dilation[from];
    }
    return cs_attribute_dtype(compute, &problem->compute) ? CS_REASON_NONE : CS_REASON_DTYPE;
}

/* Checks that the descriptor has the number of groups that follows from the extents. If not, cuDNN
 * refuses the call. */
static enum cs_reason check_groups(cudnnConvolutionDescriptor_t descriptor, int64_t groups)
{
    int count;
    if (CS_REAL(cudnnGetConvolutionGroupCount, descriptor, &count) != CUDNN_STATUS_SUCCESS)
        return CS_REASON_UNSEEN;
    return count == groups ? CS_REASON_NONE : CS_REASON_ARGUMENTS;
}

/* The alignment of an address in bytes. ALIGNMENT is the most, and the value for NULL. */
static int64_t alignment_of(const void *address)
{
    uintptr_t bits = (uintptr_t)address;
    uintptr_t lowest = bits & (~bits + 1);
    return lowest != 0 && lowest < ALIGNMENT ? (int64_t)lowest : ALIGNMENT;
}

/* The value of a scale, or `absent` if it is NULL. Scales of f32, f16 and bf16 convolutions are
 * floats in host memory. */
static double scale_of(const void *scale, double absent)
{
    return scale ? (double)*(const float *)scale : absent;
}

/* A fused call while it is converted to steps: conv -> + alpha2 * z -> + bias -> activation -> y.
 */
struct chain {
    struct cs_problem *problem;
    struct cs_addresses *addresses;
    int64_t last; /* the index of the next step's input */
};

/* Appends a tensor that is divided like y. Returns its index. */
static int64_t add_tensor(struct chain *chain, const struct cs_tensor *tensor, void *address)
{
    int at = chain->problem->tensors++;
    chain->problem->tensor[at] = *tensor;
    chain->problem->tensor[at].side = CS_Y;
    chain->addresses->tensor[at] = address;
    return at;
}

/* Appends the intermediate result between two steps. It has the precision of the accumulator. */
static int64_t add_virtual(struct chain *chain)
{
    struct cs_tensor tensor = chain->problem->tensor[CS_Y];
    return add_tensor(chain, &tensor, NULL);
}

/* Appends a step that applies `mode` to the previous result and tensor `b`, and stores tensor `y`.
 * Both are indexes in problem->tensor. With b < 0, `mode` has one operand. `setting` may be NULL.
 */
static void add_step(struct chain *chain, cudnnPointwiseMode_t mode, int64_t b, int64_t y,
                     const struct cs_setting *setting)
{
    struct cs_pointwise pointwise = {.mode = mode,
                                     .precision = CUDNN_DATA_FLOAT,
                                     .operand = {chain->last, b, -1, y},
                                     .settings = setting ? 1 : 0};
    if (setting)
        pointwise.setting[0] = *setting;
    cs_fusion_pack(&pointwise, &chain->problem->step[chain->problem->steps++]);
    chain->last = y;
}

static struct cs_setting float_setting(cudnnBackendAttributeName_t name, double value)
{
    struct cs_setting setting = {name, CUDNN_TYPE_FLOAT, 0};
    float narrow = (float)value;
    memcpy(&setting.bits, &narrow, sizeof narrow);
    return setting;
}

static struct cs_setting nan_setting(cudnnNanPropagation_t value)
{
    struct cs_setting setting = {CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION,
                                 0};
    memcpy(&setting.bits, &value, sizeof value);
    return setting;
}

/* Reads the activation: ReLU or identity. *nan_p becomes the setting by which the application lets
 * ReLU propagate NaN or not. */
static enum cs_reason describe_activation(const struct cs_legacy_call *call, bool *relu_p,
                                          struct cs_setting *nan_p)
{
    cudnnActivationMode_t mode;
    cudnnNanPropagation_t nan;
    double coefficient;
    if (CS_REAL(cudnnGetActivationDescriptor, call->fusion->activation, &mode, &nan,
                &coefficient) != CUDNN_STATUS_SUCCESS)
        return CS_REASON_UNSEEN;
    *nan_p = nan_setting(nan);
    *relu_p = mode == CUDNN_ACTIVATION_RELU;
    return *relu_p || mode == CUDNN_ACTIVATION_IDENTITY ? CS_REASON_NONE : CS_REASON_FUSED;
}

/* Appends tensor z or the bias of a fused call. *index_p becomes its index. */
static enum cs_reason describe_side(cudnnTensorDescriptor_t descriptor, void *address, int spatial,
                                    struct chain *chain, int64_t *index_p)
{
    struct cs_tensor tensor;
    int dims;
    enum cs_reason reason = describe_tensor(descriptor, &tensor, &dims);
    if (reason != CS_REASON_NONE)
        return reason;
    if (dims != spatial + CS_D)
        return CS_REASON_ATTRIBUTE;
    tensor.alignment = alignment_of(address);
    *index_p = add_tensor(chain, &tensor, address);
    return CS_REASON_NONE;
}

/* Makes the convolution's own result virtual. The last step writes y instead. */
static void make_virtual(struct chain *chain)
{
    struct cs_tensor *result = &chain->problem->tensor[CS_Y];
    result->dtype = chain->problem->compute;
    result->is_virtual = true;
    result->written = false;
    chain->addresses->tensor[CS_Y] = NULL;
}

/* Converts the fused operations to steps. With alpha2 = 0, z is left out: cuDNN does not read it,
 * and callers pass y or NULL for it. */
static enum cs_reason describe_fusion(const struct cs_legacy_call *call, struct chain *chain)
{
    const struct cs_legacy_fusion *fusion = call->fusion;
    const int spatial = chain->problem->spatial;
    const struct cs_tensor y = chain->problem->tensor[CS_Y];
    double alpha2 = scale_of(fusion->alpha2, 0);
    int64_t bias, z = -1;
    bool relu;
    struct cs_setting nan;
    if (!fusion->bias_data || (alpha2 != 0 && !fusion->z_data))
        return CS_REASON_ARGUMENTS;
    make_virtual(chain);
    enum cs_reason reason = describe_activation(call, &relu, &nan);
    if (reason == CS_REASON_NONE)
        reason = describe_side(fusion->bias, fusion->bias_data, spatial, chain, &bias);
    if (reason == CS_REASON_NONE && alpha2 != 0)
        reason = describe_side(fusion->z, fusion->z_data, spatial, chain, &z);
    if (reason != CS_REASON_NONE)
        return reason;

    int64_t result = add_tensor(chain, &y, call->execution.data[CS_Y]);
    if (z >= 0) {
        struct cs_setting scale = float_setting(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, alpha2);
        add_step(chain, CUDNN_POINTWISE_ADD, z, add_virtual(chain), &scale);
    }
    add_step(chain, CUDNN_POINTWISE_ADD, bias, relu ? add_virtual(chain) : result, NULL);
    if (relu)
        add_step(chain, CUDNN_POINTWISE_RELU_FWD, -1, result, &nan);
    return CS_REASON_NONE;
}

/* Describes x, y, the filter and the window, and sets their alignments and addresses. */
static enum cs_reason describe_operands(const struct cs_legacy_call *call,
                                        struct cs_problem *problem, struct cs_addresses *addresses)
{
    int dims[CS_OPERANDS];
    enum cs_reason reason = describe_tensor(call->x, &problem->tensor[CS_X], &dims[CS_X]);
    if (reason == CS_REASON_NONE)
        reason = describe_tensor(call->y, &problem->tensor[CS_Y], &dims[CS_Y]);
    if (reason == CS_REASON_NONE)
        reason = describe_filter(call->w, &problem->tensor[CS_FILTER], &dims[CS_FILTER]);
    if (reason == CS_REASON_NONE)
        reason = describe_window(call->conv, problem);
    for (int i = 0; reason == CS_REASON_NONE && i < CS_OPERANDS; i++) {
        if (dims[i] != problem->spatial + CS_D)
            reason = CS_REASON_ATTRIBUTE;
        problem->tensor[i].side = (enum cs_operand)i;
        problem->tensor[i].alignment = alignment_of(call->execution.data[i]);
        problem->tensor[i].written = i == (int)cs_result(call->direction);
        addresses->tensor[i] = call->execution.data[i];
    }
    return reason;
}

enum cs_reason cs_describe_legacy(const struct cs_legacy_call *call, struct cs_problem *problem,
                                  struct cs_addresses *addresses)
{
    /* Not zeroed as a whole, because a problem has room for many more tensors than most calls have.
     */
    problem->direction = call->direction;
    problem->tensors = CS_OPERANDS;
    problem->steps = problem->steps_before = 0;
    problem->alpha = scale_of(call->execution.alpha, 1);
    problem->beta = scale_of(call->execution.beta, 0);
    addresses->workspace = call->execution.workspace;
    enum cs_reason reason = describe_operands(call, problem, addresses);
    if (reason == CS_REASON_NONE && call->fusion)
        reason = describe_fusion(call, &(struct chain){problem, addresses, CS_Y});
    if (reason == CS_REASON_NONE)
        reason = cs_describe_groups(problem);
    return reason == CS_REASON_NONE ? check_groups(call->conv, problem->groups) : reason;
}
