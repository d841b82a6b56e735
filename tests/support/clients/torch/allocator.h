/* An imitation of PyTorch's caching allocator, split into libraries of PyTorch's names: libc10.so
 * has the report function, libtorch_cuda.so the allocator and the functions of the stable C
 * interface. */
#ifndef TORCH_ALLOCATOR_H
#define TORCH_ALLOCATOR_H

#include <stddef.h>
#include <stdint.h>

/* c10::Device */
struct torch_device {
    int8_t type, index;
};

void report_memory(
    void *address, int64_t bytes, size_t allocated, size_t reserved,
    struct torch_device device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");

/* libc10.so: the reports that reached the library itself. */
extern long torch_reports;

/* libtorch_cuda.so. Blocks have at least 1 MiB and 512 bytes. NULL: no memory. */
void *torch_allocate(size_t bytes);
void torch_free(void *memory);
void torch_empty_cache(void);

/* Returns all memory to the device, at the end. */
void torch_end(void);

/* Peaks in bytes, and the reports about memory that was not taken by the C interface. */
extern size_t torch_allocated_peak, torch_reserved_peak;
extern long torch_events;
extern int torch_refuses;  /* 1: scratch of the C interface cannot be allocated */
extern void *torch_stream; /* the current stream */

int32_t aoti_torch_cuda_caching_allocator_raw_alloc(uint64_t bytes, void **memory_p);
int32_t aoti_torch_cuda_caching_allocator_raw_delete(void *memory);
int32_t aoti_torch_get_current_cuda_stream(int32_t device, void **stream_p);

#endif
