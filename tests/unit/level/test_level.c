/* The level of a device: the room of a call, doubts, the figures of the summary. */
#include "check.h"
#include "level/level.h"
#include "naive_allocator.h"
#include <pthread.h>
#include <stdlib.h>

#define MIB ((int64_t)1 << 20)
#define AT(mib) ((const void *)(uintptr_t)((mib)*MIB))

static struct cs_levels levels;

/* Levels are never freed, so each test begins with others. */
static void begin_empty(void)
{
    memset(&levels, 0, sizeof levels);
}

static void note(int64_t at, int64_t bytes, int64_t allocated, int64_t reserved)
{
    cs_level_note(&levels, 0, AT(at), bytes * MIB, allocated * MIB, reserved * MIB);
}

static enum cs_refusal ask(int64_t workspace, int64_t provided, int64_t required,
                           struct cs_level_room *room)
{
    const struct cs_level_call call = {.workspace = AT(workspace),
                                       .output = AT(workspace),
                                       .provided = provided * MIB,
                                       .required = required * MIB,
                                       .stream = &levels};
    return cs_level_ask(&levels, &call, room);
}

static struct cs_level_facts facts(void)
{
    struct cs_level_facts facts = {.events = -1};
    CHECK(cs_level_facts(&levels, 0, &facts));
    return facts;
}

/* A program that had 60 MiB, has 20 of them, and calls with a workspace of 4 MiB at 100. */
static void begin_program(void)
{
    begin_empty();
    note(100, 20, 20, 20);
    note(200, 40, 60, 60);
    note(200, -40, 20, 60);
    note(200, 4, 24, 60);
}

static void the_room_is_below_the_highest_level(void)
{
    struct cs_level_room room;
    begin_program();
    CHECK_INT(ask(200, 4, 32, &room), CS_REFUSAL_NONE);
    CHECK_INT(room.device, 0);
    CHECK_INT(room.allocated, 24 * MIB);
    CHECK_INT(room.high, 60 * MIB);
    CHECK_INT(room.reserved, 60 * MIB);
    CHECK_INT(room.block, 36 * MIB);
    CHECK(room.first_stream);
}

static void memory_of_other_allocators_has_no_level(void)
{
    struct cs_level_room room;
    begin_empty();
    CHECK_INT(ask(200, 4, 32, &room), CS_REFUSAL_UNKNOWN);
    CHECK_INT(room.device, -1);
    begin_program();
    CHECK_INT(ask(300, 4, 32, &room), CS_REFUSAL_UNKNOWN);
    CHECK_INT(ask(0, 0, 32, &room), CS_REFUSAL_UNKNOWN);
    note(200, -4, 20, 60);
    CHECK_INT(ask(200, 4, 32, &room), CS_REFUSAL_UNKNOWN);
}

static void a_call_with_a_small_workspace_is_found_by_its_output(void)
{
    struct cs_level_room room;
    begin_program();
    CHECK_INT(ask(100, 1, 32, &room), CS_REFUSAL_NONE);
    CHECK_INT(facts().without, 60 * MIB); /* 24 - 1 + 32 is less */
    CHECK_INT(ask(100, 1, 50, &room), CS_REFUSAL_NONE);
    CHECK_INT(facts().without, (24 - 1 + 50) * MIB);
}

static void free_memory_behind_a_workspace(void)
{
    struct cs_level_extension extension;
    struct cs_level_call call = {.workspace = AT(200), .provided = 4 * MIB};
    begin_program();
    CHECK(cs_level_extend(&levels, 0, &call, &extension));
    CHECK_INT(extension.block, 4 * MIB);
    CHECK_INT(extension.after, 36 * MIB);
    CHECK_INT(extension.least, 1);
    CHECK(!cs_level_extend(&levels, 1, &call, &extension));
    call.provided = 3 * MIB; /* the program may use the rest of the block */
    CHECK(!cs_level_extend(&levels, 0, &call, &extension));
    call.provided = 4 * MIB - 100;
    CHECK(cs_level_extend(&levels, 0, &call, &extension));
    note(204, 36, 60, 60);
    CHECK(!cs_level_extend(&levels, 0, &call, &extension));
}

static void scratch_of_the_library_is_not_the_programs(void)
{
    struct cs_level_room room;
    begin_program();
    CHECK(cs_level_begin(&levels, 0));
    note(204, 32, 56, 60);
    CHECK(cs_level_taken(&levels, 0, AT(204), false));
    CHECK_INT(ask(200, 4, 32, &room), CS_REFUSAL_BUSY);
    note(300, 30, 86, 90); /* another thread's block: the program has 54 MiB */
    CHECK_INT(ask(200, 4, 32, &room), CS_REFUSAL_BUSY);
    CHECK_INT(room.high, 60 * MIB);
    cs_level_resume();
    note(204, -32, 54, 90);
    cs_level_end(&levels, 0);
    CHECK_INT(facts().allocated, 86 * MIB);
    CHECK_INT(facts().reserved, 90 * MIB);
    CHECK_INT(ask(200, 4, 32, &room), CS_REFUSAL_NONE);
    CHECK_INT(room.high, 60 * MIB);
}

static void one_thread_at_a_time_holds_scratch(void)
{
    begin_program();
    CHECK(cs_level_begin(&levels, 0));
    CHECK(!cs_level_begin(&levels, 0));
    cs_level_end(&levels, 0);
    CHECK(cs_level_begin(&levels, 0));
    cs_level_end(&levels, 0);
    CHECK(!cs_level_begin(&levels, 1));
}

static void growth_by_scratch_puts_the_device_in_doubt(void)
{
    struct cs_level_room room;
    begin_program();
    CHECK(cs_level_begin(&levels, 0));
    note(400, 30, 54, 90);
    CHECK(!cs_level_taken(&levels, 0, AT(400), false));
    cs_level_resume();
    note(400, -30, 24, 90);
    cs_level_end(&levels, 0);
    CHECK_INT(ask(200, 4, 32, &room), CS_REFUSAL_DOUBT);
    CHECK_INT(facts().grown, 1);
    note(300, 2, 26, 60); /* the allocator has returned memory */
    CHECK_INT(ask(200, 4, 32, &room), CS_REFUSAL_NONE);
    CHECK_INT(room.block, 0);
}

static void expected_growth_is_no_doubt(void)
{
    struct cs_level_room room;
    begin_program();
    CHECK(cs_level_begin(&levels, 0));
    note(400, 50, 74, 110);
    CHECK(cs_level_taken(&levels, 0, AT(400), true));
    cs_level_resume();
    note(400, -50, 24, 110);
    cs_level_end(&levels, 0);
    CHECK_INT(ask(200, 4, 32, &room), CS_REFUSAL_NONE);
    CHECK_INT(room.block, 50 * MIB);
    CHECK_INT(room.high, 60 * MIB);
    CHECK_INT(facts().grown, 0);
}

static void scratch_of_another_device_is_refused(void)
{
    begin_program();
    CHECK(cs_level_begin(&levels, 0));
    cs_level_note(&levels, 1, AT(204), 32 * MIB, 32 * MIB, 32 * MIB);
    CHECK(!cs_level_taken(&levels, 0, AT(204), true));
    cs_level_end(&levels, 0);
}

/* Free memory of another stream or pool: the allocator grows although a block is free. */
static void growth_next_to_a_free_block_is_a_doubt(void)
{
    struct cs_level_room room;
    begin_program();
    note(400, 30, 54, 90);
    CHECK_INT(ask(200, 4, 32, &room), CS_REFUSAL_DOUBT);
}

static void after_three_doubts_nothing_is_taken(void)
{
    struct cs_level_room room;
    begin_program();
    for (int i = 1; i <= 3; i++) {
        int64_t at = 1000 * i;
        note(at, 40, 64, 100);
        note(at, -40, 24, 100);
        note(at + 100, 30, 54, 130);
        CHECK_INT(ask(200, 4, 32, &room), CS_REFUSAL_DOUBT);
        note(at + 100, -30, 24, 60);
        CHECK_INT(ask(200, 4, 32, &room), i < 3 ? CS_REFUSAL_NONE : CS_REFUSAL_DOUBT);
    }
}

static void several_streams_are_refused(void)
{
    struct cs_level_room room;
    begin_program();
    CHECK(cs_level_stream(&levels, 0, &levels));
    CHECK(cs_level_stream(&levels, 0, &levels));
    CHECK_INT(ask(200, 4, 32, &room), CS_REFUSAL_NONE);
    CHECK(!room.first_stream);
    CHECK(!cs_level_stream(&levels, 0, NULL));
    CHECK(!cs_level_stream(&levels, 0, &levels));
    CHECK_INT(ask(200, 4, 32, &room), CS_REFUSAL_STREAMS);
    CHECK(!cs_level_stream(&levels, 5, NULL));
}

static void devices_are_apart(void)
{
    struct cs_level_room room;
    struct cs_level_facts other;
    begin_program();
    cs_level_note(&levels, 3, AT(500), 4 * MIB, 4 * MIB, 20 * MIB);
    CHECK_INT(ask(500, 4, 4, &room), CS_REFUSAL_NONE);
    CHECK_INT(room.device, 3);
    CHECK_INT(room.high, 4 * MIB);
    CHECK(!cs_level_facts(&levels, 1, &other));
    cs_level_note(&levels, CS_LEVEL_DEVICES, AT(500), MIB, MIB, MIB);
    cs_level_note(&levels, -1, AT(500), MIB, MIB, MIB);
    CHECK(!cs_level_facts(&levels, CS_LEVEL_DEVICES, &other));
}

static void the_figures_without_convshim_are_exact(void)
{
    struct cs_level_room room;
    begin_program();
    CHECK_INT(facts().without, 60 * MIB); /* the level between calls */
    CHECK_INT(ask(200, 4, 70, &room), CS_REFUSAL_NONE);
    CHECK_INT(facts().without, (24 - 4 + 70) * MIB);
    CHECK_INT(facts().allocated, 60 * MIB);
    CHECK_INT(facts().events, 4);
}

static void the_figures_of_a_device_are_those_of_its_only_pool(void)
{
    static const struct cs_level_peaks peaks = {60 * MIB, 90 * MIB, 64 * MIB};
    static const struct cs_level_peaks lower = {50 * MIB, 95 * MIB, 32 * MIB};
    const struct cs_level_pool *pool = (const void *)AT(1), *other = (const void *)AT(2);
    struct cs_level_facts unknown;
    begin_empty();
    cs_level_raise(&levels, 0, pool, &peaks);
    cs_level_raise(&levels, 0, pool, &lower);
    cs_level_raise(&levels, -1, pool, &peaks);
    CHECK_INT(facts().allocated, 60 * MIB);
    CHECK_INT(facts().without, 95 * MIB);
    CHECK_INT(facts().reserved, 64 * MIB);
    CHECK(facts().pool);
    cs_level_raise(&levels, 0, other, &lower);
    CHECK(!cs_level_facts(&levels, 0, &unknown));
    cs_level_raise(&levels, 1, NULL, &lower); /* memory of another kind */
    cs_level_raise(&levels, 1, pool, &lower);
    CHECK(!cs_level_facts(&levels, 1, &unknown));
    begin_program(); /* an allocator reports */
    cs_level_raise(&levels, 0, pool, &(struct cs_level_peaks){INT64_MAX, INT64_MAX, INT64_MAX});
    CHECK_INT(facts().allocated, 60 * MIB);
}

static void calls_are_counted_by_way_and_refusal(void)
{
    begin_program();
    cs_level_count(&levels, 0, CS_WAY_UNTILED, 1, CS_REFUSAL_NONE);
    cs_level_count(&levels, 0, CS_WAY_FEWER, 4, CS_REFUSAL_NONE);
    cs_level_count(&levels, 0, CS_WAY_PLANNED, 32, CS_REFUSAL_PEAK);
    cs_level_count(&levels, -1, CS_WAY_PLANNED, 8, CS_REFUSAL_UNKNOWN);
    struct cs_level_facts now = facts();
    CHECK_INT(now.calls[CS_WAY_FEWER], 1);
    CHECK_INT(now.launches[CS_WAY_FEWER], 4);
    CHECK_INT(now.launches[CS_WAY_PLANNED], 32);
    CHECK_INT(now.refused[CS_REFUSAL_PEAK], 1);
    CHECK_INT(now.refused[CS_REFUSAL_UNKNOWN], 0);
    CHECK_INT(levels.refused[CS_REFUSAL_UNKNOWN], 1);
    CHECK_INT(levels.launches[CS_WAY_PLANNED], 8);
    CHECK_STR(cs_level_refusal_text(CS_REFUSAL_NONE), "");
    CHECK(*cs_level_refusal_text(CS_REFUSAL_PEAK));
}

/* The property behind the promise: whatever the program does, scratch within the room raises
 * neither the allocated peak nor the reserved bytes. */
static void scratch_within_the_room_never_raises_a_peak(void)
{
    static struct naive_allocator allocator;
    int taken = 0;
    for (unsigned seed = 1; seed <= 40; seed++) {
        begin_empty();
        naive_begin(&allocator, seed, seed % 2);
        for (int step = 0; step < 1000; step++) {
            struct cs_level_room room;
            struct naive_event event = naive_step(&allocator, step % 200 == 199);
            CASE("seed %u, step %d", seed, step);
            if (event.bytes == 0) { /* a small block shows the release */
                cs_level_note(&levels, 0, NULL, 512, event.allocated, event.reserved);
                continue;
            }
            CHECK(cs_level_note(&levels, 0, (void *)event.address, event.bytes, event.allocated,
                                event.reserved));
            const struct cs_level_call call = {(void *)event.address, NULL, event.bytes,
                                               event.bytes, NULL};
            if (event.bytes < 0 || cs_level_ask(&levels, &call, &room) != CS_REFUSAL_NONE)
                continue;
            int64_t high = room.high - room.allocated;
            int64_t bytes = (high < room.block ? high : room.block) / 512 * 512;
            if (bytes <= 2 * MIB)
                continue;
            taken++;
            CHECK(cs_level_begin(&levels, 0));
            struct naive_event own = naive_allocate(&allocator, bytes - MIB);
            CHECK(!cs_level_note(&levels, 0, (void *)own.address, own.bytes, own.allocated,
                                 own.reserved));
            CHECK(cs_level_taken(&levels, 0, (void *)own.address, false));
            CHECK(own.allocated <= room.high);
            CHECK_INT(own.reserved, room.reserved);
            cs_level_resume();
            for (int i = 0; i < allocator.count; i++)
                if (allocator.block[i].begin == own.address) {
                    own = naive_free(&allocator, i);
                    break;
                }
            CHECK(!cs_level_note(&levels, 0, (void *)own.address, own.bytes, own.allocated,
                                 own.reserved));
            cs_level_end(&levels, 0);
        }
        CHECK_INT(facts().grown, 0);
    }
    CHECK(taken > 1000);
}

enum {
    THREADS = 4,
    EVENTS = 20000
};

static void *report_events(void *opaque)
{
    int device = (int)(intptr_t)opaque % 2;
    for (int i = 0; i < EVENTS; i++) {
        struct cs_level_room room;
        struct cs_level_facts now;
        const struct cs_level_call call = {AT(100 + i % 7), NULL, 4 * MIB, 8 * MIB, NULL};
        cs_level_note(&levels, device, AT(100 + i % 7 * 4), i % 2 ? -4 * MIB : 4 * MIB, 4 * MIB,
                      20 * MIB);
        (void)cs_level_ask(&levels, &call, &room);
        if (cs_level_begin(&levels, device))
            cs_level_end(&levels, device);
        (void)cs_level_facts(&levels, device, &now);
    }
    return NULL;
}

static void threads_may_report_at_once(void)
{
    pthread_t thread[THREADS];
    begin_empty();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, report_events, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    CHECK_INT(facts().events, 2 * EVENTS);
    CHECK_INT(cs_lock_faults(), 0);
}

static void locks_are_held_across_a_fork(void)
{
    begin_program();
    cs_level_note(&levels, 1, AT(500), 4 * MIB, 4 * MIB, 20 * MIB);
    cs_level_fork(&levels, true);
    CHECK(cs_locks_held != 0);
    cs_level_fork(&levels, false);
    CHECK_INT(cs_locks_held, 0);
    note(300, 2, 26, 60);
    CHECK_INT(cs_lock_faults(), 0);
}

int main(void)
{
    TEST(the_room_is_below_the_highest_level);
    TEST(memory_of_other_allocators_has_no_level);
    TEST(a_call_with_a_small_workspace_is_found_by_its_output);
    TEST(free_memory_behind_a_workspace);
    TEST(scratch_of_the_library_is_not_the_programs);
    TEST(one_thread_at_a_time_holds_scratch);
    TEST(growth_by_scratch_puts_the_device_in_doubt);
    TEST(expected_growth_is_no_doubt);
    TEST(scratch_of_another_device_is_refused);
    TEST(growth_next_to_a_free_block_is_a_doubt);
    TEST(after_three_doubts_nothing_is_taken);
    TEST(several_streams_are_refused);
    TEST(devices_are_apart);
    TEST(the_figures_without_convshim_are_exact);
    TEST(the_figures_of_a_device_are_those_of_its_only_pool);
    TEST(calls_are_counted_by_way_and_refusal);
    TEST(scratch_within_the_room_never_raises_a_peak);
    TEST(threads_may_report_at_once);
    TEST(locks_are_held_across_a_fork);
    return REPORT();
}
