/* The executor on several lanes and in its own scratch, on a fake device that records which
 * accesses are ordered. For each failure: no race, no memory kept, and no partial result reported
 * as success. */
#include "exec/exec.h"
#include "fake_device.h"
#include "sample_problem.h"

enum {
    TILES = 6,
    WORKSPACE = 1000,
    LIMIT = 64 << 20,
    ELSEWHERE = 0x40000000
};

/* A call's launches, as accesses on the stream that was chosen last. */
static struct gpu {
    const struct cs_plan *plan;
    void *client, *chosen;
    int bound, started, launched, released, fallbacks; /* started: some may have failed */
    bool fails; /* its calls count among those that may fail */
    struct cs_addresses at[TILES];
    intptr_t shift; /* of the operands */
} gpu_state;

static int gpu_bind(void *ctx, int shape, const struct cs_addresses *addresses, void **launch_p)
{
    struct gpu *g = ctx;
    (void)shape;
    if (g->fails && device_fails())
        return DEVICE_FAILED;
    g->at[g->bound] = *addresses;
    *launch_p = &g->at[g->bound++];
    return 0;
}

/* A tile reads x and the filter, uses its workspace, writes its rows of y. */
static int gpu_launch(void *ctx, int shape, void *launch)
{
    struct gpu *g = ctx;
    const struct cs_addresses *at = launch;
    struct cs_problem problem;
    int64_t bytes;
    g->started++;
    if (g->fails && device_fails())
        return DEVICE_FAILED;
    cs_plan_problem(g->plan, shape, &problem);
    CHECK_INT(cs_problem_tensor_span(&problem.tensor[CS_X], &bytes), CS_OK);
    device_touch(g->chosen, at->tensor[CS_X], bytes, false);
    CHECK_INT(cs_problem_tensor_span(&problem.tensor[CS_Y], &bytes), CS_OK);
    device_touch(g->chosen, at->tensor[CS_Y], bytes, true);
    device_touch(g->chosen, at->workspace, g->plan->shape[shape].workspace, true);
    g->launched++;
    return 0;
}

static void gpu_release(void *ctx, void *launch)
{
    struct gpu *g = ctx;
    (void)launch;
    g->released++;
}

/* Writes all of y on the application's stream. */
static int gpu_fallback(void *ctx)
{
    struct gpu *g = ctx;
    int64_t bytes;
    CHECK(g->chosen == g->client);
    CHECK_INT(cs_problem_tensor_span(&g->plan->problem.tensor[CS_Y], &bytes), CS_OK);
    if (g->fails && device_fails())
        return DEVICE_FAILED;
    device_touch(g->client, (void *)(0x200000 + g->shift), bytes, true);
    g->fallbacks++;
    return 0;
}

static int gpu_choose(void *ctx, void *stream)
{
    struct gpu *g = ctx;
    if (g->fails && device_fails())
        return DEVICE_FAILED;
    g->chosen = stream;
    return 0;
}

static int64_t bytes_of(const struct cs_copy *copy)
{
    return copy->width * copy->height * copy->depth * copy->times;
}

/* The view is another tile's neighbour in its gaps: only the packed side is compared. */
static int gpu_copy(void *ctx, const struct cs_copy *copy, void *view, void *packed, bool in)
{
    struct gpu *g = ctx;
    (void)view;
    device_touch(g->chosen, packed, bytes_of(copy), in);
    return 0;
}

static const struct cs_gpu gpu = {&gpu_state,   gpu_bind,   gpu_launch, gpu_release,
                                  gpu_fallback, gpu_choose, gpu_copy,   false};

/* One image of six tiles in height, one channel, so that the tiles' rows do not interleave. */
static struct cs_plan plan_on(int lanes, double beta)
{
    struct cs_problem problem = {
        .compute = CS_F32,
        .spatial = 2,
        .groups = 1,
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .alpha = 1,
        .beta = beta,
        .tensors = CS_OPERANDS,
        .tensor = {{.dims = {1, 1, 1, 24, 4}, .strides = {96, 96, 0, 4, 1}, .alignment = 16},
                   {.dims = {1, 1, 1, 1, 1}, .strides = {1, 1, 0, 1, 1}, .alignment = 16},
                   {.dims = {1, 1, 1, 24, 4}, .strides = {96, 96, 0, 4, 1}, .alignment = 16}}};
    const struct cs_tiling tiling = {.axis = {CS_AXIS_H}, .step = {4, 1}, .lanes = lanes};
    struct cs_plan plan;
    settle_operands(&problem);
    CHECK_INT(cs_problem_check(&problem), CS_OK);
    CHECK_INT(cs_plan_cut(&problem, &tiling, &plan), CS_OK);
    CHECK_INT(plan.tiles, TILES);
    CHECK_INT(plan.lanes, lanes);
    for (int64_t i = 0; i < plan.shapes; i++)
        plan.shape[i].workspace = WORKSPACE;
    cs_plan_settle(&plan);
    CHECK_INT(cs_plan_validate(&plan, plan.workspace), CS_OK);
    return plan;
}

static struct cs_exec *new_exec(enum cs_backing backing, int64_t limit)
{
    static struct cs_exec exec;
    static bool used;
    if (used) {
        cs_exec_process_fork(&exec, true, false);
        cs_exec_process_fork(&exec, false, true);
    }
    used = true;
    device_reset();
    cs_exec_init(&exec, &fake_device_functions, backing, limit);
    return &exec;
}

static struct cs_call call_with(const struct cs_plan *plan, void *stream, bool brings)
{
    return (struct cs_call){
        .base = {.tensor = {(void *)0x100000, (void *)0x300000, (void *)0x200000},
                 .workspace = brings ? (void *)0x400000 : NULL},
        .provided = brings ? plan->workspace : 0,
        .stream = stream};
}

static struct cs_outcome run_call(struct cs_exec *exec, const struct cs_plan *plan,
                                  const struct cs_call *call, bool fails)
{
    intptr_t shift = (intptr_t)call->base.tensor[CS_X] - 0x100000;
    gpu_state = (struct gpu){.plan = plan,
                             .client = call->stream,
                             .chosen = call->stream,
                             .fails = fails,
                             .shift = shift};
    struct cs_outcome outcome = cs_exec_run(exec, plan, &gpu, call);
    CHECK_INT(gpu_state.released, gpu_state.bound);
    return outcome;
}

static struct cs_outcome run(struct cs_exec *exec, const struct cs_plan *plan, void *stream,
                             bool brings, bool fails)
{
    const struct cs_call call = call_with(plan, stream, brings);
    return run_call(exec, plan, &call, fails);
}

/* On other operands than all before. */
static struct cs_outcome run_elsewhere(struct cs_exec *exec, const struct cs_plan *plan,
                                       void *stream, bool brings)
{
    struct cs_call call = call_with(plan, stream, brings);
    for (int t = 0; t < CS_OPERANDS; t++)
        call.base.tensor[t] = (char *)call.base.tensor[t] + ELSEWHERE;
    if (brings)
        call.base.workspace = (char *)call.base.workspace + ELSEWHERE;
    return run_call(exec, plan, &call, false);
}

/* The application's work before and after a call on its stream: it writes x and the scratch, and
 * reads y and writes the scratch again. */
static void client_before(void *stream)
{
    device_touch(stream, (void *)0x100000, 4096, true);
    device_touch(stream, (void *)0x400000, 1 << 16, true);
}

static void client_after(void *stream)
{
    device_touch(stream, (void *)0x200000, 4096, false);
    device_touch(stream, (void *)0x100000, 4096, true);
    device_touch(stream, (void *)0x400000, 1 << 16, true);
}

static void check_sound(void)
{
    CHECK_INT(fake_device.races, 0);
    CHECK_INT(fake_device.misuses, 0);
}

static void lanes_are_forked_and_joined(void)
{
    for (int lanes = 1; lanes <= TILES; lanes++)
        for (int own = 0; own <= 1; own++) {
            struct cs_exec *exec = new_exec(own ? CS_BACKING_OWN : CS_BACKING_CLIENT, LIMIT);
            struct cs_plan plan = plan_on(lanes, 1);
            void *stream = device_new_stream();
            for (int i = 0; i < 5; i++) {
                client_before(stream);
                struct cs_outcome got = run(exec, &plan, stream, true, false);
                CHECK_INT(got.ran, CS_RAN_TILES);
                CHECK_INT(got.lanes, lanes);
                CHECK_INT(got.launches, TILES);
                CHECK(gpu_state.chosen == stream);
                client_after(stream);
            }
            CHECK_INT(fake_device.streams, lanes);
            CHECK_INT(fake_device.waits, 5 * 2 * (lanes - 1));
            CHECK_INT(fake_device.allocations, own);
            check_sound();
        }
}

/* Every wait is needed: without any of them two works race. */
static void every_wait_is_needed(void)
{
    for (int n = 1;; n++) {
        struct cs_exec *exec = new_exec(CS_BACKING_CLIENT, LIMIT);
        struct cs_plan plan = plan_on(3, 0);
        void *stream = device_new_stream();
        fake_device.skip_wait = n;
        for (int i = 0; i < 4; i++) {
            client_before(stream);
            CHECK_INT(run(exec, &plan, stream, true, false).ran, CS_RAN_TILES);
            client_after(stream);
        }
        CHECK_INT(fake_device.waits, 16);
        if (n > fake_device.waits)
            break;
        CHECK(fake_device.races > 0);
    }
}

/* Streams that the program does not order, in one block of scratch. */
static void hand_over_is_needed(void)
{
    int handed_over = 0;
    for (int n = 0;; n++) {
        struct cs_exec *exec = new_exec(CS_BACKING_OWN, 1 << 10);
        struct cs_plan plan = plan_on(1, 0);
        void *stream[2] = {device_new_stream(), device_new_stream()};
        cs_arena_reserve(&exec->arena, &fake_device_functions, plan.workspace);
        fake_device.skip_wait = n;
        for (int i = 0; i < 6; i++) {
            struct cs_outcome got = i % 2 ? run_elsewhere(exec, &plan, stream[1], false)
                                          : run(exec, &plan, stream[0], false, false);
            CHECK_INT(got.ran, CS_RAN_TILES);
        }
        if (n == 0) {
            handed_over = fake_device.waits;
            check_sound();
            CHECK_INT(handed_over, 5);
            continue;
        }
        if (n > handed_over)
            break;
        CHECK(fake_device.races > 0);
    }
}

/* The n-th call of everything fails; false if there are fewer. */
static bool check_failure(int n, bool own, bool capturing, bool elsewhere, double beta)
{
    struct cs_plan plan = plan_on(3, beta);
    struct cs_exec *exec = new_exec(own ? CS_BACKING_OWN : CS_BACKING_CLIENT, plan.workspace);
    void *stream = device_new_stream(), *other = device_new_stream();
    if (capturing)
        (void)device_begin_capture(stream);
    fake_device.fail_at = n;
    client_before(stream);
    struct cs_outcome got = run(exec, &plan, stream, !own, true);
    bool failed = fake_device.calls >= n;
    if (got.ran == CS_RAN_TILES)
        CHECK(got.vendor == 0 && gpu_state.launched == TILES);
    if (got.ran == CS_RAN_FALLBACK) {
        CHECK(got.vendor == 0 && gpu_state.fallbacks == 1);
        CHECK(gpu_state.launched == 0 || beta == 0);
    }
    if (got.ran == CS_RAN_NOTHING) {
        CHECK_INT(got.vendor, DEVICE_FAILED);
        CHECK(gpu_state.started > 0); /* otherwise the fallback plan can run, for any beta */
    }
    /* The stream continues after the tiles or the fallback plan. If both failed, the operands are
     * lost, but scratch in which work may still run is not reused. */
    fake_device.fail_at = 0;
    if (got.ran != CS_RAN_NOTHING)
        client_after(stream);
    CHECK_INT(run_elsewhere(exec, &plan, elsewhere ? other : stream, !own).vendor, 0);
    check_sound();
    CHECK_INT(cs_arena_facts(&exec->arena).used, 0);
    return failed;
}

static void no_failure_is_reported_as_success(void)
{
    for (int variant = 0; variant < 16; variant++)
        for (int n = 1;
             check_failure(n, variant & 1, variant & 2, variant & 4, variant & 8 ? 1 : 0);)
            n++;
}

static void short_scratch_gives_fewer_lanes(void)
{
    struct cs_plan plan = plan_on(4, 0);
    struct cs_exec *exec = new_exec(CS_BACKING_CLIENT, LIMIT);
    void *stream = device_new_stream();
    for (int lanes = 4; lanes >= 0; lanes--) {
        struct cs_call call = call_with(&plan, stream, true);
        call.provided = lanes > 0 ? cs_plan_scratch(&plan, lanes, NULL) : WORKSPACE - 1;
        gpu_state = (struct gpu){.plan = &plan, .client = stream, .chosen = stream};
        struct cs_outcome got = cs_exec_run(exec, &plan, &gpu, &call);
        CHECK_INT(got.ran, lanes > 0 ? CS_RAN_TILES : CS_RAN_FALLBACK);
        CHECK_INT(got.lanes, lanes > 0 ? lanes : 1);
    }
    /* With the library's scratch: first as many lanes as fit, then after another stream, then no
     * tiles. */
    exec = new_exec(CS_BACKING_OWN, cs_plan_scratch(&plan, 3, NULL) + 512);
    stream = device_new_stream();
    void *other = device_new_stream();
    CHECK_INT(run(exec, &plan, stream, false, false).lanes, 3);
    int waits = fake_device.waits;
    CHECK_INT(run(exec, &plan, other, false, false).lanes, 1);
    CHECK_INT(fake_device.waits, waits + 1);
    for (int i = 0; i < 4; i++) /* concurrent from then on, except for waits between lanes */
        CHECK_INT(run(exec, &plan, i % 2 ? other : stream, false, false).lanes, i % 2 ? 1 : 2);
    CHECK_INT(fake_device.waits, waits + 1 + 2 * 2);
    struct cs_lease held;
    const struct cs_capture none = {0, NULL};
    CHECK(cs_arena_take(&exec->arena, &fake_device_functions, stream, &none, 2048, true, &held));
    CHECK_INT(run(exec, &plan, stream, false, false).lanes, 1);
    cs_arena_give(&exec->arena, &fake_device_functions, stream, false, &held);
    exec = new_exec(CS_BACKING_OWN, WORKSPACE - 1);
    stream = device_new_stream();
    CHECK_INT(run(exec, &plan, stream, false, false).ran, CS_RAN_FALLBACK);
    check_sound();
}

static void scratch_comes_from_the_allowed_backing(void)
{
    struct cs_plan plan = plan_on(2, 0);
    for (int backing = CS_BACKING_AUTO; backing <= CS_BACKING_OWN; backing++)
        for (int brings = 0; brings <= 1; brings++) {
            struct cs_exec *exec = new_exec((enum cs_backing)backing, LIMIT);
            void *stream = device_new_stream();
            struct cs_outcome got = run(exec, &plan, stream, brings, false);
            bool ours = backing == CS_BACKING_OWN || (backing == CS_BACKING_AUTO && !brings);
            bool served = ours || brings;
            CHECK_INT(got.ran, served ? CS_RAN_TILES : CS_RAN_FALLBACK);
            CHECK_INT(fake_device.allocations, ours);
            check_sound();
        }
    /* A call that provides too little gets none of the library's scratch, because its caller
     * manages its own. */
    for (int backing = CS_BACKING_AUTO; backing <= CS_BACKING_CLIENT; backing++) {
        struct cs_exec *exec = new_exec((enum cs_backing)backing, LIMIT);
        struct cs_call call = call_with(&plan, device_new_stream(), true);
        call.provided = WORKSPACE - 1;
        CHECK_INT(run_call(exec, &plan, &call, false).ran, CS_RAN_FALLBACK);
        CHECK_INT(fake_device.allocations, 0);
    }
}

/* One lane: cuDNN's handle does not change its stream in a capture. The scratch is the capture's
 * until its graph is gone. */
static void a_capture_has_one_lane(void)
{
    struct cs_exec *exec = new_exec(CS_BACKING_OWN, LIMIT);
    struct cs_plan plan = plan_on(3, 0);
    void *stream = device_new_stream(), *eager = device_new_stream();
    uint64_t capture = device_begin_capture(stream);
    for (int i = 0; i < 3; i++)
        CHECK_INT(run(exec, &plan, stream, false, false).lanes, 1);
    CHECK_INT(fake_device.streams, 2);
    CHECK_INT(run(exec, &plan, eager, false, false).lanes, 3);
    device_synchronize();
    device_end_capture(capture);
    for (int i = 0; i < 3; i++)
        CHECK_INT(run(exec, &plan, i % 2 ? stream : eager, false, false).lanes, 3);
    CHECK(cs_arena_facts(&exec->arena).captured > 0);
    device_drop_graph(capture);
    CHECK_INT(cs_arena_facts(&exec->arena).captured, 0);
    CHECK_INT(fake_device.misuses, 0);
}

/* Work that can no longer become part of a graph is not started. */
static void a_broken_capture(void)
{
    struct cs_exec *exec = new_exec(CS_BACKING_OWN, LIMIT);
    struct cs_plan plan = plan_on(3, 0);
    void *stream = device_new_stream();
    uint64_t capture = device_begin_capture(stream);
    CHECK_INT(run(exec, &plan, stream, false, false).ran, CS_RAN_TILES);
    device_break_capture(capture);
    CHECK_INT(run(exec, &plan, stream, false, false).ran, CS_RAN_FALLBACK);
    CHECK_INT(gpu_state.bound, 0);
    CHECK(!device_end_capture(capture));
    CHECK_INT(run_elsewhere(exec, &plan, stream, false).lanes, 3);
    CHECK_INT(cs_arena_facts(&exec->arena).captured, 0);
    check_sound();
}

static int gpu_launch_staged(void *ctx, int shape, void *launch)
{
    struct gpu *g = ctx;
    const struct cs_addresses *at = launch;
    device_touch(g->chosen, at->tensor[CS_FILTER], g->plan->staged, true);
    device_touch(g->chosen, at->workspace, g->plan->shape[shape].workspace, true);
    return 0;
}

/* Each lane has its own copy of the filter, also if only fewer lanes fit. */
static void copies_are_apart(void)
{
    const struct cs_tiling tiling = {.axis = {CS_AXIS_K, CS_AXIS_C}, .step = {16, 8}, .lanes = 3};
    struct cs_problem problem = deep();
    struct cs_plan plan;
    CHECK_INT(cs_problem_check(&problem), CS_OK);
    CHECK_INT(cs_plan_cut(&problem, &tiling, &plan), CS_OK);
    CHECK(plan.lanes == 3 && plan.tiles == TILES && plan.staged > 0);
    for (int64_t i = 0; i < plan.shapes; i++)
        plan.shape[i].workspace = WORKSPACE;
    cs_plan_settle(&plan);
    for (int lanes = 1; lanes <= 3; lanes++) {
        struct cs_exec *exec = new_exec(CS_BACKING_CLIENT, LIMIT);
        void *stream = device_new_stream();
        struct cs_call call = call_with(&plan, stream, true);
        call.provided = cs_plan_scratch(&plan, lanes, NULL);
        gpu_state = (struct gpu){.plan = &plan, .client = stream, .chosen = stream};
        struct cs_gpu staging = gpu;
        staging.launch = gpu_launch_staged;
        CHECK_INT(cs_exec_run(exec, &plan, &staging, &call).lanes, lanes);
        check_sound();
        const char *begin = call.base.workspace, *end = begin + call.provided;
        for (int i = 0; i < TILES; i++) {
            const char *staged = gpu_state.at[i].tensor[CS_FILTER],
                       *workspace = gpu_state.at[i].workspace;
            CHECK(staged >= begin && staged + plan.staged <= end);
            CHECK(workspace >= begin && workspace + WORKSPACE <= end);
            for (int j = 0; j <= i; j++) {
                const char *other = gpu_state.at[j].tensor[CS_FILTER];
                CHECK_INT(staged == other, i % lanes == j % lanes);
                CHECK(other + plan.staged <= workspace || workspace + WORKSPACE <= other);
            }
        }
    }
}

/* Nodes of a graph have no streams. */
static void without_streams_one_lane_in_the_clients_scratch(void)
{
    struct cs_exec *exec = new_exec(CS_BACKING_OWN, LIMIT);
    struct cs_plan plan = plan_on(3, 0);
    struct cs_gpu nodes = gpu;
    void *stream = device_new_stream();
    const struct cs_call call = call_with(&plan, stream, true);
    nodes.choose = NULL;
    gpu_state = (struct gpu){.plan = &plan, .client = stream, .chosen = stream};
    CHECK_INT(cs_exec_run(exec, &plan, &nodes, &call).ran, CS_RAN_FALLBACK);
    exec->backing = CS_BACKING_AUTO;
    struct cs_outcome got = cs_exec_run(exec, &plan, &nodes, &call);
    CHECK_INT(got.ran, CS_RAN_TILES);
    CHECK_INT(got.lanes, 1);
    CHECK_INT(fake_device.waits + fake_device.allocations + fake_device.creations, 0);
}

/* Recorded launches can be taken back, for any beta. */
static void nodes_that_cannot_be_made_become_the_fallback_plan(void)
{
    int fallbacks = 0;
    struct cs_gpu nodes = gpu;
    nodes.choose = NULL;
    for (int records = 0; records <= 1; records++)
        for (int n = 1, failed = 1; failed; n++) {
            struct cs_exec *exec = new_exec(CS_BACKING_CLIENT, 0);
            struct cs_plan plan = plan_on(1, 1);
            void *stream = device_new_stream();
            const struct cs_call call = call_with(&plan, stream, true);
            nodes.only_records = records;
            fake_device.fail_at = n;
            gpu_state =
                (struct gpu){.plan = &plan, .client = stream, .chosen = stream, .fails = true};
            struct cs_outcome got = cs_exec_run(exec, &plan, &nodes, &call);
            failed = fake_device.calls >= n;
            if (!failed)
                CHECK_INT(got.ran, CS_RAN_TILES);
            else if (gpu_state.bound < TILES || records)
                CHECK_INT(got.ran, CS_RAN_FALLBACK);
            else
                CHECK_INT(got.ran, CS_RAN_NOTHING);
            fallbacks += got.ran == CS_RAN_FALLBACK;
        }
    CHECK_INT(fallbacks, TILES + 2 * TILES);
}

/* Lent memory must be reusable: otherwise it would be lost for the rest of the process. */
static void lent_memory_is_returned(void)
{
    struct cs_exec *exec = new_exec(CS_BACKING_AUTO, LIMIT);
    void *stream = device_new_stream(), *memory = NULL;
    struct cs_lease lease;
    for (int call = 0; call < 3; call++) {
        CHECK(cs_exec_lend(exec, stream, WORKSPACE, &lease));
        CHECK(call == 0 || lease.memory == memory);
        CHECK(cs_arena_facts(&exec->arena).used >= WORKSPACE);
        memory = lease.memory;
        device_touch(stream, memory, WORKSPACE, true);
        cs_exec_take_back(exec, stream, &lease);
        CHECK(!lease.block && !lease.memory);
        CHECK_INT(cs_arena_facts(&exec->arena).used, 0);
    }
    CHECK_INT(fake_device.allocations, 1);
    CHECK_INT(fake_device.races + fake_device.misuses, 0);
    exec->backing = CS_BACKING_CLIENT;
    CHECK(!cs_exec_lend(exec, stream, WORKSPACE, &lease));
    CHECK(!lease.block && !lease.memory);
}

int main(void)
{
    TEST(lanes_are_forked_and_joined);
    TEST(every_wait_is_needed);
    TEST(hand_over_is_needed);
    TEST(no_failure_is_reported_as_success);
    TEST(short_scratch_gives_fewer_lanes);
    TEST(scratch_comes_from_the_allowed_backing);
    TEST(a_capture_has_one_lane);
    TEST(a_broken_capture);
    TEST(copies_are_apart);
    TEST(without_streams_one_lane_in_the_clients_scratch);
    TEST(nodes_that_cannot_be_made_become_the_fallback_plan);
    TEST(lent_memory_is_returned);
    (void)new_exec(CS_BACKING_AUTO, 0);
    return REPORT();
}
