/* The CUDA driver of the process: one struct of typed function pointers, bound after the program
 * has loaded the driver. The library uses the driver instead of the runtime for its own streams,
 * events and memory. A program may have linked the runtime statically, and errors of the runtime
 * would become the program's last error. */
#ifndef CS_CUDNN_BIND_DRIVER_H
#define CS_CUDNN_BIND_DRIVER_H

#include "base/lock.h"
#include <cuda.h>

struct cs_driver {
#define CS_DRIVER(name, parameters) CUresult(*name) parameters;
#include "cudnn/bind/driver.def"
#undef CS_DRIVER
};

/* The table. Never NULL. Slots of missing functions are NULL, and so are all slots before the
 * program has loaded a driver. Thread-safe. One load after the first time. */
const struct cs_driver *cs_driver(void);

/* Calls a function. An empty slot returns the error of a driver that is too old for it. */
#define CS_CU(name, ...)                                                                           \
    (cs_lock_expect_none(#name),                                                                   \
     cs_driver()->name ? cs_driver()->name(__VA_ARGS__) : CUDA_ERROR_NOT_SUPPORTED)

#endif
