/* Layers beside convolutions that a library of the host's computes: oneDNN (onednn/layer_*.c), or
 * none (onednn/primitive_none.c), as in cudnn_primitive.h. There are no loops to fall back on: what
 * oneDNN refuses is not supported, and the call says so. Refused are pooling windows that lie
 * beside the input, LRN over an even number of channels, and types that cudnn_host.c does not turn
 * into f32 (all but f32, f16 and bf16). */
#ifndef SIMDEV_CUDNN_LAYER_H
#define SIMDEV_CUDNN_LAYER_H

#include "cudnn_host.h"

/* Looks at descriptions only. */
bool simdev_layer_takes(const struct simdev_host_call *call);

/* value[i] are the packed elements of operand i, or NULL where its address is; results are zeros
 * before. False: no host memory. Threads may run one call at once. */
bool simdev_layer_run(const struct simdev_host_call *call, float *const value[]);

#endif
