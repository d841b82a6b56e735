/* Scratch from PyTorch's allocator, on a PyTorch that the test provides: who may take it, that each
 * block is given back once, and how often the driver is queried. */
#include "intercept/program_memory.h"

#include "check.h"
#include "cudnn/bind/torch.h"
#include "level/level.h"

enum {
    DEVICE = 3,
    MIB = 1 << 20
};

/* Unused addresses, far apart. */
#define PLACE(i) ((void *)((uintptr_t)(i) << 30))

static struct cs_torch torch;
static int taken, given, reads;
static bool is_short, is_reported;
static int64_t card;
static void *const current = PLACE(7);

WRAPPED(const struct cs_torch *, cs_torch, void)
{
    return &torch;
}

WRAPPED(int64_t, cs_card_memory, int64_t reserved)
{
    CHECK(reserved > 0);
    reads++;
    return card;
}

/* The allocator's report to the library, during its own call. */
static void report(void *memory, int64_t bytes)
{
    if (is_reported)
        cs_level_note(&cs_levels, DEVICE, memory, bytes, 2 * MIB, 64 * MIB);
}

static int32_t raw_alloc(uint64_t bytes, void **memory_p)
{
    CHECK_INT((int64_t)bytes, MIB);
    if (is_short)
        return 1;
    taken++;
    *memory_p = PLACE(5);
    report(*memory_p, MIB);
    return 0;
}

static int32_t raw_delete(void *memory)
{
    CHECK(memory == PLACE(5));
    given++;
    report(memory, -MIB);
    return 0;
}

static int32_t new_tensor(int64_t dims, const int64_t *extent, const int64_t *stride, int32_t type,
                          int32_t kind, int32_t device, void **tensor_p)
{
    CHECK(dims == 1 && *extent == MIB && *stride == 1);
    CHECK(type == CS_TORCH_UINT8 && kind == CS_TORCH_CUDA && device == DEVICE);
    if (is_short)
        return 1;
    taken++;
    *tensor_p = PLACE(6);
    report(PLACE(5), MIB);
    return 0;
}

static bool has_data;

static int32_t data_of(void *tensor, void **memory_p)
{
    CHECK(tensor == PLACE(6));
    *memory_p = has_data ? PLACE(5) : NULL;
    return 0;
}

static int32_t drop_tensor(void *tensor)
{
    CHECK(tensor == PLACE(6));
    given++;
    report(PLACE(5), -MIB);
    return 0;
}

static int32_t stream_of(int32_t device, void **stream_p)
{
    CHECK_INT(device, DEVICE);
    *stream_p = current;
    return 0;
}

static struct cs_level_room room;

/* A PyTorch since 2.11, or before, which has had a block of 64 MiB. */
static void start(bool since_2_11)
{
    torch = (struct cs_torch){.aoti_torch_get_current_cuda_stream = stream_of};
    if (since_2_11) {
        torch.aoti_torch_cuda_caching_allocator_raw_alloc = raw_alloc;
        torch.aoti_torch_cuda_caching_allocator_raw_delete = raw_delete;
    } else {
        torch.aoti_torch_empty_strided = new_tensor;
        torch.aoti_torch_get_data_ptr = data_of;
        torch.aoti_torch_delete_tensor_object = drop_tensor;
    }
    taken = given = reads = 0;
    is_short = false;
    is_reported = has_data = true;
    room = (struct cs_level_room){.device = DEVICE, .reserved = 64 * MIB};
    cs_level_note(&cs_levels, DEVICE, PLACE(1), 64 * MIB, 64 * MIB, 64 * MIB);
    cs_level_note(&cs_levels, DEVICE, PLACE(1), -64 * MIB, 0, 64 * MIB);
}

static enum cs_refusal take(void *stream, void **memory_p)
{
    *memory_p = NULL;
    return cs_torch_memory.take(&room, stream, MIB, false, memory_p);
}

static void memory_is_taken_and_given_back_once(void)
{
    for (int since = 0; since < 2; since++) {
        void *memory, *second;
        CASE("%s PyTorch 2.11", since ? "since" : "before");
        start(since == 1);
        for (int turn = 1; turn <= 2; turn++) {
            CHECK_INT(take(current, &memory), CS_REFUSAL_NONE);
            CHECK(memory == PLACE(5));
            CHECK_INT(take(current, &second), CS_REFUSAL_BUSY);
            CHECK(!second);
            CHECK_INT(taken, turn);
            CHECK_INT(given, turn - 1);
            cs_torch_memory.give(&room, current, memory);
            CHECK_INT(given, turn);
        }
    }
}

static void only_pytorchs_current_stream_takes_memory(void)
{
    void *memory;
    start(true);
    CHECK_INT(take(PLACE(8), &memory), CS_REFUSAL_STREAMS);
    torch.aoti_torch_get_current_cuda_stream = NULL;
    CHECK_INT(take(current, &memory), CS_REFUSAL_STREAMS);
    CHECK_INT(taken, 0);
}

/* After each refusal, the next call may take memory again. */
static void refused_memory_leaves_nothing_taken(void)
{
    for (int since = 0; since < 2; since++) {
        void *memory;
        CASE("%s PyTorch 2.11", since ? "since" : "before");
        start(since == 1);
        is_short = true;
        CHECK_INT(take(current, &memory), CS_REFUSAL_FAILED);
        CHECK_INT(taken, 0);
        is_short = false;
        has_data = false;
        if (since == 0)
            CHECK_INT(take(current, &memory), CS_REFUSAL_FAILED);
        CHECK_INT(given, taken);
        has_data = true;
        CHECK_INT(take(current, &memory), CS_REFUSAL_NONE);
        cs_torch_memory.give(&room, current, memory);
        CHECK_INT(given, taken);
        torch = (struct cs_torch){.aoti_torch_get_current_cuda_stream = stream_of};
        CHECK_INT(take(current, &memory), CS_REFUSAL_FAILED);
    }
}

/* The table of free memory is wrong then. */
static void memory_that_was_not_reported_is_given_back(void)
{
    void *memory;
    start(true);
    is_reported = false;
    CHECK_INT(take(current, &memory), CS_REFUSAL_FAILED);
    CHECK(!memory);
    CHECK_INT(taken, 1);
    CHECK_INT(given, 1);
}

static void driver_is_queried_again_when_the_reserved_bytes_change(void)
{
    start(true);
    card = 0;
    CHECK_INT(cs_torch_memory.card(&room), 0);
    card = 1000 * (int64_t)MIB;
    for (int turn = 0; turn < 3; turn++)
        CHECK_INT(cs_torch_memory.card(&room), 1000 * (int64_t)MIB);
    CHECK_INT(reads, 2);
    card = 900 * (int64_t)MIB;
    room.reserved += MIB;
    CHECK_INT(cs_torch_memory.card(&room), 900 * (int64_t)MIB);
    CHECK_INT(cs_torch_memory.card(&room), 900 * (int64_t)MIB);
    CHECK_INT(reads, 3);
}

int main(void)
{
    TEST(memory_is_taken_and_given_back_once);
    TEST(only_pytorchs_current_stream_takes_memory);
    TEST(refused_memory_leaves_nothing_taken);
    TEST(driver_is_queried_again_when_the_reserved_bytes_change);
    TEST(memory_that_was_not_reported_is_given_back);
    return REPORT();
}
