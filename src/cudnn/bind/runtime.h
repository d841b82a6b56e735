/* The CUDA runtime that the program has loaded: one struct of typed function pointers, bound once.
 * Slots of missing functions are NULL. All are NULL if the program links the runtime statically. */
#ifndef CS_CUDNN_BIND_RUNTIME_H
#define CS_CUDNN_BIND_RUNTIME_H

#include "base/lock.h"
#include <cuda_runtime_api.h>

struct cs_runtime {
#define CS_RUNTIME(name) __typeof__(name) *name;
#include "cudnn/bind/runtime.def"
#undef CS_RUNTIME
};

/* The table. Never NULL. Thread-safe. One load after the first time. */
const struct cs_runtime *cs_runtime(void);

/* Calls a function that returns an error. An empty slot returns the error of a runtime that is too
 * old for it. */
#define CS_CUDA(name, ...)                                                                         \
    (cs_lock_expect_none(#name),                                                                   \
     cs_runtime()->name ? cs_runtime()->name(__VA_ARGS__) : cudaErrorCallRequiresNewerDriver)

#endif
