/* Layers other than convolutions, computed by a host library: oneDNN (onednn/layer_*.c), or no
 * library (onednn/primitive_none.c), as in cudnn_primitive.h. There are no fallback loops, so the
 * call returns "not supported" if oneDNN refuses it. oneDNN refuses pooling windows that lie
 * completely outside the input, LRN over an even number of channels, and types that cudnn_host.c
 * cannot convert to f32 (all but f32, f16 and bf16). */
#ifndef SIMDEV_CUDNN_LAYER_H
#define SIMDEV_CUDNN_LAYER_H

#include "cudnn_host.h"

/* Looks at descriptions only. */
bool simdev_layer_takes(const struct simdev_host_call *call);

/* value[i] are the packed elements of operand i, or NULL if its address is NULL. Results are zeros
 * before. False: no host memory. Threads may run one call at once. */
bool simdev_layer_run(const struct simdev_host_call *call, float *const value[]);

#endif
