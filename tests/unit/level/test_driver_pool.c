/* The level of a pool: the room of a call, and doubts. */
#include "check.h"
#include "level/driver_pool.h"

#define MIB ((int64_t)1 << 20)

static struct cs_level_pools pools;
static const char handle[CS_LEVEL_POOLS + 1];

static struct cs_level_pool *new_pool(void)
{
    memset(&pools, 0, sizeof pools);
    return cs_level_pool_find(&pools, &handle[0]);
}

static enum cs_refusal ask(struct cs_level_pool *pool, int64_t used, int64_t high, int64_t reserved,
                           struct cs_level_room *room)
{
    const struct cs_level_pool_numbers now = {used * MIB, high * MIB, reserved * MIB, 0};
    return cs_level_pool_ask(pool, &now, handle, room);
}

static void the_room_is_below_the_mark_and_inside_the_pool(void)
{
    struct cs_level_room room;
    struct cs_level_pool *pool = new_pool();
    CHECK_INT(ask(pool, 24, 60, 64, &room), CS_REFUSAL_NONE);
    CHECK_INT(room.device, -1);
    CHECK(room.pool == pool);
    CHECK_INT(room.allocated, 24 * MIB);
    CHECK_INT(room.high, 60 * MIB);
    CHECK_INT(room.reserved, 64 * MIB);
    CHECK_INT(room.block, 40 * MIB);
    CHECK(room.first_stream);
    CHECK_INT(ask(pool, 24, 24, 64, &room), CS_REFUSAL_NONE); /* the program reset its peak */
    CHECK_INT(room.high, 60 * MIB);
}

static void the_peaks_contain_what_the_call_would_have_allocated(void)
{
    struct cs_level_room room;
    struct cs_level_pool *pool = new_pool();
    struct cs_level_pool_numbers now = {24 * MIB, 60 * MIB, 64 * MIB, 96 * MIB};
    struct cs_level_call call = {.provided = 4 * MIB, .required = 70 * MIB};
    CHECK_INT(cs_level_pool_ask(pool, &now, handle, &room), CS_REFUSAL_NONE);
    struct cs_level_peaks peaks = cs_level_pool_peaks(pool, &now, &call);
    CHECK_INT(peaks.allocated, 60 * MIB);
    CHECK_INT(peaks.without, (24 - 4 + 70) * MIB);
    CHECK_INT(peaks.reserved, 96 * MIB);
    call.required = 30 * MIB; /* not the program's peak */
    CHECK_INT(cs_level_pool_peaks(pool, &now, &call).without, 60 * MIB);
    now.used = now.high = 24 * MIB; /* the program reset its peak */
    CHECK_INT(cs_level_pool_ask(pool, &now, handle, &room), CS_REFUSAL_NONE);
    CHECK_INT(cs_level_pool_peaks(pool, &now, &call).allocated, 60 * MIB);
}

static void pools_are_found_by_their_handle(void)
{
    struct cs_level_pool *pool = new_pool();
    CHECK(pool != NULL);
    CHECK(cs_level_pool_known(&pools, &handle[0]) == pool);
    CHECK(cs_level_pool_known(&pools, &handle[1]) == NULL);
    CHECK(cs_level_pool_known(&pools, NULL) == NULL);
    CHECK(cs_level_pool_find(&pools, NULL) == NULL);
    for (int i = 1; i < CS_LEVEL_POOLS; i++)
        CHECK(cs_level_pool_find(&pools, &handle[i]) == &pools.pool[i]);
    CHECK(cs_level_pool_find(&pools, &handle[CS_LEVEL_POOLS]) == NULL);
    CHECK(cs_level_pool_find(&pools, &handle[0]) == pool);
}

static void several_streams_are_a_doubt(void)
{
    struct cs_level_room room;
    struct cs_level_pool *pool = new_pool();
    CHECK(cs_level_pool_stream(pool, handle));
    CHECK_INT(ask(pool, 24, 60, 64, &room), CS_REFUSAL_NONE);
    CHECK(!room.first_stream);
    CHECK(!cs_level_pool_stream(pool, NULL));
    CHECK(!cs_level_pool_stream(pool, handle));
    CHECK_INT(ask(pool, 24, 60, 64, &room), CS_REFUSAL_STREAMS);
}

static void one_thread_at_a_time_holds_scratch(void)
{
    struct cs_level_room room;
    struct cs_level_pool *pool = new_pool();
    CHECK(cs_level_pool_begin(pool));
    CHECK(!cs_level_pool_begin(pool));
    CHECK_INT(ask(pool, 24, 60, 64, &room), CS_REFUSAL_BUSY);
    cs_level_pool_end(pool);
    CHECK(cs_level_pool_begin(pool));
}

static void a_pool_that_grew_is_doubted_until_it_shrinks(void)
{
    struct cs_level_room room;
    struct cs_level_pool *pool = new_pool();
    CHECK(cs_level_pool_taken(pool, 64 * MIB, 64 * MIB, false));
    CHECK(cs_level_pool_taken(pool, 64 * MIB, 32 * MIB, false));
    CHECK(cs_level_pool_taken(pool, 64 * MIB, 96 * MIB, true));
    CHECK_INT(ask(pool, 24, 60, 96, &room), CS_REFUSAL_NONE);
    for (int i = 1; i <= 3; i++) {
        CHECK(!cs_level_pool_taken(pool, 64 * MIB, 96 * MIB, false));
        CHECK_INT(ask(pool, 24, 60, 96, &room), CS_REFUSAL_DOUBT);
        CHECK_INT(ask(pool, 24, 60, 64, &room), i < 3 ? CS_REFUSAL_NONE : CS_REFUSAL_DOUBT);
    }
}

int main(void)
{
    TEST(the_room_is_below_the_mark_and_inside_the_pool);
    TEST(the_peaks_contain_what_the_call_would_have_allocated);
    TEST(pools_are_found_by_their_handle);
    TEST(several_streams_are_a_doubt);
    TEST(one_thread_at_a_time_holds_scratch);
    TEST(a_pool_that_grew_is_doubted_until_it_shrinks);
    return REPORT();
}
