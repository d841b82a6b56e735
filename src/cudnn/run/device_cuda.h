/* Implements struct cs_device by the CUDA driver, for the calling thread's current context. */
#ifndef CS_CUDNN_RUN_DEVICE_CUDA_H
#define CS_CUDNN_RUN_DEVICE_CUDA_H

#include "convshim/gpu.h"

extern const struct cs_device cs_device_cuda;

#endif
