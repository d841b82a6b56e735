/* The way of each call: untiled, fewer tiles or as planned, by the room below the program's peak.
 */
#include "flow/ways.h"

#include "flow/memory.h"
#include "flow_fixture.h"

#define MIB ((int64_t)1 << 20)

/* The program's memory: `used` bytes now, after it had `high`, and one free block. The output of
 * the call begins at `output`. */
static char *const scratch = (char *)((uintptr_t)9 << 40);
static const void *expected; /* the memory of an untiled call */
static uint64_t base;        /* of the addresses of blocks */

/* The behaviour of the allocator, and the requests that it got. */
static struct {
    enum cs_refusal refusal;
    int64_t taken; /* bytes; 0: nothing was taken */
    bool may_grow;
    int held, takes;
    int64_t card;
    char *memory; /* that it hands out */
} allocator;

static enum cs_refusal fake_take(const struct cs_level_room *room, void *stream, int64_t bytes,
                                 bool may_grow, void **memory_p)
{
    (void)stream;
    CHECK_INT(room->device, 0);
    if (allocator.refusal != CS_REFUSAL_NONE)
        return allocator.refusal;
    allocator.taken = bytes;
    allocator.may_grow = may_grow;
    allocator.held++;
    allocator.takes++;
    *memory_p = allocator.memory;
    return CS_REFUSAL_NONE;
}

static void fake_give(const struct cs_level_room *room, void *stream, void *memory)
{
    (void)room;
    (void)stream;
    CHECK(memory == allocator.memory);
    allocator.held--;
}

static int64_t fake_card(const struct cs_level_room *room)
{
    (void)room;
    return allocator.card;
}

static enum cs_refusal fake_ask(const struct cs_level_call *what, struct cs_level_room *room_p)
{
    return cs_level_ask(&cs_levels, what, room_p);
}

static bool fake_stream(const struct cs_level_room *room, const void *stream)
{
    return cs_level_stream(&cs_levels, room->device, stream);
}

static bool fake_extend(const struct cs_level_room *room, const struct cs_level_call *what,
                        struct cs_level_extension *extension_p)
{
    return cs_level_extend(&cs_levels, room->device, what, extension_p);
}

static const struct cs_memory memory = {.ask = fake_ask,
                                        .stream = fake_stream,
                                        .card = fake_card,
                                        .extend = fake_extend,
                                        .take = fake_take,
                                        .give = fake_give};
static const struct cs_host host = {.memory = {&memory}};

static uint64_t capture_id;

static int fake_capture(void *ctx, void *stream, struct cs_capture *capture)
{
    (void)ctx;
    (void)stream;
    *capture = (struct cs_capture){capture_id, NULL};
    return 0;
}

static const struct cs_device device = {.capture = fake_capture};

/* The call's launches. */
static struct {
    int tiles, untiled, built, fallbacks;
    bool refuses;
    const struct cs_rewrite *use;
} ran;

static int gpu_bind(void *ctx, int shape, const struct cs_addresses *addresses, void **launch_p)
{
    (void)shape;
    (void)addresses;
    *launch_p = ctx;
    return 0;
}

static int gpu_launch(void *ctx, int shape, void *launch)
{
    (void)ctx;
    (void)shape;
    (void)launch;
    ran.tiles++;
    return 0;
}

static void gpu_release(void *ctx, void *launch)
{
    (void)ctx;
    (void)launch;
}

static int gpu_fallback(void *ctx)
{
    (void)ctx;
    ran.fallbacks++;
    return 0;
}

static const struct cs_gpu gpu = {
    .bind = gpu_bind, .launch = gpu_launch, .release = gpu_release, .fallback = gpu_fallback};

static struct cs_request request;

static bool run_untiled(void *ctx, const struct cs_call *what, void *at, int64_t bytes,
                        int *status_p)
{
    (void)ctx;
    (void)what;
    CHECK(at == expected);
    CHECK(expected != scratch || bytes == allocator.taken);
    CHECK_INT(bytes, request.required);
    *status_p = 0;
    ran.untiled += !ran.refuses;
    return !ran.refuses;
}

static void use_tiles(void *ctx, const struct cs_rewrite *tiles)
{
    (void)ctx;
    ran.use = tiles;
}

static struct cs_rewrite *build_tiles(void *ctx, struct cs *cs, int64_t limit)
{
    (void)ctx;
    struct cs_request fewer = request;
    fewer.limit = limit;
    ran.built++;
    return cs_flow_fewer_tiles(cs, &fewer, &vendor);
}

static struct cs_way_maker maker;
static struct cs *cs;
static struct cs_verdict verdict;
static struct cs_call call;

static void note(uint64_t at, int64_t bytes, int64_t allocated, int64_t reserved)
{
    cs_level_note(&cs_levels, 0, (void *)(uintptr_t)at, bytes, allocated, reserved);
}

/* A program that had 100 MiB, of which it has `used` now, with a tiled call about to run. */
static void begin(int64_t rows, int64_t used)
{
    memset(&cs_levels, 0, sizeof cs_levels);
    memset(&allocator, 0, sizeof allocator);
    memset(&ran, 0, sizeof ran);
    expected = allocator.memory = scratch;
    capture_id = 0;
    cs = new_instance(default_policy());
    cs->host = &host;
    cs->exec.device = &device;
    request = ordinary();
    request.problem.tensor[CS_X].dims[CS_H] = request.problem.tensor[CS_Y].dims[CS_H] = rows;
    struct rng unused = {0};
    for (int i = 0; i < CS_OPERANDS; i++)
        random_strides(&unused, CHANNELS_FIRST, 2, &request.problem.tensor[i]);
    settle_operands(&request.problem);
    request.required = workspace_of(&request.problem);
    verdict = cs_flow_prepare(cs, &request, &vendor);
    CHECK(verdict.rewrite != NULL);
    CHECK_INT(verdict.most, LIMIT); /* the option's */
    verdict.most = INT64_MAX;
    maker = (struct cs_way_maker){
        .run_untiled = run_untiled, .use = use_tiles, .build = build_tiles, .patience = 1};
    base = (uint64_t)20 << 40;
    call = (struct cs_call){.provided = verdict.reported};
    call.base.tensor[CS_X] = (void *)(uintptr_t)(base + ((uint64_t)1 << 40));
    call.base.tensor[CS_FILTER] = (void *)(uintptr_t)(base + ((uint64_t)2 << 40));
    call.base.tensor[CS_Y] = (void *)(uintptr_t)base;
    call.base.workspace = (void *)(uintptr_t)(base + ((uint64_t)3 << 40));
    note(base, 2 * MIB, 2 * MIB, 20 * MIB); /* the output */
    note(base + ((uint64_t)4 << 40), 98 * MIB, 100 * MIB, 118 * MIB);
    note(base + ((uint64_t)4 << 40), -98 * MIB, 2 * MIB, 118 * MIB);
    if (used > 2 * MIB)
        note(base + ((uint64_t)4 << 40), used - 2 * MIB, used, 118 * MIB);
}

static void end(void)
{
    CHECK_INT(allocator.held, 0);
    CHECK_INT(ran.fallbacks, 0);
    cs_rewrite_discard(verdict.rewrite);
    CHECK_INT(kernels, 0);
    free(cs);
}

static void run(void)
{
    ran.tiles = ran.untiled = 0;
    CHECK_INT(cs_flow_run_best(cs, &verdict, &gpu, &call, &maker), 0);
}

/* Runs a call, and checks that it ran as planned, for this reason. */
static void check_planned(enum cs_refusal why)
{
    struct cs_level_facts before = {.events = 0}, after = {.events = 0};
    bool known = cs_level_facts(&cs_levels, 0, &before);
    int64_t elsewhere = cs_levels.refused[why];
    run();
    CHECK_INT(ran.untiled, 0);
    CHECK_INT(ran.tiles, verdict.rewrite->plan.tiles);
    (void)cs_level_facts(&cs_levels, 0, &after);
    int64_t counted = after.refused[why] - before.refused[why] + cs_levels.refused[why] - elsewhere;
    CHECK_INT(counted, 1);
    CHECK(known);
}

static void a_call_below_the_peak_runs_untiled(void)
{
    struct cs_level_facts facts;
    begin(64, 50 * MIB);
    run();
    CHECK_INT(ran.untiled, 1);
    CHECK_INT(ran.tiles, 0);
    CHECK_INT(allocator.taken, request.required);
    CHECK(!allocator.may_grow);
    CHECK_INT(cs->account.passed[CS_REASON_ROOM], 1);
    CHECK_INT(cs->account.tiled_calls, 0);
    CHECK(cs_level_facts(&cs_levels, 0, &facts));
    CHECK_INT(facts.calls[CS_WAY_UNTILED], 1);
    CHECK_INT(facts.launches[CS_WAY_UNTILED], 1);
    end();
}

static void a_call_at_the_peak_runs_as_planned(void)
{
    begin(64, 100 * MIB);
    check_planned(CS_REFUSAL_PEAK);
    CHECK_INT(ran.built, 0);
    CHECK_INT(cs->account.tiled_calls, 1);
    end();
}

static void a_call_without_a_free_block_runs_as_planned(void)
{
    begin(4096, 2 * MIB);                                            /* requires 66 MiB */
    note(base + ((uint64_t)5 << 40), 60 * MIB, 62 * MIB, 118 * MIB); /* where is not known */
    note(base + ((uint64_t)4 << 40), 80 * MIB, 62 * MIB, 118 * MIB);
    maker.build = NULL;
    check_planned(CS_REFUSAL_PEAK);
    note(base + ((uint64_t)5 << 40) + (uint64_t)(60 * MIB), 2 * MIB, 20 * MIB, 118 * MIB);
    check_planned(CS_REFUSAL_BLOCK);
    end();
}

/* 66 MiB are required, 40 are free below the peak. */
static void a_call_near_the_peak_runs_with_fewer_tiles(void)
{
    begin(4096, 60 * MIB);
    check_planned(CS_REFUSAL_PEAK); /* nothing is built for a first call */
    CHECK_INT(ran.built, 0);
    run();
    CHECK_INT(ran.built, 1);
    CHECK_INT(ran.untiled, 0);
    CHECK(ran.tiles > 1 && ran.tiles < verdict.rewrite->plan.tiles);
    CHECK(allocator.taken <= 40 * MIB && allocator.taken > 20 * MIB);
    CHECK(ran.use == verdict.rewrite); /* again as planned */
    CHECK_INT(cs->account.tiled_calls, 2);
    int tiles = ran.tiles;
    run();
    CHECK_INT(ran.tiles, tiles);
    CHECK_INT(ran.built, 1); /* the steady state builds nothing */
    CHECK_INT(cs->account.sites, 1);
    end();
}

/* 66 MiB are required. The call's workspace of 8 MiB begins a free block of 98 MiB, of which the
 * program has had 68 more at most. */
static void a_call_extends_its_workspace(void)
{
    char *workspace = (char *)((uintptr_t)24 << 40);
    begin(4096, 2 * MIB);
    maker.build = NULL;
    verdict.reported = call.provided = 8 * MIB;
    call.base.workspace = workspace;
    note(base + ((uint64_t)4 << 40), 8 * MIB, 10 * MIB, 118 * MIB);
    note(base + ((uint64_t)5 << 40), 30 * MIB, 40 * MIB, 118 * MIB); /* where is not known */
    allocator.memory = workspace + 8 * MIB;
    expected = workspace;
    run();
    CHECK_INT(ran.untiled, 1);
    CHECK_INT(allocator.taken, request.required - 8 * MIB);
    CHECK(!allocator.may_grow);
    allocator.memory = scratch; /* another block than expected */
    check_planned(CS_REFUSAL_BLOCK);
    CHECK_INT(allocator.held, 0);
    note(base + ((uint64_t)5 << 40) + (uint64_t)(30 * MIB), 4 * MIB, 44 * MIB, 118 * MIB);
    check_planned(CS_REFUSAL_PEAK);
    end();
}

static void a_few_bytes_less_give_the_next_fewer_tiles(void)
{
    begin(4096, 60 * MIB);
    run();
    run();
    int tiles = ran.tiles;
    note(base + ((uint64_t)4 << 40) + (uint64_t)(58 * MIB), 12 * MIB, 72 * MIB,
         118 * MIB); /* 28 MiB are left */
    run();
    CHECK_INT(ran.built, 2);
    CHECK(ran.tiles > tiles && ran.tiles < verdict.rewrite->plan.tiles);
    for (int mib = 1; mib <= 20; mib++) {
        note(base + ((uint64_t)4 << 40) + (uint64_t)((70 + mib) * MIB), MIB + 512, (72 + mib) * MIB,
             118 * MIB);
        run();
    }
    CHECK_INT(ran.built, CS_REWRITE_BETWEEN); /* not more */
    end();
}

static void a_written_memory_size_is_the_mark(void)
{
    begin(64, 100 * MIB);
    cs->config.memory = 101 * MIB; /* no free block, and the allocator may not grow */
    note(base + ((uint64_t)6 << 40), 16 * MIB, 116 * MIB, 118 * MIB);
    check_planned(CS_REFUSAL_PEAK);
    cs->config.memory = 200 * MIB;
    run();
    CHECK_INT(ran.untiled, 1);
    cs->config.memory = CS_CONFIG_CARD;
    check_planned(CS_REFUSAL_PEAK); /* unknown */
    allocator.card = 200 * MIB;
    run();
    CHECK_INT(ran.untiled, 1);
    end();
}

static void an_allocator_may_grow_up_to_the_memory_size(void)
{
    begin(4096, 100 * MIB); /* requires 66 MiB of 118 reserved */
    maker.build = NULL;
    cs->config.memory = 190 * MIB;
    check_planned(CS_REFUSAL_BLOCK);
    CHECK_INT(allocator.takes, 0);
    cs->config.memory = 210 * MIB;
    run();
    CHECK_INT(ran.untiled, 1);
    CHECK(allocator.may_grow);
    end();
}

static void doubts_mean_as_planned(void)
{
    begin(64, 50 * MIB);
    call.base.tensor[CS_Y] = (void *)(uintptr_t)(base + ((uint64_t)7 << 40));
    check_planned(CS_REFUSAL_UNKNOWN);
    call.base.tensor[CS_Y] = (void *)(uintptr_t)base;
    capture_id = 5;
    check_planned(CS_REFUSAL_CAPTURE);
    call.stream = &cs_levels; /* a stream that is only captured does not count */
    check_planned(CS_REFUSAL_CAPTURE);
    call.stream = NULL;
    capture_id = 0;
    run();
    CHECK_INT(ran.untiled, 1);
    capture_id = 5;
    check_planned(CS_REFUSAL_CAPTURE);
    capture_id = 0;
    allocator.refusal = CS_REFUSAL_BUSY;
    check_planned(CS_REFUSAL_BUSY);
    allocator.refusal = CS_REFUSAL_NONE;
    ran.refuses = true;
    check_planned(CS_REFUSAL_FAILED);
    ran.refuses = false;
    call.stream = &cs_levels;
    check_planned(CS_REFUSAL_STREAMS);
    call.stream = NULL;
    check_planned(CS_REFUSAL_STREAMS);
    end();
}

static void options_bound_the_scratch(void)
{
    begin(64, 50 * MIB);
    verdict.most = LIMIT;
    check_planned(CS_REFUSAL_LIMIT);
    verdict.most = 0;
    run();
    CHECK_INT(ran.untiled, 0);
    CHECK_INT(allocator.takes, 0);
    end();
}

static void a_layer_with_varying_bits_settles_at_its_second_call(void)
{
    begin(64, 100 * MIB);
    verdict.rewrite->keeps_bits = false;
    check_planned(CS_REFUSAL_PEAK); /* its first call */
    note(base + ((uint64_t)4 << 40), -98 * MIB, 2 * MIB, 118 * MIB);
    run();
    CHECK_INT(ran.untiled, 1); /* settles */
    run();
    CHECK_INT(ran.untiled, 1);
    call.base.tensor[CS_FILTER] =
        (void *)(uintptr_t)(base + ((uint64_t)8 << 40)); /* another layer */
    note(base + ((uint64_t)4 << 40), 98 * MIB, 100 * MIB, 118 * MIB);
    check_planned(CS_REFUSAL_PEAK);
    check_planned(CS_REFUSAL_PEAK); /* settles */
    note(base + ((uint64_t)4 << 40), -98 * MIB, 2 * MIB, 118 * MIB);
    check_planned(CS_REFUSAL_SETTLED);
    call.base.tensor[CS_FILTER] = (void *)(uintptr_t)(base + ((uint64_t)2 << 40));
    run();
    CHECK_INT(ran.untiled, 1);
    end();
}

static void repeatable_settles_at_the_first_call(void)
{
    begin(64, 100 * MIB);
    cs->config.repeatable = 1;
    verdict.rewrite->keeps_bits = false;
    check_planned(CS_REFUSAL_PEAK);
    note(base + ((uint64_t)4 << 40), -98 * MIB, 2 * MIB, 118 * MIB);
    check_planned(CS_REFUSAL_SETTLED);
    end();
}

static void more_layers_than_are_known_run_as_planned(void)
{
    begin(64, 50 * MIB);
    verdict.rewrite->keeps_bits = false;
    for (int i = 1; i <= CS_REWRITE_LAYERS + 1; i++) {
        call.base.tensor[CS_FILTER] = (void *)(uintptr_t)(base + ((uint64_t)(10 + i) << 40));
        run();
        CHECK_INT(ran.untiled, i <= CS_REWRITE_LAYERS);
    }
    end();
}

int main(void)
{
    TEST(a_call_below_the_peak_runs_untiled);
    TEST(a_call_at_the_peak_runs_as_planned);
    TEST(a_call_without_a_free_block_runs_as_planned);
    TEST(a_call_near_the_peak_runs_with_fewer_tiles);
    TEST(a_call_extends_its_workspace);
    TEST(a_few_bytes_less_give_the_next_fewer_tiles);
    TEST(a_written_memory_size_is_the_mark);
    TEST(an_allocator_may_grow_up_to_the_memory_size);
    TEST(doubts_mean_as_planned);
    TEST(options_bound_the_scratch);
    TEST(a_layer_with_varying_bits_settles_at_its_second_call);
    TEST(repeatable_settles_at_the_first_call);
    TEST(more_layers_than_are_known_run_as_planned);
    return REPORT();
}
