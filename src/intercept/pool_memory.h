/* Scratch from the pool of the CUDA driver that holds a call's memory. Implements struct cs_memory.
 */
#ifndef CS_INTERCEPT_POOL_MEMORY_H
#define CS_INTERCEPT_POOL_MEMORY_H

#include "flow/memory.h"

extern const struct cs_memory cs_pool_memory;

#endif
