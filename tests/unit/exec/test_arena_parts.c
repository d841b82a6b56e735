/* What the arena asks of blocks, one by one and in a row: which a call may have, now or later,
 * which of several rows is the best, and how one is cut out and made one block. */
#include "check.h"

#define cs_arena_init parts_arena_init
#define cs_arena_take parts_arena_take
#define cs_arena_give parts_arena_give
#define cs_arena_reserve parts_arena_reserve
#define cs_arena_facts parts_arena_facts
#define cs_arena_sound parts_arena_sound
#define cs_arena_process_fork parts_arena_process_fork
#include "exec/arena.c" /* NOLINT(bugprone-suspicious-include) */

enum {
    UNIT = CS_SCRATCH_ALIGNMENT, /* bytes of every block here */
    STREAM = 1,
    OTHER_STREAM = 2,
    CAPTURE = 5,
    OTHER_CAPTURE = 6
};

static struct cs_pool pool;
static struct cs_slab slabs[2];
static struct cs_mark own = {.stream = STREAM}, other = {.stream = OTHER_STREAM}, unknown;
static struct cs_owner owner = {.capture = CAPTURE}, stranger = {.capture = OTHER_CAPTURE};

/* A block by its letter: free, with what STREAM (o), another (x) or an unknown one (u) runs in it,
 * leased (l) or lost (!); the same of a capture (f: c, o: C, l: L, !: ?); free, of another capture
 * (k). */
static struct cs_block block_of(char letter)
{
    struct cs_block block = {.bytes = UNIT};
    block.use = strchr("lL", letter)   ? CS_BLOCK_LEASED
                : strchr("!?", letter) ? CS_BLOCK_LOST
                                       : CS_BLOCK_FREE;
    block.owner = strchr("cCL?", letter) ? &owner : letter == 'k' ? &stranger : NULL;
    block.mark = strchr("oC", letter) ? &own
                 : letter == 'x'      ? &other
                 : letter == 'u'      ? &unknown
                                      : NULL;
    return block;
}

/* A slab of these blocks, which are its first; the next `spares` are to spare. */
static void make_slab(struct cs_slab *slab, const char *blocks, int spares)
{
    const int count = (int)strlen(blocks);
    *slab = (struct cs_slab){.pool = &pool, .bytes = (int64_t)count * UNIT};
    for (int i = 0; i < count; i++) {
        slab->block[i] = block_of(blocks[i]);
        slab->block[i].slab = slab;
        slab->block[i].offset = (int64_t)i * UNIT;
        slab->block[i].next = i + 1 < count ? &slab->block[i + 1] : NULL;
    }
    slab->first = count > 0 ? &slab->block[0] : NULL;
    for (int i = count + spares - 1; i >= count; i--) {
        slab->block[i].next = slab->spare;
        slab->spare = &slab->block[i];
    }
}

/* A pool of two slabs, the text of each behind a slash. */
static void make_pool(const char *blocks)
{
    char first[64];
    const char *slash = strchr(blocks, '/');
    snprintf(first, sizeof first, "%.*s", (int)(slash - blocks), blocks);
    make_slab(&slabs[0], first, 0);
    make_slab(&slabs[1], slash + 1, 0);
    slabs[0].next = &slabs[1];
    pool = (struct cs_pool){.slabs = &slabs[0]};
}

static struct taker taker_of(uint64_t stream, uint64_t capture, int64_t bytes)
{
    return (struct taker){.pool = &pool, .id = stream, .capture = {.id = capture}, .bytes = bytes};
}

static void which_blocks_a_call_may_have(void)
{
    static const char letters[] = "foxul!cCL?k";
    /* As the enumeration of what is pending says, n, o, x or -, a letter each; then y or n. */
    static const struct {
        uint64_t stream, capture;
        const char *pending, *in_time, *when_given;
    } rows[] = {
        {STREAM, 0, "noxx-------", "yyyyynnnnnn", "yyyyynnnnnn"},
        {0, 0, "nxxx-------", "yyyyynnnnnn", "yyyyynnnnnn"},
        {OTHER_STREAM, 0, "nxox-------", "yyyyynnnnnn", "yyyyynnnnnn"},
        {STREAM, CAPTURE, "n-----no---", "yyyyynyyynn", "ynnnnnyyynn"},
        {STREAM, OTHER_CAPTURE, "n---------n", "yyyyynnnnny", "ynnnnnnnnny"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct taker taker = taker_of(rows[i].stream, rows[i].capture, UNIT);
        char pending[16] = "", time[16] = "", given[16] = "", lost[16] = "";
        for (int k = 0; letters[k]; k++) {
            const struct cs_block block = block_of(letters[k]);
            pending[k] = "nox-"[pending_in(&block, &taker)];
            time[k] = "ny"[in_time(&block, &taker)];
            given[k] = "ny"[when_given(&block, &taker)];
            lost[k] = "yn"[not_lost(&block, &taker)];
        }
        CHECK_STR(pending, rows[i].pending);
        CHECK_STR(time, rows[i].in_time);
        CHECK_STR(given, rows[i].when_given);
        CHECK_STR(lost, "nnnnnynnnyn");
    }
}

static void blocks_in_a_row_are_added_up(void)
{
    static const struct {
        const char *blocks;
        int64_t bytes;
        bool fits;
    } rows[] = {{"fff/", 3 * UNIT, true},
                {"fff/", 3 * UNIT + 1, false},
                {"ff!ff/", 2 * UNIT + 1, false},
                {"ff!fff/", 3 * UNIT, true},
                {"ff/ff", 2 * UNIT + 1, false},
                {"f/fff", 3 * UNIT, true},
                {"/", 1, false},
                {"!/!", 1, false},
                {"ll/", 2 * UNIT, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct taker taker = taker_of(STREAM, 0, rows[i].bytes);
        make_pool(rows[i].blocks);
        CHECK_INT(fits(&taker, not_lost), rows[i].fits);
    }
}

/* The first is taken that waits least, then one that the stream has used, then the smallest. */
static void the_best_row_is_found(void)
{
    static const struct {
        const char *blocks;
        int64_t bytes;
        bool behind;
        int at, blocks_had; /* of the first slab, at 10 of the second; 0 blocks: none */
        int waits;
    } rows[] = {{"fof/", UNIT, false, 1, 1, 0},     {"ff/", UNIT, false, 0, 1, 0},
                {"lf/", UNIT, false, 1, 1, 0},      {"x/", UNIT, false, 0, 0, 0},
                {"x/", UNIT, true, 0, 1, 1},        {"xo/", UNIT, true, 1, 1, 0},
                {"xf/", UNIT, true, 1, 1, 0},       {"xxof/", 2 * UNIT, true, 2, 2, 0},
                {"xxxo/", 2 * UNIT, true, 2, 2, 1}, {"xlxx/", 2 * UNIT, true, 2, 2, 2},
                {"ffl/oo", UNIT, false, 10, 1, 0},  {"fl/l", 2 * UNIT, true, 0, 0, 0},
                {"ff/", 2 * UNIT, false, 0, 2, 0},  {"ff/", 2 * UNIT + 1, false, 0, 0, 0},
                {"foof/", 2 * UNIT, false, 1, 2, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct taker taker = taker_of(STREAM, 0, rows[i].bytes);
        struct run run;
        make_pool(rows[i].blocks);
        CHECK_INT(look(&taker, rows[i].behind, &run), rows[i].blocks_had > 0);
        if (rows[i].blocks_had == 0) {
            CHECK(run.first == NULL && run.last == NULL);
            continue;
        }
        const int at = rows[i].at % 10;
        const struct cs_slab *slab = &slabs[rows[i].at / 10];
        CHECK(run.slab == slab && run.first == &slab->block[at]);
        CHECK(run.last == &slab->block[at + rows[i].blocks_had - 1]);
        CHECK_INT(run.waits, rows[i].waits);
        CHECK_INT(run.bytes, rows[i].blocks_had * UNIT);
    }
}

static void the_smaller_of_two_rows_is_better(void)
{
    const struct run base = {.waits = 1, .clean = true, .bytes = 2 * UNIT};
    struct run run = base;
    CHECK(!better(&run, &base));
    run.bytes--;
    CHECK(better(&run, &base) && !better(&base, &run));
    run.clean = false;
    run.bytes = 100 * UNIT;
    CHECK(better(&run, &base) && !better(&base, &run));
    run.waits = 2;
    CHECK(!better(&run, &base) && better(&base, &run));
}

/* What is waited for: what others do, in a capture also what the stream itself does. */
static void what_is_in_order_is_not_waited_for(void)
{
    static const struct {
        const char *blocks;
        uint64_t stream, capture;
        int waits;
    } rows[] = {{"f", STREAM, 0, 0},   {"o", STREAM, 0, 0},
                {"x", STREAM, 0, 1},   {"u", STREAM, 0, 1},
                {"o", 0, 0, 1},        {"fox", STREAM, 0, 1},
                {"xux", STREAM, 0, 3}, {"CcC", STREAM, CAPTURE, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t count = strlen(rows[i].blocks);
        const struct taker taker = taker_of(rows[i].stream, rows[i].capture, UNIT);
        make_slab(&slabs[0], rows[i].blocks, 0);
        const struct run run = {
            .slab = &slabs[0], .first = &slabs[0].block[0], .last = &slabs[0].block[count - 1]};
        CHECK_INT(count_waits(&taker, &run), rows[i].waits);
    }
}

static int spares_of(const struct cs_slab *slab)
{
    int count = 0;
    for (const struct cs_block *block = slab->spare; block; block = block->next)
        count++;
    return count;
}

/* What is left over of the last block stays what it was, if there is a block to spare for it. */
static void a_row_is_cut_to_its_size(void)
{
    for (int spares = 0; spares <= 2; spares++)
        for (int64_t bytes = 3 * UNIT; bytes > 2 * UNIT; bytes -= UNIT / 4) {
            make_slab(&slabs[0], "foxf", spares);
            other.users = 1;
            struct run run = {.slab = &slabs[0],
                              .first = &slabs[0].block[0],
                              .last = &slabs[0].block[2],
                              .bytes = 3 * UNIT};
            const bool cuts = spares > 0 && bytes < 3 * UNIT;
            cut(&run, bytes);
            const struct cs_block *last = run.last, *rest = last->next;
            CHECK_INT(run.bytes, cuts ? bytes : 3 * UNIT);
            CHECK_INT(last->bytes, run.bytes - 2 * UNIT);
            CHECK_INT(spares_of(&slabs[0]), spares - cuts);
            CHECK_INT(other.users, cuts ? 2 : 1);
            CHECK(cuts == (rest != &slabs[0].block[3]));
            if (!cuts)
                continue;
            CHECK(rest->next == &slabs[0].block[3] && rest->mark == &other &&
                  rest->use == last->use);
            CHECK_INT(rest->bytes, 3 * UNIT - bytes);
            CHECK_INT(rest->offset, bytes);
        }
}

/* All but the first are to spare again, and nobody has their marks. */
static void a_row_becomes_one_block(void)
{
    for (int count = 1; count <= 3; count++) {
        make_slab(&slabs[0], "xxxf", 1);
        pool = (struct cs_pool){.slabs = &slabs[0]};
        other = (struct cs_mark){.stream = OTHER_STREAM, .users = 3};
        const struct run run = {.slab = &slabs[0],
                                .first = &slabs[0].block[0],
                                .last = &slabs[0].block[count - 1],
                                .bytes = count * UNIT};
        const struct cs_block *merged = merge(&run);
        CHECK(merged == &slabs[0].block[0] && merged->next == &slabs[0].block[count]);
        CHECK_INT(merged->bytes, count * UNIT);
        CHECK_INT(spares_of(&slabs[0]), count);
        CHECK_INT(other.users, 3 - count);
        CHECK(pool.spare == (count == 3 ? &other : NULL));
    }
}

/* Each mistake in a slab's list is one. */
static void a_slab_is_divided_without_gap(void)
{
    struct cs_arena arena = {.pools = &pool};
    make_pool("fff/ff");
    CHECK(is_divided(&arena));
    slabs[1].block[1].bytes++;
    CHECK(!is_divided(&arena)); /* beyond the end */
    slabs[1].block[1].bytes -= 2;
    CHECK(!is_divided(&arena));
    slabs[1].block[1].bytes++;
    CHECK(is_divided(&arena));
    slabs[0].block[1].offset++;
    CHECK(!is_divided(&arena));
    slabs[0].block[1].offset--;
    slabs[0].block[2].slab = &slabs[1];
    CHECK(!is_divided(&arena));
    slabs[0].block[2].slab = &slabs[0];
    slabs[0].block[1].next = NULL;
    CHECK(!is_divided(&arena));
    slabs[0].block[1].next = &slabs[0].block[2];
    slabs[0].block[1].bytes = 0;
    slabs[0].block[2].offset = UNIT;
    slabs[0].bytes = 2 * UNIT;
    CHECK(!is_divided(&arena)); /* a block of nothing */
    slabs[0].block[1] = block_of('f');
    slabs[0].block[1].slab = &slabs[0];
    slabs[0].block[1].offset = UNIT;
    CHECK(is_divided(&arena));
    make_pool("ff/");
    slabs[0].block[0].bytes = slabs[0].block[1].bytes = slabs[0].block[1].offset = 1;
    slabs[0].bytes = 2;
    CHECK(is_divided(&arena));
}

/* No more than so many, each once, and counted as a user. */
static void so_many_marks_are_asked(void)
{
    static struct cs_mark marks[70];
    struct asked asked = {.count = 0};
    for (int i = 0; i < 70; i++) {
        add_asked(&asked, &marks[i]);
        add_asked(&asked, &marks[i]); /* a neighbour's */
        CHECK_INT(asked.count, i < 64 ? i + 1 : 64);
        CHECK_INT(marks[i].users, i < 64);
    }
    for (int i = 0; i < 64; i++)
        asked.done[i] = i % 3 == 0;
    for (int i = 0; i < 70; i++)
        CHECK_INT(is_done(&asked, &marks[i]), i < 64 && i % 3 == 0);
}

static void sizes_are_rounded_up(void)
{
    CHECK_INT(rounded_up(1), UNIT);
    CHECK_INT(rounded_up(UNIT), UNIT);
    CHECK_INT(rounded_up(UNIT + 1), 2 * UNIT);
    CHECK_INT(rounded_up(INT64_MAX), INT64_MAX);
    CHECK_INT(rounded_up(INT64_MAX - INT64_MAX % UNIT), INT64_MAX - INT64_MAX % UNIT);
}

static void the_most_that_was_taken_is_kept(void)
{
    static struct cs_arena arena;
    count_taken(&arena, 10);
    count_taken(&arena, 5);
    CHECK(arena.facts.used == 15 && arena.facts.used_peak == 15);
    count_taken(&arena, -12);
    count_taken(&arena, 2);
    CHECK(arena.facts.used == 5 && arena.facts.used_peak == 15);
}

int main(void)
{
    TEST(which_blocks_a_call_may_have);
    TEST(blocks_in_a_row_are_added_up);
    TEST(the_best_row_is_found);
    TEST(the_smaller_of_two_rows_is_better);
    TEST(what_is_in_order_is_not_waited_for);
    TEST(a_row_is_cut_to_its_size);
    TEST(a_row_becomes_one_block);
    TEST(a_slab_is_divided_without_gap);
    TEST(so_many_marks_are_asked);
    TEST(sizes_are_rounded_up);
    TEST(the_most_that_was_taken_is_kept);
    return REPORT();
}
