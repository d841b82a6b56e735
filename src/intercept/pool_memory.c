/* Takes scratch from the pool of the CUDA driver that holds a call's memory, and gives it back, in
 * the order of the call's stream. PyTorch with backend:cudaMallocAsync, ONNX Runtime's pool arena
 * and other programs that use cudaMallocAsync have such memory. The driver reports the pool of an
 * address and the pool's numbers. */
#include "intercept/program_memory.h"

#include "base/checked.h"
#include "cudnn/bind/driver.h"
#include "level/driver_pool.h"

static struct cs_level_pools pools;

static bool read_number(CUmemoryPool pool, CUmemPool_attribute attribute, int64_t *number_p)
{
    cuuint64_t number = 0;
    if (CS_CU(cuMemPoolGetAttribute, pool, attribute, &number) != CUDA_SUCCESS ||
        number > INT64_MAX)
        return false;
    *number_p = (int64_t)number;
    return true;
}

/* The pool of an address. NULL: other memory. */
static CUmemoryPool pool_of(const void *address)
{
    CUmemoryPool pool = NULL;
    return address && CS_CU(cuPointerGetAttribute, &pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                            (CUdeviceptr)(uintptr_t)address) == CUDA_SUCCESS
               ? pool
               : NULL;
}

/* The device of an address. -1: unknown. */
static int device_of(const void *address)
{
    int device = -1;
    return CS_CU(cuPointerGetAttribute, &device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                 (CUdeviceptr)(uintptr_t)address) == CUDA_SUCCESS
               ? device
               : -1;
}

static bool read_numbers(CUmemoryPool handle, struct cs_level_pool_numbers *now)
{
    return read_number(handle, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &now->used) &&
           read_number(handle, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &now->high) &&
           read_number(handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &now->reserved) &&
           read_number(handle, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &now->most);
}

static enum cs_refusal ask(const struct cs_level_call *call, struct cs_level_room *room_p)
{
    struct cs_level_pool_numbers now;
    const void *address = call->provided > 0 ? call->workspace : call->output;
    CUmemoryPool handle = pool_of(address);
    struct cs_level_pool *pool = cs_level_pool_find(&pools, handle);
    if (!pool || !read_numbers(handle, &now))
        return CS_REFUSAL_UNKNOWN;
    enum cs_refusal refusal = cs_level_pool_ask(pool, &now, call->stream, room_p);
    const struct cs_level_peaks peaks = cs_level_pool_peaks(pool, &now, call);
    const bool holds_all = address == call->output || pool_of(call->output) == handle;
    room_p->device = device_of(address);
    cs_level_raise(&cs_levels, room_p->device, holds_all ? pool : NULL, &peaks);
    return refusal;
}

/* Reads the devices' default pools, which a program cannot destroy. Another pool may not exist any
 * more, so its peaks are those of its last call. */
static void refresh(void)
{
    const bool used = atomic_load(&pools.pool[0].handle) != NULL;
    for (int device = 0; used && device < CS_LEVEL_DEVICES; device++) {
        struct cs_level_pool_numbers now;
        CUmemoryPool handle = NULL;
        if (CS_CU(cuDeviceGetDefaultMemPool, &handle, device) != CUDA_SUCCESS)
            return;
        const struct cs_level_pool *pool = cs_level_pool_known(&pools, handle);
        if (pool && read_numbers(handle, &now))
            cs_level_raise(&cs_levels, device, pool,
                           &(struct cs_level_peaks){now.high, now.high, now.most});
    }
}

static bool note_stream(const struct cs_level_room *room, const void *stream)
{
    return cs_level_pool_stream(room->pool, stream);
}

static int64_t card(const struct cs_level_room *room)
{
    return cs_card_memory(room->reserved);
}

static void give(const struct cs_level_room *room, void *stream, void *memory)
{
    (void)CS_CU(cuMemFreeAsync, (CUdeviceptr)(uintptr_t)memory, stream);
    cs_level_pool_end(room->pool);
}

static enum cs_refusal take(const struct cs_level_room *room, void *stream, int64_t bytes,
                            bool may_grow, void **memory_p)
{
    CUmemoryPool handle = (CUmemoryPool)(uintptr_t)atomic_load(&room->pool->handle);
    CUdeviceptr memory = 0;
    int64_t before = 0, after = 0;
    if (!cs_level_pool_begin(room->pool))
        return CS_REFUSAL_BUSY;
    if (!read_number(handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &before) ||
        CS_CU(cuMemAllocFromPoolAsync, &memory, (size_t)bytes, handle, stream) != CUDA_SUCCESS) {
        cs_level_pool_end(room->pool);
        return CS_REFUSAL_FAILED;
    }
    *memory_p = (void *)(uintptr_t)memory;
    if (read_number(handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &after) &&
        cs_level_pool_taken(room->pool, before, after, may_grow))
        return CS_REFUSAL_NONE;
    give(room, stream, *memory_p);
    return CS_REFUSAL_FAILED;
}

const struct cs_memory cs_pool_memory = {.ask = ask,
                                         .stream = note_stream,
                                         .card = card,
                                         .take = take,
                                         .give = give,
                                         .refresh = refresh};

int64_t cs_card_memory(int64_t reserved)
{
    size_t unused = 0, total = 0;
    int64_t bytes;
    return CS_CU(cuMemGetInfo_v2, &unused, &total) == CUDA_SUCCESS && unused <= INT64_MAX &&
                   cs_add(reserved, (int64_t)unused, &bytes)
               ? bytes
               : 0;
}
