/* Interfaces between the files of the simulated libcuda.
 *
 * Streams, events and memory belong to the simulated runtime. A function here calls a function of
 * the runtime as the driver. The errors of both have the same numbers. */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H

#include "cudart_context.h"
#include <cuda.h>

/* True for a caller inside NVIDIA's planning libraries, which plan without a device. They get no
 * context. */
bool cuda_driver_is_planner(const void *caller);

/* Begins a call. False: the caller has no context. */
bool cuda_driver_begin(const char *function, const void *caller);
/* Ends the call with the result of the runtime. */
CUresult cuda_driver_end(cudaError_t error);

/* Adds a copy between boxes of device memory to a graph. */
cudaError_t cuda_driver_add_copy(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                 size_t count, const CUDA_MEMCPY3D *box);

/* A complete function: one call of the runtime, or only success if simdev_drop requires it. */
#define CUDA_DRIVER_CALL(call)                                                                     \
    (cuda_driver_begin(__func__, __builtin_return_address(0))                                      \
         ? cuda_driver_end(simdev_should_drop(__func__) ? cudaSuccess : (call))                    \
         : CUDA_ERROR_INVALID_CONTEXT)

#endif
