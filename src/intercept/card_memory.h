/* The memory of the current device that the program can have. */
#ifndef CS_INTERCEPT_CARD_MEMORY_H
#define CS_INTERCEPT_CARD_MEMORY_H

#include <stdint.h>

/* Returns `reserved`, the bytes that the program's allocator holds, plus the free memory of the
 * device. 0 if the driver does not report that. Takes microseconds. Thread-safe. */
int64_t cs_card_memory(int64_t reserved);

#endif
