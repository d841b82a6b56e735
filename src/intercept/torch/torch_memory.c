/* Takes scratch from PyTorch's caching allocator and gives it back. PyTorch uses the current device
 * and stream of the calling thread, as for its own workspaces.
 *
 * Since 2.11 its C interface has functions for memory alone. Before, the scratch is the memory of a
 * tensor, whose handle is kept until it is given back. One thread at a time holds scratch of a
 * device. */
#include "intercept/program_memory.h"

#include "cudnn/bind/torch.h"

/* The tensors of scratch that is in use, for versions without functions for memory alone. */
static void *tensor_of[CS_LEVEL_DEVICES];

/* Takes memory. NULL if PyTorch has none, or no suitable functions. */
static void *take_memory(int device, int64_t bytes)
{
    const struct cs_torch *torch = cs_torch();
    const int64_t stride = 1;
    void *memory = NULL;
    if (torch->aoti_torch_cuda_caching_allocator_raw_alloc &&
        torch->aoti_torch_cuda_caching_allocator_raw_delete)
        return CS_TORCH_CALL(aoti_torch_cuda_caching_allocator_raw_alloc, (uint64_t)bytes,
                             &memory) == 0
                   ? memory
                   : NULL;
    if (!torch->aoti_torch_empty_strided || !torch->aoti_torch_get_data_ptr ||
        !torch->aoti_torch_delete_tensor_object ||
        CS_TORCH_CALL(aoti_torch_empty_strided, 1, &bytes, &stride, CS_TORCH_UINT8, CS_TORCH_CUDA,
                      device, &tensor_of[device]) != 0)
        return NULL;
    if (CS_TORCH_CALL(aoti_torch_get_data_ptr, tensor_of[device], &memory) == 0 && memory)
        return memory;
    (void)CS_TORCH_CALL(aoti_torch_delete_tensor_object, tensor_of[device]);
    return NULL;
}

static void give_memory(int device, void *memory)
{
    const struct cs_torch *torch = cs_torch();
    if (torch->aoti_torch_cuda_caching_allocator_raw_alloc &&
        torch->aoti_torch_cuda_caching_allocator_raw_delete)
        (void)CS_TORCH_CALL(aoti_torch_cuda_caching_allocator_raw_delete, memory);
    else
        (void)CS_TORCH_CALL(aoti_torch_delete_tensor_object, tensor_of[device]);
}

/* True if PyTorch takes memory for that stream in this thread. */
static bool is_current(int device, const void *stream)
{
    void *current = NULL;
    return cs_torch()->aoti_torch_get_current_cuda_stream &&
           CS_TORCH_CALL(aoti_torch_get_current_cuda_stream, device, &current) == 0 &&
           current == stream;
}

static void give(const struct cs_level_room *room, void *stream, void *memory)
{
    (void)stream;
    cs_level_resume();
    give_memory(room->device, memory);
    cs_level_end(&cs_levels, room->device);
}

static enum cs_refusal take(const struct cs_level_room *room, void *stream, int64_t bytes,
                            bool may_grow, void **memory_p)
{
    if (!is_current(room->device, stream))
        return CS_REFUSAL_STREAMS;
    if (!cs_level_begin(&cs_levels, room->device))
        return CS_REFUSAL_BUSY;
    void *memory = take_memory(room->device, bytes);
    if (cs_level_taken(&cs_levels, room->device, memory, may_grow)) {
        *memory_p = memory;
        return CS_REFUSAL_NONE;
    }
    if (memory)
        give(room, stream, memory);
    else
        cs_level_end(&cs_levels, room->device);
    return CS_REFUSAL_FAILED;
}

/* The memory of a device that the program can have, by the reserved bytes at which it was read. */
static struct {
    _Atomic int64_t reserved, bytes; /* reserved 0: not read yet */
} cards[CS_LEVEL_DEVICES];

/* Queries the driver only if the reserved bytes have changed, because that takes microseconds. */
static int64_t card(const struct cs_level_room *room)
{
    if (atomic_load(&cards[room->device].reserved) == room->reserved)
        return atomic_load(&cards[room->device].bytes);
    const int64_t bytes = cs_card_memory(room->reserved);
    if (bytes == 0)
        return 0;
    atomic_store(&cards[room->device].bytes, bytes);
    atomic_store(&cards[room->device].reserved, room->reserved);
    return bytes;
}

static enum cs_refusal ask(const struct cs_level_call *call, struct cs_level_room *room_p)
{
    return cs_level_ask(&cs_levels, call, room_p);
}

static bool extend(const struct cs_level_room *room, const struct cs_level_call *call,
                   struct cs_level_extension *extension_p)
{
    return cs_level_extend(&cs_levels, room->device, call, extension_p);
}

static bool note_stream(const struct cs_level_room *room, const void *stream)
{
    return cs_level_stream(&cs_levels, room->device, stream);
}

const struct cs_memory cs_torch_memory = {
    .ask = ask, .stream = note_stream, .card = card, .extend = extend, .take = take, .give = give};
