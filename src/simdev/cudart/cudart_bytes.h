/* Account mode's device memory: which bytes of it the program wrote by copies and sets. Everything
 * else reads as zeros, and is told of: a kernel that was not executed may have written it. Nothing
 * here needs a page of memory that nobody wrote. Thread-safe. */
#ifndef CUDART_BYTES_H
#define CUDART_BYTES_H

#include <stddef.h>
#include <stdint.h>

void simdev_bytes_write(void *device, const void *host, size_t bytes);
void simdev_bytes_set(void *device, uint32_t value, unsigned element, size_t bytes);
void simdev_bytes_read(void *host, const void *device, size_t bytes);
void simdev_bytes_move(void *to, const void *from, size_t bytes);
/* The memory is new or gone: nothing was written to it. */
void simdev_bytes_forget(const void *device, size_t bytes);

/* What was read by the host and never written by a copy or set. */
struct simdev_unwritten {
    uint64_t reads, bytes;
};
struct simdev_unwritten simdev_bytes_unwritten(void);

#endif
