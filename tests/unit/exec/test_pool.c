/* The parts of a context's pool, one by one: how large a slab becomes, which ones may be freed and
 * how many of them are, whose blocks come back when a graph is gone, how many contexts have one. */
#include "check.h"
#include "heap.h"

#define cs_pool_report parts_pool_report
#define cs_pool_spare_mark parts_pool_spare_mark
#define cs_pool_new_mark parts_pool_new_mark
#define cs_pool_put_mark parts_pool_put_mark
#define cs_pool_leave_mark parts_pool_leave_mark
#define cs_pool_drop_mark parts_pool_drop_mark
#define cs_pool_forget parts_pool_forget
#define cs_pool_unlock parts_pool_unlock
#define cs_pool_enter parts_pool_enter
#define cs_pool_leave parts_pool_leave
#define cs_pool_reclaim parts_pool_reclaim
#define cs_pool_owner parts_pool_owner
#define cs_pool_new_owner parts_pool_new_owner
#define cs_pool_add_owner parts_pool_add_owner
#define cs_pool_grow parts_pool_grow
#include "exec/pool.c" /* NOLINT(bugprone-suspicious-include) */

static const int64_t MIB = 1 << 20;

/* A device that is asked one thing at a time, and fails when it is told to. */
static struct {
    int events, allocations, frees, lives, calls, fails_at;
    uint64_t dead; /* context */
    int keeps, kept_status;
    void (*gone)(void *arg);
    void *arg;
} fake;

static int fake_status(void)
{
    return ++fake.calls == fake.fails_at;
}

static int event_create(void *ctx, void **event_p)
{
    (void)ctx;
    const int status = fake_status();
    if (status == 0)
        *event_p = &fake.events;
    fake.events += status == 0;
    return status;
}

static int allocate(void *ctx, int64_t bytes, void **memory_p)
{
    (void)ctx;
    CHECK(bytes > 0);
    CHECK_INT(cs_locks_held, 0);
    const int status = fake_status();
    if (status == 0)
        *memory_p = &fake;
    fake.allocations += status == 0;
    return status;
}

static void free_memory(void *ctx, void *memory)
{
    (void)ctx;
    CHECK(memory == &fake);
    CHECK_INT(cs_locks_held, 0);
    fake.frees++;
}

static bool lives(void *ctx, void *handle, uint64_t context)
{
    (void)ctx;
    CHECK(handle == &fake);
    CHECK_INT(cs_locks_held, 0);
    fake.lives++;
    return context != fake.dead;
}

static void *handle_of(void *ctx)
{
    (void)ctx;
    return &fake;
}

static int keep(void *ctx, void *graph, void (*gone)(void *arg), void *arg)
{
    (void)ctx;
    CHECK(graph == &fake.gone);
    fake.keeps++;
    fake.gone = gone;
    fake.arg = arg;
    return fake.kept_status;
}

static const struct cs_device device = {.event_create = event_create,
                                        .allocate = allocate,
                                        .free = free_memory,
                                        .lives = lives,
                                        .handle = handle_of,
                                        .keep = keep};

/* What was reported, a letter each, by what happened. */
static char seen[128];
static int64_t seen_bytes;

static void see(void *ctx, const struct cs_scratch_event *event)
{
    const size_t length = strlen(seen);
    (void)ctx;
    CHECK((cs_locks_held >> CS_RANK_ARENA & 1) == 1);
    if (length < sizeof seen - 1)
        seen[length] = "AFTGLKR"[event->what];
    seen_bytes += event->bytes;
}

static struct cs_arena arena;

/* With the lock, as all that follows. */
static struct cs_pool *start(int64_t limit)
{
    memset(&fake, 0, sizeof fake);
    memset(&arena, 0, sizeof arena);
    memset(seen, 0, sizeof seen);
    seen_bytes = 0;
    arena.facts.limit = limit;
    arena.watch.see = see;
    cs_lock_init(&arena.lock, CS_RANK_ARENA);
    cs_lock_condition_init(&arena.given);
    cs_lock(&arena.lock);
    struct cs_pool *pool = cs_pool_enter(&arena, &device, 1);
    CHECK(pool != NULL && pool->users == 1 && pool->handle == &fake);
    return pool;
}

static void end(void)
{
    while (arena.pools) {
        struct cs_pool *pool = arena.pools;
        arena.pools = pool->next;
        cs_pool_forget(&arena, pool);
    }
    cs_pool_unlock(&arena);
}

static void how_large_a_slab_becomes(void)
{
    static const struct {
        int64_t limit, held, promised, bytes, slab;
    } rows[] = {{10, 0, 0, 1, 2},
                {10, 0, 0, 2, 2},
                {10, 0, 0, 3, 4},
                {10, 4, 4, 2, 2},
                {10, 4, 4, 3, 0},
                {10, 4, 5, 1, 1},
                {10, 4, 6, 1, 0},
                {9, 0, 0, 9, 9},
                {INT64_MAX / 1048576, 0, 0, INT64_MAX / 1048576, INT64_MAX / 1048576}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arena.facts.limit = rows[i].limit * MIB;
        arena.facts.held = rows[i].held * MIB;
        arena.promised = rows[i].promised * MIB;
        CHECK_INT(slab_bytes(&arena, rows[i].bytes * MIB), rows[i].slab * MIB);
    }
    arena.facts.limit = INT64_MAX;
    arena.facts.held = arena.promised = 0;
    CHECK_INT(slab_bytes(&arena, INT64_MAX), INT64_MAX); /* which cannot be rounded up */
}

static void a_slab_is_counted(void)
{
    struct cs_pool *pool = start(10 * MIB);
    CHECK(cs_pool_grow(&arena, pool, &device, 1, CS_SPARE_ALL));
    CHECK(cs_pool_grow(&arena, pool, &device, 3 * MIB, CS_SPARE_ALL));
    CHECK_INT(arena.facts.held, 6 * MIB);
    CHECK_INT(arena.facts.peak, 6 * MIB);
    CHECK_INT(arena.facts.allocations, 2);
    CHECK_INT(arena.promised + arena.growing, 0);
    CHECK_STR(seen, "AA");
    CHECK_INT(pool->slabs->number, 2);
    CHECK_INT(pool->slabs->bytes, 4 * MIB);
    CHECK_INT(pool->slabs->next->number, 1);
    CHECK(pool->slabs->memory == (char *)&fake && pool->slabs->pool == pool);
    CHECK_INT(fake.events, 8); /* four marks each */
    int spares = 0, marks = 0;
    for (const struct cs_block *block = pool->slabs->spare; block; block = block->next)
        spares++;
    for (const struct cs_mark *mark = pool->spare; mark; mark = mark->next)
        marks++;
    CHECK_INT(spares, CS_SLAB_BLOCKS - 1);
    CHECK_INT(marks, 8);
    CHECK_INT(pool->slabs->first->bytes, 4 * MIB);
    CHECK(pool->slabs->first->next == NULL && pool->slabs->first->slab == pool->slabs);
    CHECK(!cs_pool_grow(&arena, pool, &device, 5 * MIB, CS_SPARE_ALL));
    CHECK_INT(arena.growing, 0);
    end();
    CHECK_STR(seen, "AAFF");
    CHECK_INT(arena.facts.held, 0);
    CHECK_INT(arena.facts.peak, 6 * MIB);
}

/* Without memory there is no slab; without an event there are fewer marks. */
static void what_fails_is_not_counted(void)
{
    for (int fails_at = 1; fails_at <= 6; fails_at++) {
        struct cs_pool *pool = start(10 * MIB);
        fake.fails_at = fails_at;
        const bool grown = cs_pool_grow(&arena, pool, &device, MIB, CS_SPARE_ALL);
        CHECK_INT(grown, fails_at > 1);
        CHECK_INT(arena.facts.held, grown ? 2 * MIB : 0);
        CHECK_INT(arena.facts.allocations, grown);
        CHECK_INT(arena.promised + arena.growing, 0);
        CHECK_INT(fake.events, fails_at == 1 ? 0 : fails_at <= 5 ? fails_at - 2 : 4);
        end();
    }
}

/* A slab by its letter: f, free; m, with something that may still run in it; l, leased; o, of a
 * capture. All of 2 MiB, the first the newest. */
static void make_slabs(struct cs_pool *pool, const char *slabs)
{
    static struct cs_owner owner;
    struct cs_slab *slab;
    for (const char *letter = slabs; *letter; letter++)
        CHECK(cs_pool_grow(&arena, pool, &device, 2 * MIB, CS_SPARE_ALL));
    slab = pool->slabs;
    for (; *slabs; slabs++, slab = slab->next) {
        slab->first->use = *slabs == 'l' ? CS_BLOCK_LEASED : CS_BLOCK_FREE;
        slab->first->owner = *slabs == 'o' ? &owner : NULL;
        slab->first->mark = *slabs == 'm' ? cs_pool_spare_mark(pool) : NULL;
        if (slab->first->mark)
            slab->first->mark->users = 1;
    }
}

/* As few as make room, and none if they do not. */
static void idle_slabs_make_room(void)
{
    static const struct {
        const char *slabs; /* in a limit of 2 MiB more */
        int64_t bytes;     /* MiB */
        enum cs_sacrifice sacrifice;
        int freed;
        bool grown;
    } rows[] = {{"ff", 2, CS_FREE_DONE, 0, true},  {"ff", 3, CS_FREE_DONE, 1, true},
                {"ff", 4, CS_FREE_DONE, 1, true},  {"ff", 5, CS_FREE_DONE, 2, true},
                {"ff", 6, CS_FREE_DONE, 2, true},  {"ff", 7, CS_FREE_DONE, 0, false},
                {"ff", 4, CS_SPARE_ALL, 0, false}, {"fm", 6, CS_FREE_DONE, 0, false},
                {"fm", 6, CS_FREE_IDLE, 2, true},  {"mf", 4, CS_FREE_DONE, 1, true},
                {"lf", 4, CS_FREE_IDLE, 1, true},  {"of", 6, CS_FREE_IDLE, 0, false},
                {"lo", 4, CS_FREE_IDLE, 0, false}, {"mm", 6, CS_FREE_IDLE, 2, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int slabs = (int)strlen(rows[i].slabs);
        struct cs_pool *pool = start(2 * MIB * (slabs + 1));
        make_slabs(pool, rows[i].slabs);
        const bool grown =
            cs_pool_grow(&arena, pool, &device, rows[i].bytes * MIB, rows[i].sacrifice);
        CHECK_INT(grown, rows[i].grown);
        CHECK_INT(fake.frees, rows[i].freed);
        CHECK_INT(fake.allocations, slabs + grown);
        int64_t held = 0;
        for (const struct cs_slab *slab = pool->slabs; slab; slab = slab->next)
            held += slab->bytes;
        CHECK_INT(arena.facts.held, held);
        CHECK(held <= arena.facts.limit);
        CHECK_INT(arena.growing, 0);
        for (struct cs_slab *slab = pool->slabs; slab; slab = slab->next)
            slab->first->owner = NULL;
        end();
    }
}

/* When a graph is gone, what no lease has is free, and the owner is forgotten with the last. */
static void a_graph_gives_its_blocks_back(void)
{
    const struct cs_capture capture = {7, &fake.gone};
    for (int leased = 0; leased < 2; leased++) {
        struct cs_pool *pool = start(10 * MIB);
        make_slabs(pool, "fff");
        struct cs_owner *owner = cs_pool_new_owner(&device, &capture);
        CHECK(owner && fake.keeps == 1 && cs_pool_owner(pool, 7) == NULL);
        cs_pool_add_owner(pool, owner);
        CHECK(cs_pool_owner(pool, 7) == owner && cs_pool_owner(pool, 8) == NULL);
        owner->reported = true;
        struct cs_block *first = pool->slabs->first, *second = pool->slabs->next->first;
        first->owner = second->owner = owner;
        first->use = CS_BLOCK_LOST;
        second->use = leased ? CS_BLOCK_LEASED : CS_BLOCK_FREE;
        seen_bytes = 0;
        cs_pool_reclaim(&arena, pool);
        CHECK(first->owner == owner && seen_bytes == 0);
        fake.gone(fake.arg);
        cs_pool_reclaim(&arena, pool);
        CHECK(first->owner == NULL && first->use == CS_BLOCK_FREE);
        CHECK(second->owner == (leased ? owner : NULL));
        CHECK(cs_pool_owner(pool, 7) == (leased ? owner : NULL));
        CHECK_STR(seen, leased ? "AAA" : "AAAR");
        CHECK_INT(seen_bytes, leased ? 0 : 4 * MIB);
        second->owner = NULL;
        end();
    }
}

/* Whoever comes second frees an owner: the device that tells, or the pool that forgets it. */
static void owners_are_freed_once(void)
{
    const struct cs_capture capture = {7, &fake.gone};
    for (int how = 0; how < 4; how++) {
        struct cs_pool *pool = start(10 * MIB);
        const long long taken = heap_taken;
        fake.kept_status = how == 3;
        struct cs_owner *owner = cs_pool_new_owner(&device, &capture);
        CHECK(how == 3 ? owner == NULL : owner != NULL);
        if (owner)
            cs_pool_add_owner(pool, owner);
        if (how == 0)
            fake.gone(fake.arg);
        if (how == 1)
            cs_pool_reclaim(&arena, pool);
        end();
        if (how == 1 || how == 2)
            fake.gone(fake.arg);
        CHECK_INT(heap_taken - taken, -1); /* the pool */
    }
}

/* A pool that nobody uses goes when its context is gone, or when there are 32 contexts. */
static void so_many_contexts_have_pools(void)
{
    struct cs_pool *first = start(10 * MIB);
    for (uint64_t context = 2; context <= 32; context++)
        cs_pool_leave(cs_pool_enter(&arena, &device, context));
    int pools = 0;
    for (const struct cs_pool *pool = arena.pools; pool; pool = pool->next)
        pools++;
    CHECK_INT(pools, 32);
    CHECK(cs_pool_enter(&arena, &device, 1) == first && first->users == 2);
    CHECK(arena.pools == first); /* the one used last */
    cs_pool_leave(cs_pool_enter(&arena, &device, 33));
    CHECK(*find(&arena, 2) == NULL && *find(&arena, 3) != NULL); /* the oldest that nobody uses */
    CHECK(*find(&arena, 1) == first);
    fake.dead = 20;
    cs_pool_leave(cs_pool_enter(&arena, &device, 34));
    CHECK(*find(&arena, 20) == NULL && *find(&arena, 3) != NULL);
    fake.dead = 1; /* somebody is using it */
    cs_pool_leave(cs_pool_enter(&arena, &device, 35));
    CHECK(*find(&arena, 1) == first && *find(&arena, 3) == NULL);
    end();
}

/* Of more than that, which were in use at once, as many are asked whether they are gone. */
static void so_many_contexts_are_asked(void)
{
    enum {
        MANY = 40
    };
    (void)start(10 * MIB);
    struct cs_pool *pool[MANY];
    for (int i = 0; i < MANY; i++)
        pool[i] = cs_pool_enter(&arena, &device, 100 + (uint64_t)i);
    for (int unused = 0; unused < MANY; unused++) {
        fake.lives = 0;
        forget_gone(&arena, &device);
        CHECK_INT(fake.lives, unused < 32 ? unused : 32);
        cs_pool_leave(pool[unused]);
    }
    end();
}

int main(void)
{
    heap_watch();
    TEST(how_large_a_slab_becomes);
    TEST(a_slab_is_counted);
    TEST(what_fails_is_not_counted);
    TEST(idle_slabs_make_room);
    TEST(a_graph_gives_its_blocks_back);
    TEST(owners_are_freed_once);
    TEST(so_many_contexts_have_pools);
    TEST(so_many_contexts_are_asked);
    return REPORT();
}
