/* The CUDA driver of the process: one struct of typed function pointers, bound once it is loaded.
 * For streams, events and memory of our own it is preferred to the runtime: a program may have
 * linked that statically, and its errors would become the program's last error. */
#ifndef CS_CUDNN_BIND_DRIVER_H
#define CS_CUDNN_BIND_DRIVER_H

#include "base/lock.h"
#include <cuda.h>

struct cs_driver {
#define CS_DRIVER(name, parameters) CUresult(*name) parameters;
#include "cudnn/bind/driver.def"
#undef CS_DRIVER
};

/* The table; never NULL. Slots of functions that are not there are NULL, all of them before the
 * program has loaded a driver. Thread-safe; one load after the first time. */
const struct cs_driver *cs_driver(void);

/* Calls a function; an empty slot answers as a driver too old for it. */
#define CS_CU(name, ...)                                                                           \
    (cs_locks_free(#name),                                                                         \
     cs_driver()->name ? cs_driver()->name(__VA_ARGS__) : CUDA_ERROR_NOT_SUPPORTED)

#endif
