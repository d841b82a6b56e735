/* Account mode's device memory: which bytes of it the program wrote by copies and sets. Everything
 * else reads as zeros, and is told of: a kernel that was not executed may have written it. Nothing
 * here needs a page of memory that nobody wrote. Thread-safe. */
#ifndef CUDART_BYTES_H
#define CUDART_BYTES_H

#include <stddef.h>
#include <stdint.h>

void simdev_bytes_write(void *device, const void *host, size_t bytes);
void simdev_bytes_set(void *device, uint32_t value, unsigned element, size_t bytes);
/* How many of the bytes nothing had written. */
size_t simdev_bytes_read(void *host, const void *device, size_t bytes);
/* The same, and it counts for no read of the program. */
size_t simdev_bytes_peek(void *host, const void *device, size_t bytes);
void simdev_bytes_move(void *to, const void *from, size_t bytes);
/* A kernel was given these addresses: it may have written there. What was written before is told to
 * the host only if it asks for all of one piece as it was written, or for none of the addresses:
 * inputs survive, and no result is taken for what lay there before. */
void simdev_bytes_given(const uintptr_t *address, size_t count);
/* The memory is new or gone: nothing was written to it. */
void simdev_bytes_forget(const void *device, size_t bytes);

/* What was read by the host and never written by a copy or set. */
struct simdev_unwritten {
    uint64_t reads, bytes;
};
struct simdev_unwritten simdev_bytes_unwritten(void);

#endif
