/* libtorch_cuda.so: the allocator, with the addresses of the naive model inside one allocation of
 * the device. One thread. */
#include "../../../unit/naive_allocator.h"
#include "allocator.h"

#include <cuda_runtime_api.h>

enum {
    ARENA = 512 << 20
};

size_t torch_allocated_peak, torch_reserved_peak;
long torch_events;
int torch_refuses;
void *torch_stream;

static struct naive_allocator model;
static void *arena;

static void report(struct naive_event event)
{
    torch_events++;
    if ((size_t)event.allocated > torch_allocated_peak)
        torch_allocated_peak = (size_t)event.allocated;
    if ((size_t)event.reserved > torch_reserved_peak)
        torch_reserved_peak = (size_t)event.reserved;
    report_memory((void *)(uintptr_t)event.address, event.bytes, (size_t)event.allocated,
                  (size_t)event.reserved, (struct torch_device){1, 0});
}

void *torch_allocate(size_t bytes)
{
    if (model.next == 0) {
        if (cudaMalloc(&arena, ARENA) != cudaSuccess)
            return NULL;
        naive_begin(&model, 1, false);
        model.next = ((uint64_t)(uintptr_t)arena + 4095) / 4096 * 4096;
    }
    int64_t rounded = ((int64_t)bytes + 511) / 512 * 512;
    struct naive_event event =
        naive_allocate(&model, rounded <= NAIVE_MIB ? NAIVE_MIB + 512 : rounded);
    report(event);
    return (void *)(uintptr_t)event.address;
}

void torch_free(void *memory)
{
    for (int i = 0; i < model.count; i++)
        if (model.block[i].used && model.block[i].begin == (uint64_t)(uintptr_t)memory) {
            report(naive_free(&model, i));
            return;
        }
}

void torch_empty_cache(void)
{
    naive_release(&model);
}

void torch_end(void)
{
    cudaFree(arena);
}

int32_t aoti_torch_cuda_caching_allocator_raw_alloc(uint64_t bytes, void **memory_p)
{
    *memory_p = torch_refuses ? NULL : torch_allocate(bytes);
    torch_events -= *memory_p != NULL;
    return *memory_p == NULL;
}

int32_t aoti_torch_cuda_caching_allocator_raw_delete(void *memory)
{
    torch_free(memory);
    torch_events--;
    return 0;
}

int32_t aoti_torch_get_current_cuda_stream(int32_t device, void **stream_p)
{
    *stream_p = torch_stream;
    return device != 0;
}
