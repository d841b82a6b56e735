/* Calls of the legacy API other than convolutions that are computed on the host, in compute mode.
 */
#ifndef CUDNN_HOST_H
#define CUDNN_HOST_H

#include "cudnn_internal.h"

enum {
    SIMDEV_HOST_OPERANDS = 10
};

/* The layers, with their operands in order. */
enum simdev_layer {
    SIMDEV_LAYER_SOFTMAX,             /* x, y */
    SIMDEV_LAYER_SOFTMAX_GRADIENT,    /* y, dy, dx */
    SIMDEV_LAYER_BIAS_GRADIENT,       /* dy, gradient */
    SIMDEV_LAYER_ACTIVATION_GRADIENT, /* y, dy, x, dx */
    SIMDEV_LAYER_LRN,                 /* x, y */
    SIMDEV_LAYER_LRN_GRADIENT,        /* y, dy, x, dx */
    SIMDEV_LAYER_NORM_INFERENCE,      /* x, y, scale, bias, mean, variance */
    /* x, y, scale, bias, running mean and variance before and after, saved mean and inverse
     * deviation */
    SIMDEV_LAYER_NORM_TRAINING,
    /* x, dy, dx, scale, gradients of scale and bias, saved mean and inverse deviation (both or
     * none) */
    SIMDEV_LAYER_NORM_GRADIENT,
    SIMDEV_LAYER_POOLING,          /* x, y */
    SIMDEV_LAYER_POOLING_GRADIENT, /* y, dy, x, dx */
    SIMDEV_LAYERS
};

/* One call. Operands are tensors of any type and strides. The computation gets them as packed f32
 * in the order of their dimensions. A result r is stored as alpha * r + beta * (previous value). */
struct simdev_host_call {
    const char *function;
    enum simdev_layer layer;
    int operands;
    struct {
        struct simdev_view view;
        bool is_result;
        float alpha, beta;
    } operand[SIMDEV_HOST_OPERANDS];
    struct cudnnPoolingStruct pooling;
    struct cudnnActivationStruct activation;
    struct cudnnLRNStruct lrn;
    int mode, algorithm;
    double epsilon, factor;
};

/* Returns a call without operands, for the named function of cuDNN. */
struct simdev_host_call simdev_host_call(const char *function, enum simdev_layer layer);
/* Adds an operand and returns its index. `alpha` and `beta` are cuDNN's, NULL for 1 and 0. */
int simdev_host_read(struct simdev_host_call *call, cudnnTensorDescriptor_t tensor,
                     const void *data);
int simdev_host_write(struct simdev_host_call *call, cudnnTensorDescriptor_t tensor, void *data,
                      const void *alpha, const void *beta);
/* In compute mode, checks the operands and queues the call. In account mode, counts it. */
cudnnStatus_t simdev_host_launch(cudnnHandle_t handle, const struct simdev_host_call *call);

/* A tensor as images, channels and elements of a channel. */
struct simdev_planes {
    int64_t images, channels, elements;
};
struct simdev_planes simdev_planes_of(const struct simdev_view *view);

#endif
