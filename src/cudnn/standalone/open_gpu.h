/* The GPU that is present, opened by the command itself: the driver's functions, the primary
 * context of device 0 (CUDA_VISIBLE_DEVICES chooses), a stream and a cuDNN handle on it. One
 * thread. */
#ifndef CS_CUDNN_STANDALONE_OPEN_GPU_H
#define CS_CUDNN_STANDALONE_OPEN_GPU_H

#include "cudnn/bind/real.h"
#include "cudnn/standalone/trial.h"
#include <cuda.h>

struct cs_gpu_calls {
#define CS_GPU_CALL(name, parameters) CUresult(*name) parameters;
#include "cudnn/standalone/gpu_calls.def"
#undef CS_GPU_CALL
};

struct cs_cudnn_calls {
#define CS_CALL(name) __typeof__(name) *name;
#include "cudnn/standalone/cudnn_calls.def"
#undef CS_CALL
};

struct cs_trial {
    struct cs_gpu_calls calls; /* no slot is empty; nor of these, when the handle is open */
    struct cs_cudnn_calls cudnn;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    cudnnHandle_t handle;
    bool simulated, warm;                       /* warm: calls have brought the clocks up */
    size_t (*summary)(char *json, size_t size); /* the library's; NULL without it */
};

/* "out of memory" and other errors of the driver as a text with the number. */
void cs_gpu_error(CUresult result, const char *call, char *error, size_t size);

#endif
