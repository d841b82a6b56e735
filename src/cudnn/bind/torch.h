/* The functions of the PyTorch that the program has loaded: one struct of typed function pointers,
 * bound once. They belong to its stable C interface, except `report`, which libc10.so exports by a
 * mangled C++ name. Slots of missing functions are NULL. */
#ifndef CS_CUDNN_BIND_TORCH_H
#define CS_CUDNN_BIND_TORCH_H

#include "base/lock.h"
#include <stddef.h>
#include <stdint.h>

/* c10::Device, which is passed by value. */
struct cs_torch_device {
    int8_t type; /* CS_TORCH_CUDA for CUDA */
    int8_t index;
};
enum {
    CS_TORCH_CUDA = 1,
    CS_TORCH_UINT8 = 0 /* c10::ScalarType::Byte */
};

/* c10::reportMemoryUsageToProfiler(void *, int64_t, size_t, size_t, c10::Device) */
#define CS_TORCH_REPORT "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"

typedef void cs_torch_report(void *address, int64_t bytes, size_t allocated, size_t reserved,
                             struct cs_torch_device device);

struct cs_torch {
    cs_torch_report *report;
#define CS_TORCH(library, name, parameters) int32_t(*name) parameters;
#include "cudnn/bind/torch.def"
#undef CS_TORCH
};

/* The table. Never NULL. `report` is NULL if no libc10.so is loaded, or if several are.
 * Thread-safe. One load after the first time. */
const struct cs_torch *cs_torch(void);

/* Calls a function whose slot is not empty. 0 is success. PyTorch catches exceptions in them. */
#define CS_TORCH_CALL(name, ...) (cs_lock_expect_none(#name), cs_torch()->name(__VA_ARGS__))

#endif
