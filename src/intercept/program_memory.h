/* The program's memory: how much it can have, and scratch from its allocators. */
#ifndef CS_INTERCEPT_PROGRAM_MEMORY_H
#define CS_INTERCEPT_PROGRAM_MEMORY_H

#include "flow/memory.h"
#include <stdint.h>

/* Returns `reserved`, the bytes that the program's allocator holds, plus the free memory of the
 * device. 0 if the driver does not report that. Takes microseconds. Thread-safe. */
int64_t cs_card_memory(int64_t reserved);

/* Scratch from the pool of the CUDA driver that holds a call's memory, and from PyTorch's caching
 * allocator. */
extern const struct cs_memory cs_pool_memory, cs_torch_memory;

#endif
