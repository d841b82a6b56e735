/* Device memory in account mode: which bytes the program wrote by copies and sets. All other bytes
 * read as zeros and are reported, because a kernel that was not executed may have written them.
 * Memory that was never written needs no pages. A copy of more than 256 KiB is kept only while all
 * kept bytes are fewer than 512 MiB; otherwise its bytes count as never written. Thread-safe. */
#ifndef CUDART_BYTES_H
#define CUDART_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Notes that a copy of `bytes` bytes from `host` was written to device memory, and keeps them if
 * there is room. */
void simdev_bytes_write(void *device, const void *host, size_t bytes);
/* The same, but the bytes count as never written: they follow from bytes that do. */
void simdev_bytes_assume(void *device, const void *host, size_t bytes);
/* A value of 1, 2, 4 or 8 bytes, repeated. */
void simdev_bytes_set(void *device, const void *value, unsigned element, size_t bytes);
/* The same, but the bytes count as never written. */
void simdev_bytes_assume_set(void *device, const void *value, unsigned element, size_t bytes);
/* Returns how many of the bytes were never written. */
size_t simdev_bytes_read(void *host, const void *device, size_t bytes);
/* The same, but does not count as a read by the program. */
size_t simdev_bytes_peek(void *host, const void *device, size_t bytes);
/* True if all of the bytes count as never written, or come from one call of simdev_bytes_set or
 * simdev_bytes_assume_set. */
bool simdev_bytes_repeat(const void *device, size_t bytes);
void simdev_bytes_move(void *to, const void *from, size_t bytes);
/* These addresses were passed to a kernel, which may write there. Earlier contents remain readable
 * only if the host reads exactly one whole write, or a range that contains none of the addresses.
 * So inputs survive, and old contents are not mistaken for results. */
void simdev_bytes_given(const uintptr_t *address, size_t count);
/* The memory is new or was freed: it counts as never written. */
void simdev_bytes_forget(const void *device, size_t bytes);

/* Reads by the host of bytes that no copy or set wrote. */
struct simdev_unwritten {
    uint64_t reads, bytes;
};
struct simdev_unwritten simdev_bytes_unwritten(void);

#endif
