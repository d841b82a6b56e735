/* Scratch from PyTorch's caching allocator. Implements struct cs_memory. */
#ifndef CS_INTERCEPT_TORCH_TORCH_MEMORY_H
#define CS_INTERCEPT_TORCH_TORCH_MEMORY_H

#include "flow/memory.h"

extern const struct cs_memory cs_torch_memory;

#endif
