/* A set of shadowed descriptors that hold a sound convolution until something else is set in them.
 */
#ifndef SOUND_GRAPH_H
#define SOUND_GRAPH_H

#include "intercept/graph/describe_graph.h"

enum slot {
    TENSOR_X,
    TENSOR_W,
    TENSOR_Y,
    TENSOR_B, /* the tensor added after the convolution, if it is fused */
    TENSOR_V, /* then the convolution's own result */
    CONV,
    OPERATION,
    POINTWISE,
    ADDITION,
    GRAPH,
    PACK,
    PLAN,
    SLOTS
};

static const struct {
    cudnnBackendDescriptorType_t type;
    int first, attributes;
} kind[SLOTS] = {{CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 14},
                 {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 14},
                 {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 14},
                 {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 14},
                 {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 14},
                 {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, 8},
                 {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 7},
                 {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, 11},
                 {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
                  CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 10},
                 {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, 6},
                 {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, 13},
                 {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, 9}};

static char descriptor[SLOTS + 1][16]; /* the last one was never created */

static inline void set(enum slot slot, int name, cudnnBackendAttributeType_t type, int64_t count,
                       const void *elements)
{
    cs_attribute_set(cs_shadow_find(descriptor[slot]), (cudnnBackendAttributeName_t)name, type,
                     count, elements);
}

/* Tensors and convolution; the other descriptors hold nothing yet. */
static inline void set_sound(void)
{
    static const int64_t dims[][4] = {
        {2, 4, 8, 8}, {6, 4, 3, 3}, {2, 6, 8, 8}, {1, 6, 1, 1}, {2, 6, 8, 8}};
    static const int64_t strides[][4] = {
        {256, 64, 8, 1}, {36, 9, 3, 1}, {384, 64, 8, 1}, {6, 1, 1, 1}, {384, 64, 8, 1}};
    static const int64_t ones[] = {1, 1}, spatial = 2;
    static const int half = CUDNN_DATA_HALF, compute = CUDNN_DATA_FLOAT, add = CUDNN_POINTWISE_ADD,
                     mode = CUDNN_CROSS_CORRELATION;
    static const bool yes = true;
    for (int64_t i = TENSOR_X; i <= TENSOR_V; i++) {
        set((enum slot)i, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &half);
        set((enum slot)i, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims[i]);
        set((enum slot)i, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides[i]);
        set((enum slot)i, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &i);
    }
    set(CONV, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &spatial);
    set(CONV, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    set(CONV, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    for (int name = CUDNN_ATTR_CONVOLUTION_DILATIONS; name <= CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS;
         name++)
        set(CONV, name, CUDNN_TYPE_INT64, 2, ones);
    set(TENSOR_V, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes);
    set(POINTWISE, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &add);
    set(POINTWISE, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute);
}

static inline void link_one(enum slot slot, int name, enum slot value)
{
    const void *other = descriptor[value];
    set(slot, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other);
}

/* The operations refer to the current tensors and convolution, and the graph to the operations: the
 * convolution alone, or with an addition after it. */
static inline void link_all(bool fused)
{
    const void *operations[] = {descriptor[OPERATION], descriptor[ADDITION]};
    link_one(OPERATION, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, TENSOR_X);
    link_one(OPERATION, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, TENSOR_W);
    link_one(OPERATION, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, fused ? TENSOR_V : TENSOR_Y);
    link_one(OPERATION, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CONV);
    link_one(ADDITION, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, POINTWISE);
    link_one(ADDITION, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, TENSOR_V);
    link_one(ADDITION, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, TENSOR_B);
    link_one(ADDITION, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, TENSOR_Y);
    set(GRAPH, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, fused ? 2 : 1,
        operations);
}

#endif
