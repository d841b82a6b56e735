/* What is computed on the host beside convolutions; each says which operands it takes, in order. */
#ifndef CUDNN_HOST_MATH_H
#define CUDNN_HOST_MATH_H

#include "cudnn_host.h"

/* x, y */
void simdev_softmax_forward(const struct simdev_host_call *call, float *const value[]);
/* y, dy, dx */
void simdev_softmax_backward(const struct simdev_host_call *call, float *const value[]);
/* dy, gradient */
void simdev_bias_gradient(const struct simdev_host_call *call, float *const value[]);
/* y, dy, x, dx */
void simdev_activation_gradient(const struct simdev_host_call *call, float *const value[]);
/* x, y, scale, bias, mean, variance */
void simdev_batchnorm_inference(const struct simdev_host_call *call, float *const value[]);
/* x, y, scale, bias, running mean, running variance, the same anew, saved mean, saved inverse */
void simdev_batchnorm_training(const struct simdev_host_call *call, float *const value[]);
/* x, dy, dx, scale, scale's gradient, bias' gradient, saved mean, saved inverse */
void simdev_batchnorm_backward(const struct simdev_host_call *call, float *const value[]);
/* x, y */
void simdev_pooling_forward(const struct simdev_host_call *call, float *const value[]);
/* y, dy, x, dx */
void simdev_pooling_backward(const struct simdev_host_call *call, float *const value[]);

#endif
