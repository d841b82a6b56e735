/* Included before everything else in the library that `make faults` builds: each of its own
 * allocations, and each call that it makes to cuDNN, the CUDA driver and the runtime, first checks
 * whether it must fail. */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>
#include <stdlib.h>

/* Counts one point; true if this one is to fail. Thread-safe. */
bool cs_fault(const char *what);

#ifndef CS_FAULTS_ITSELF
#define malloc(bytes) (cs_fault("malloc") ? NULL : malloc(bytes))
#define calloc(count, bytes) (cs_fault("calloc") ? NULL : calloc(count, bytes))
#define realloc(memory, bytes) (cs_fault("realloc") ? NULL : realloc(memory, bytes))
#endif

#ifdef CS_FAULTS_VENDOR
#include "cudnn/bind/driver.h"
#include "cudnn/bind/real.h"
#include "cudnn/bind/runtime.h"
#undef CS_REAL
#define CS_REAL(name, ...)                                                                         \
    (!cs_real()->name  ? CUDNN_STATUS_NOT_SUPPORTED                                                \
     : cs_fault(#name) ? CUDNN_STATUS_INTERNAL_ERROR                                               \
                       : cs_real()->name(__VA_ARGS__))
#undef CS_CU
#define CS_CU(name, ...)                                                                           \
    (!cs_driver()->name ? CUDA_ERROR_NOT_SUPPORTED                                                 \
     : cs_fault(#name)  ? CUDA_ERROR_OUT_OF_MEMORY                                                 \
                        : cs_driver()->name(__VA_ARGS__))
#undef CS_CUDA
#define CS_CUDA(name, ...)                                                                         \
    (!cs_runtime()->name ? cudaErrorCallRequiresNewerDriver                                        \
     : cs_fault(#name)   ? cudaErrorMemoryAllocation                                               \
                         : cs_runtime()->name(__VA_ARGS__))
#endif

#endif
