/* The free blocks that src/level derives from reports: by hand, and against a naive model of
 * PyTorch's allocator under random programs. */
#include "check.h"
#include "level/blocks.h"
#include "naive_allocator.h"

#define MIB ((int64_t)1 << 20)

static struct cs_blocks blocks;

static void begin_empty(void)
{
    memset(&blocks, 0, sizeof blocks);
}

static void segments_and_gaps(void)
{
    begin_empty();
    CHECK(cs_blocks_take(&blocks, 100 * MIB, 4 * MIB, 20 * MIB)); /* a segment of 20 MiB */
    CHECK_INT(cs_blocks_largest(&blocks), 16 * MIB);
    CHECK(cs_blocks_take(&blocks, 104 * MIB, 6 * MIB, 0));
    CHECK_INT(cs_blocks_largest(&blocks), 10 * MIB);
    CHECK(cs_blocks_give(&blocks, 100 * MIB, 4 * MIB));
    CHECK_INT(cs_blocks_largest(&blocks), 10 * MIB);
    CHECK(cs_blocks_give(&blocks, 104 * MIB, 6 * MIB));
    CHECK_INT(cs_blocks_largest(&blocks), 20 * MIB);
}

static void a_free_block_never_spans_two_segments(void)
{
    begin_empty();
    CHECK(cs_blocks_take(&blocks, 100 * MIB, 30 * MIB, 30 * MIB));
    CHECK(cs_blocks_take(&blocks, 130 * MIB, 32 * MIB, 32 * MIB));
    CHECK(cs_blocks_give(&blocks, 100 * MIB, 30 * MIB));
    CHECK(cs_blocks_give(&blocks, 130 * MIB, 32 * MIB));
    CHECK_INT(cs_blocks_largest(&blocks), 32 * MIB);
}

static void an_expandable_segment_grows_by_pages_behind_its_last_free_block(void)
{
    begin_empty();
    CHECK(cs_blocks_take(&blocks, 100 * MIB, 34 * MIB, 40 * MIB));
    CHECK(cs_blocks_take(&blocks, 134 * MIB, 30 * MIB, 40 * MIB)); /* 6 MiB were free */
    CHECK_INT(cs_blocks_largest(&blocks), 16 * MIB);
    CHECK(cs_blocks_give(&blocks, 100 * MIB, 34 * MIB));
    CHECK(cs_blocks_give(&blocks, 134 * MIB, 30 * MIB));
    CHECK_INT(cs_blocks_largest(&blocks), 80 * MIB);
}

static void a_block_across_an_edge_removes_it(void)
{
    begin_empty();
    /* An expandable segment whose first pages are full: 20 MiB more could be another segment. */
    CHECK(cs_blocks_take(&blocks, 100 * MIB, 20 * MIB, 20 * MIB));
    CHECK(cs_blocks_take(&blocks, 120 * MIB, 20 * MIB, 20 * MIB));
    CHECK(cs_blocks_give(&blocks, 100 * MIB, 20 * MIB));
    CHECK(cs_blocks_give(&blocks, 120 * MIB, 20 * MIB));
    CHECK_INT(cs_blocks_largest(&blocks), 20 * MIB);
    CHECK(cs_blocks_take(&blocks, 100 * MIB, 30 * MIB, 0));
    CHECK_INT(cs_blocks_largest(&blocks), 10 * MIB);
    CHECK(cs_blocks_give(&blocks, 100 * MIB, 30 * MIB));
    CHECK_INT(cs_blocks_largest(&blocks), 40 * MIB);
}

static void contradictions_are_reported(void)
{
    begin_empty();
    CHECK(cs_blocks_take(&blocks, 100 * MIB, 4 * MIB, 20 * MIB));
    CHECK(!cs_blocks_take(&blocks, 104 * MIB, 4 * MIB, 20 * MIB)); /* grew although it fits */
    begin_empty();
    CHECK(!cs_blocks_take(&blocks, 100 * MIB, 40 * MIB, 20 * MIB)); /* less than the block */
    begin_empty();
    CHECK(!cs_blocks_take(&blocks, 100 * MIB, 40 * MIB, 42 * MIB)); /* neither segment nor pages */
    begin_empty();
    CHECK(cs_blocks_take(&blocks, 100 * MIB, 4 * MIB, 20 * MIB));
    CHECK(!cs_blocks_give(&blocks, 104 * MIB, 4 * MIB)); /* was free */
}

static void forgotten_blocks_become_free_when_they_are_given_back(void)
{
    begin_empty();
    CHECK(cs_blocks_take(&blocks, 100 * MIB, 4 * MIB, 20 * MIB));
    CHECK_INT(cs_blocks_live(&blocks, 100 * MIB), 4 * MIB);
    cs_blocks_forget(&blocks);
    CHECK_INT(cs_blocks_largest(&blocks), 0);
    CHECK_INT(cs_blocks_live(&blocks, 100 * MIB), 4 * MIB);
    CHECK(cs_blocks_take(&blocks, 104 * MIB, 4 * MIB, 0)); /* in memory that was forgotten */
    CHECK_INT(cs_blocks_largest(&blocks), 0);
    CHECK(cs_blocks_give(&blocks, 100 * MIB, 4 * MIB));
    CHECK_INT(cs_blocks_live(&blocks, 100 * MIB), 0);
    CHECK_INT(cs_blocks_largest(&blocks), 4 * MIB);
}

static void a_full_table_is_reported(void)
{
    begin_empty();
    bool fits = true;
    uint64_t at = 1 << 30;
    for (int i = 0; i <= CS_BLOCKS_MAX && fits; i++, at += 64 * MIB)
        fits = cs_blocks_take(&blocks, at, 2 * MIB, 20 * MIB);
    CHECK(!fits);
    CHECK(blocks.edges == CS_BLOCKS_MAX || blocks.free_blocks == CS_BLOCKS_MAX);
}

static void the_block_behind_another_one(void)
{
    int64_t least = 0;
    begin_empty();
    CHECK(cs_blocks_take(&blocks, 100 * MIB, 4 * MIB, 20 * MIB));
    CHECK_INT(cs_blocks_after(&blocks, 104 * MIB, &least), 16 * MIB);
    CHECK_INT(least, 1);
    CHECK_INT(cs_blocks_after(&blocks, 105 * MIB, &least), 0);
    CHECK(cs_blocks_take(&blocks, 120 * MIB, 10 * MIB, 20 * MIB)); /* a segment behind it */
    CHECK_INT(cs_blocks_after(&blocks, 104 * MIB, &least), 16 * MIB);
    CHECK_INT(least, 10 * MIB + 1);
    CHECK_INT(cs_blocks_after(&blocks, 120 * MIB, &least), 0); /* in use, and another segment */
    CHECK(cs_blocks_give(&blocks, 120 * MIB, 10 * MIB));
    CHECK_INT(cs_blocks_after(&blocks, 120 * MIB, &least), 0);
    CHECK(cs_blocks_take(&blocks, 120 * MIB, 4 * MIB, 0));
    CHECK_INT(cs_blocks_after(&blocks, 124 * MIB, &least), 0); /* the first of two equal ones */
    CHECK_INT(cs_blocks_after(&blocks, 104 * MIB, &least), 16 * MIB);
}

/* A block of the table behind one in use is free, and a request of `least` gets it. `complete`: the
 * table has all free blocks. */
static void check_after(const struct naive_allocator *allocator, const struct naive_event *event,
                        bool complete)
{
    int64_t least = 0;
    const uint64_t end = event->address + (uint64_t)event->bytes;
    const int64_t bytes = cs_blocks_after(&blocks, end, &least);
    if (bytes == 0)
        return;
    int at = 0;
    while (at < allocator->count && allocator->block[at].begin != end)
        at++;
    CHECK(at < allocator->count && !allocator->block[at].used && !allocator->block[at].first);
    CHECK(bytes <= allocator->block[at].bytes);
    if (complete)
        CHECK_INT(naive_best(allocator, least), at);
}

/* The property: the table never has a free block that the allocator does not have, and with one
 * stream and without releases it has the largest one. */
static void run_random(unsigned seed, bool expandable, bool releases)
{
    static struct naive_allocator allocator;
    naive_begin(&allocator, seed, expandable);
    begin_empty();
    int64_t reserved = 0;
    for (int step = 0; step < 4000; step++) {
        struct naive_event event = naive_step(&allocator, releases && step % 100 == 99);
        CASE("seed %u, expandable %d, releases %d, step %d", seed, expandable, releases, step);
        if (event.reserved < reserved)
            cs_blocks_forget(&blocks);
        int64_t grown = event.reserved > reserved ? event.reserved - reserved : 0;
        reserved = event.reserved;
        if (event.bytes == 0)
            continue;
        bool fine = event.bytes > 0 ? cs_blocks_take(&blocks, event.address, event.bytes, grown)
                                    : cs_blocks_give(&blocks, event.address, -event.bytes);
        if (!fine)
            cs_blocks_forget(&blocks);
        CHECK(fine || releases);
        int64_t known = cs_blocks_largest(&blocks), largest = naive_largest(&allocator);
        CHECK(known <= largest);
        if (!releases && !expandable)
            CHECK_INT(known, largest);
        if (event.bytes > 0)
            check_after(&allocator, &event, !releases && !expandable);
    }
}

static void random_programs(void)
{
    for (unsigned seed = 1; seed <= 20; seed++)
        for (int form = 0; form < 4; form++)
            run_random(seed, form & 1, form & 2);
}

int main(void)
{
    TEST(segments_and_gaps);
    TEST(a_free_block_never_spans_two_segments);
    TEST(an_expandable_segment_grows_by_pages_behind_its_last_free_block);
    TEST(a_block_across_an_edge_removes_it);
    TEST(contradictions_are_reported);
    TEST(forgotten_blocks_become_free_when_they_are_given_back);
    TEST(a_full_table_is_reported);
    TEST(the_block_behind_another_one);
    TEST(random_programs);
    return REPORT();
}
