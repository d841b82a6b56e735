/* The cost of a report of PyTorch's allocator, with few and with many free blocks, and of the room
 * of a call. Prints "event_FREE NANOSECONDS" and "room NANOSECONDS" a line. */
#include "level/level.h"
#include "bench.h"

#include <stdio.h>
#include <string.h>

#define MIB ((int64_t)1 << 20)

enum {
    MOST = 300,
    ORDER = 1009 /* segments are used in an order that caches and branches do not foresee */
};

static struct cs_levels levels;
static int segments, turn, order[ORDER];
static int64_t allocated, reserved;

static uint64_t begin_of(int segment)
{
    return ((uint64_t)1 << 40) + (uint64_t)(segment * 64 * MIB);
}

static void note(uint64_t address, int64_t bytes)
{
    allocated += bytes;
    cs_level_note(&levels, 0, (void *)(uintptr_t)address, bytes, allocated, reserved);
}

/* A block in use and a free one in each segment. */
static void begin(int free_blocks)
{
    uint64_t random = 1;
    memset(&levels, 0, sizeof levels);
    allocated = reserved = turn = 0;
    segments = free_blocks;
    for (int i = 0; i < segments; i++) {
        reserved += 20 * MIB;
        note(begin_of(i), 4 * MIB);
        note(begin_of(i) + (uint64_t)(4 * MIB), 16 * MIB);
    }
    for (int i = 0; i < segments; i++)
        note(begin_of(i) + (uint64_t)(4 * MIB), -16 * MIB);
    for (int i = 0; i < ORDER; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        order[i] = (int)((random >> 33) % (uint64_t)segments);
    }
}

/* Two events. */
static void report(void)
{
    const uint64_t address = begin_of(order[turn]) + (uint64_t)(4 * MIB);
    note(address, 4 * MIB);
    note(address, -4 * MIB);
    turn = (turn + 1) % ORDER;
}

/* The room after an event, so that the largest block is searched for. */
static void ask(void)
{
    struct cs_level_room room;
    const struct cs_level_call call = {
        .workspace = (void *)(uintptr_t)begin_of(0), .provided = 4 * MIB, .required = 8 * MIB};
    report();
    if (cs_level_ask(&levels, &call, &room) != CS_REFUSAL_NONE)
        abort();
}

int main(void)
{
    begin(30);
    printf("event_30 %.2f\n", bench_median(report) / 2);
    begin(MOST);
    double both = bench_median(report);
    printf("event_300 %.2f\n", both / 2);
    printf("room %.2f\n", bench_median(ask) - both);
    return 0;
}
