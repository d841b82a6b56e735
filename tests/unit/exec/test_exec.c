/* The executor on a device that records its calls and can fail at each of them. */
#include "check.h"
#include "exec/exec.h"
#include "random_problem.h"

enum {
    PROBLEMS = 400,
    MOST_TILES = 24, /* every call of a plan fails once: the work grows with the square of this */
    BIND_FAILED = 4001,
    LAUNCH_FAILED = 4002,
    FALLBACK_FAILED = 4003,
    COPY_FAILED = 4004
};

struct record {
    int shape;
    struct cs_addresses at;
    int launched, released;
    int in, out; /* tensors copied before and after the launch */
};

static struct device {
    int fail_at; /* this call of bind or launch fails; 0: none */
    bool fallback_fails;
    int calls, fallbacks, copies;
    int fail_copy_at; /* this call of copy fails; 0: none */
    int64_t tiles;    /* of the plan being run */
    int64_t bound, launches, releases;
    struct record record[MOST_TILES];
} device;

static bool fails(struct device *d)
{
    return ++d->calls == d->fail_at;
}

static int fake_bind(void *ctx, int shape, const struct cs_addresses *addresses, void **launch_p)
{
    struct device *d = ctx;
    CHECK_INT(d->launches, 0);
    if (fails(d))
        return BIND_FAILED;
    struct record *record = &d->record[d->bound++];
    *record = (struct record){.shape = shape, .at = *addresses};
    *launch_p = record;
    return 0;
}

static int fake_launch(void *ctx, int shape, void *launch)
{
    struct device *d = ctx;
    struct record *record = launch;
    CHECK_INT(d->bound, d->tiles);
    CHECK(record == &d->record[d->launches]);
    CHECK_INT(shape, record->shape);
    CHECK_INT(record->launched, 0);
    CHECK_INT(record->released, 0);
    CHECK_INT(d->fallbacks, 0);
    if (fails(d))
        return LAUNCH_FAILED;
    record->launched++;
    d->launches++;
    return 0;
}

static int fake_copy(void *ctx, const struct cs_copy *copy, void *view, void *packed, bool in)
{
    struct device *d = ctx;
    CHECK_INT(d->bound, d->tiles);
    CHECK(copy->width > 0 && view && packed && view != packed);
    if (++d->copies == d->fail_copy_at)
        return COPY_FAILED;
    struct record *record = &d->record[d->launches - !in];
    CHECK_INT(record->launched, !in);
    record->in += in;
    record->out += !in;
    return 0;
}

static void fake_release(void *ctx, void *launch)
{
    struct device *d = ctx;
    struct record *record = launch;
    d->releases++;
    CHECK_INT(++record->released, 1);
}

static int fake_fallback(void *ctx)
{
    struct device *d = ctx;
    d->fallbacks++;
    return d->fallback_fails ? FALLBACK_FAILED : 0;
}

static const struct cs_gpu gpu = {&device,       fake_bind, fake_launch, fake_release,
                                  fake_fallback, NULL,      fake_copy,   false};

/* Addresses are compared, never followed. */
static void *address(int64_t value)
{
    return (void *)(uintptr_t)value;
}

static int64_t span(const struct cs_tensor *tensor)
{
    int64_t bytes = 0;
    CHECK_INT(cs_problem_tensor_span(tensor, &bytes), CS_OK);
    return bytes;
}

static bool has_address(const struct cs_tensor *tensor)
{
    return !tensor->is_virtual && !tensor->by_value;
}

/* Tensors one after the other, each as close to its neighbour as its alignment permits. */
static struct cs_addresses side_by_side(const struct cs_problem *problem)
{
    struct cs_addresses base = {.workspace = address(0x70000000)};
    int64_t next = 0x10000000;
    for (int i = 0; i < problem->tensors; i++) {
        int64_t alignment = problem->tensor[i].alignment;
        if (problem->tensor[i].by_value)
            base.tensor[i] = address(0x5000 + i);
        if (!has_address(&problem->tensor[i]))
            continue;
        next = (next + alignment - 1) / alignment * alignment;
        base.tensor[i] = address(next);
        next += span(&problem->tensor[i]);
    }
    return base;
}

static struct cs_outcome run(const struct cs_plan *plan, const struct cs_addresses *base,
                             int fail_at, bool fallback_fails)
{
    memset(&device, 0, sizeof device);
    device.fail_at = fail_at;
    device.fallback_fails = fallback_fails;
    device.tiles = plan->tiles;
    static struct cs_exec exec;
    cs_exec_init(&exec, NULL, CS_BACKING_AUTO, 0);
    const struct cs_call call = {.base = *base, .provided = base->workspace ? plan->workspace : 0};
    return cs_exec_run(&exec, plan, &gpu, &call);
}

static void check_outcome(struct cs_outcome got, enum cs_ran ran, int vendor, int64_t launches)
{
    CHECK_INT(got.ran, ran);
    CHECK_INT(got.vendor, vendor);
    CHECK_INT(got.launches, launches);
}

static void check_nothing_held(void)
{
    CHECK_INT(device.releases, device.bound);
    for (int64_t i = 0; i < device.bound; i++)
        CHECK_INT(device.record[i].released, 1);
}

/* Checks the result if the n-th call fails. If n is beyond the last call, none fails. */
static void check_failure(const struct cs_plan *plan, const struct cs_addresses *base, int n,
                          bool fallback_fails)
{
    int64_t tiles = plan->tiles;
    bool rerun = plan->problem.beta == 0;
    struct cs_outcome got = run(plan, base, n, fallback_fails);
    check_nothing_held();
    if (n > 2 * tiles) {
        check_outcome(got, CS_RAN_TILES, 0, tiles);
        CHECK_INT(device.fallbacks, 0);
    } else if (n <= tiles) {
        check_outcome(got, fallback_fails ? CS_RAN_NOTHING : CS_RAN_FALLBACK,
                      fallback_fails ? FALLBACK_FAILED : 0, 0);
        CHECK_INT(device.launches, 0);
        CHECK_INT(device.bound, n - 1);
        CHECK_INT(device.fallbacks, 1);
    } else {
        bool repaired = rerun && !fallback_fails;
        check_outcome(got, repaired ? CS_RAN_FALLBACK : CS_RAN_NOTHING,
                      repaired ? 0 : LAUNCH_FAILED, n - tiles - 1);
        CHECK_INT(device.fallbacks, rerun);
    }
}

static void check_every_failure(struct cs_plan *plan)
{
    struct cs_addresses base = side_by_side(&plan->problem);
    for (int beta = 0; beta < 2; beta++) {
        plan->problem.beta = beta;
        for (int n = 1; n <= 2 * plan->tiles + 1; n++) {
            check_failure(plan, &base, n, false);
            check_failure(plan, &base, n, true);
        }
    }
}

/* Calls `check` with plans of every axis and with products; their kinds need different workspaces.
 */
static void for_plans(void (*check)(struct cs_plan *plan))
{
    static struct cs_plan plan;
    struct rng rng = {20};
    int plans[CS_AXES] = {0}, products = 0, fused = 0, staged = 0, slices = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        struct cs_problem problem = random_small(&rng);
        RANDOM_CASE(20, i, &problem);
        for (int axis = CS_AXIS_NONE; axis < CS_AXES; axis++) {
            enum cs_axis other = rng_between(&rng, 0, 2)
                                     ? CS_AXIS_NONE
                                     : (enum cs_axis)rng_between(&rng, CS_AXIS_N, CS_AXIS_C);
            struct cs_tiling tiling = {.axis = {(enum cs_axis)axis, other},
                                       .staged = rng_between(&rng, 0, 2) == 0};
            for (int c = 0; c < CS_MAX_CUTS; c++)
                tiling.step[c] = rng_between(&rng, 1, cs_axis_extent(&problem, tiling.axis[c]));
            if (cs_plan_cut(&problem, &tiling, &plan) != CS_OK || plan.tiles > MOST_TILES)
                continue;
            for (int64_t shape = 0; shape < plan.shapes; shape++)
                plan.shape[shape].workspace = rng_between(&rng, 0, 1 << 20);
            cs_plan_settle(&plan);
            plans[axis]++;
            products += plan.cuts > 1;
            fused += problem.steps > 0;
            staged += plan.staged > 0;
            slices += problem.direction == CS_BACKWARD_DATA && axis == CS_AXIS_C;
            check(&plan);
        }
    }
    for (int axis = 0; axis <= CS_AXIS_C; axis++)
        CHECK(plans[axis] >= 5);
    CHECK(plans[CS_AXIS_D_PHASES] + plans[CS_AXIS_H_PHASES] + plans[CS_AXIS_W_PHASES] >= 5);
    CHECK(products >= 5 && fused >= 5 && staged >= 5 && slices >= 5);
}

static void failures_leave_no_object(void)
{
    for_plans(check_every_failure);
}

/* A staged tensor as the device was given it: in its place in the scratch. */
static void check_packed(const struct cs_plan *plan, const struct cs_addresses *base, int tensor,
                         const struct cs_tensor *part, uintptr_t at)
{
    struct cs_lane lane;
    CHECK_INT(cs_plan_scratch(plan, 1, &lane), plan->workspace);
    uintptr_t begin = (uintptr_t)base->workspace + (uintptr_t)lane.staged;
    CHECK_INT(at, begin + (uintptr_t)plan->staged_at[tensor]);
    CHECK(plan->staged_at[tensor] + span(part) <= plan->staged);
    CHECK_INT(at % (uintptr_t)part->alignment, 0);
}

/* A tile's tensor, as the device was given it, inside the one that the application gave. */
static void check_inside(const struct cs_plan *plan, const struct cs_addresses *base,
                         const struct record *record)
{
    static struct cs_problem shape;
    cs_plan_problem(plan, record->shape, &shape);
    for (int i = 0; i < shape.tensors; i++) {
        struct cs_tensor part = shape.tensor[i];
        uintptr_t low = (uintptr_t)base->tensor[i], at = (uintptr_t)record->at.tensor[i];
        if (!has_address(&part)) {
            CHECK(at == low);
            continue;
        }
        if (plan->is_staged[i]) {
            check_packed(plan, base, i, &part, at);
            continue;
        }
        uintptr_t high = low + (uintptr_t)span(&plan->problem.tensor[i]);
        memcpy(part.strides, plan->problem.tensor[i].strides, sizeof part.strides);
        CHECK(at >= low && at + (uintptr_t)span(&part) <= high);
        CHECK_INT(at % (uintptr_t)part.alignment, 0);
    }
    char *scratch = base->workspace;
    struct cs_lane lane;
    CHECK_INT(cs_plan_scratch(plan, 1, &lane), plan->workspace);
    CHECK(record->at.workspace == scratch + lane.workspace);
    CHECK(lane.workspace + plan->shape[record->shape].workspace <= plan->workspace);
}

/* Checks that each tensor that is read was copied in, and each that is written was copied out,
 * once. */
static void check_copies(const struct cs_plan *plan, const struct record *record)
{
    static struct cs_problem shape;
    int in = 0, out = 0;
    cs_plan_problem(plan, record->shape, &shape);
    for (int i = 0; i < shape.tensors; i++) {
        bool adds = i == (int)cs_result(shape.direction) && shape.beta != 0;
        in += plan->is_staged[i] && (adds || !shape.tensor[i].written);
        out += plan->is_staged[i] && shape.tensor[i].written;
    }
    CHECK_INT(record->in, in);
    CHECK_INT(record->out, out);
}

static void check_addresses(struct cs_plan *plan)
{
    struct cs_addresses base = side_by_side(&plan->problem);
    check_outcome(run(plan, &base, 0, false), CS_RAN_TILES, 0, plan->tiles);
    for (int64_t i = 0; i < device.bound; i++) {
        struct cs_tile tile;
        cs_plan_tile(plan, i, &tile);
        const struct record *record = &device.record[i];
        CHECK_INT(record->shape, tile.shape);
        for (int j = 0; j < plan->problem.tensors; j++)
            if (has_address(&plan->problem.tensor[j]) && !plan->is_staged[j])
                CHECK_INT((char *)record->at.tensor[j] - (char *)base.tensor[j], tile.offset[j]);
        check_inside(plan, &base, record);
        check_copies(plan, record);
    }
}

static void tiles_stay_inside_their_operands(void)
{
    for_plans(check_addresses);
}

/* No tile may be launched. The fallback plan runs at once, for any beta. */
static void check_alias(const struct cs_plan *plan, const struct cs_addresses *base)
{
    check_outcome(run(plan, base, 0, false), CS_RAN_FALLBACK, 0, 0);
    CHECK_INT(device.launches + device.bound, 0);
    CHECK_INT(device.fallbacks, 1);
    check_outcome(run(plan, base, 0, true), CS_RAN_NOTHING, FALLBACK_FAILED, 0);
    CHECK_INT(device.launches + device.bound, 0);
    CHECK_INT(device.fallbacks, 1);
}

/* Each written tensor over each other one. Where the two may share one place, see below. */
static void check_aliases(struct cs_plan *plan)
{
    const struct cs_problem *problem = &plan->problem;
    for (int pair = 0; pair < problem->tensors * problem->tensors; pair++) {
        int out = pair / problem->tensors, in = pair % problem->tensors;
        const struct cs_tensor *written = &problem->tensor[out], *other = &problem->tensor[in];
        if (out == in || !written->written || !has_address(other))
            continue;
        int64_t input = span(other), output = span(written);
        int64_t overlapping[] = {input - 1, 1 - output, 0};
        for (int j = 0; j < (in < CS_OPERANDS || other->written ? 3 : 2); j++) {
            struct cs_addresses base = side_by_side(problem);
            if (overlapping[j] == 0 && in >= CS_OPERANDS && !other->written)
                continue;
            base.tensor[out] = (char *)base.tensor[in] + overlapping[j];
            check_alias(plan, &base);
        }
        int64_t apart[] = {input, -output};
        for (size_t j = 0; j < sizeof apart / sizeof *apart; j++) {
            struct cs_addresses base = side_by_side(problem);
            for (int i = 0; i < problem->tensors; i++)
                if (i != in && has_address(&problem->tensor[i]))
                    base.tensor[i] = address(0x100000000 + 0x10000000L * i);
            base.tensor[out] = (char *)base.tensor[in] + apart[j];
            check_outcome(run(plan, &base, 0, false), CS_RAN_TILES, 0, plan->tiles);
        }
    }
}

static void an_output_over_an_input_is_not_tiled(void)
{
    for_plans(check_aliases);
}

enum {
    ADDEND = CS_OPERANDS,
    SUM
};

/* 1x2x8x4 to the same number of channels, 3x3, with an addend. The sum replaces the convolution's
 * own result. */
static struct cs_problem sum(void)
{
    struct cs_problem problem = {
        .compute = CS_F32,
        .spatial = 2,
        .groups = 1,
        .pre = {0, 1, 1},
        .post = {0, 1, 1},
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .alpha = 1,
        .steps = 1,
        .tensors = 5,
        .tensor = {{.dims = {1, 2, 1, 8, 4}, .strides = {64, 32, 0, 4, 1}},
                   {.dims = {2, 2, 1, 3, 3}, .strides = {18, 9, 0, 3, 1}},
                   {.dims = {1, 2, 1, 8, 4}, .strides = {64, 32, 0, 4, 1}, .is_virtual = true}},
    };
    for (int i = 0; i < CS_OPERANDS; i++)
        problem.tensor[i].alignment = 16;
    settle_operands(&problem);
    problem.tensor[ADDEND] = problem.tensor[SUM] = problem.tensor[CS_Y];
    problem.tensor[ADDEND].is_virtual = problem.tensor[SUM].is_virtual = false;
    problem.tensor[SUM].written = true;
    CHECK_INT(cs_problem_check(&problem), CS_OK);
    return problem;
}

static enum cs_ran ran_in_place(const struct cs_problem *problem, int64_t apart)
{
    static struct cs_plan plan;
    struct cs_tiling tiling = {.axis = {CS_AXIS_H}, .step = {4, 1}};
    CHECK_INT(cs_problem_check(problem), CS_OK);
    CHECK_INT(cs_plan_cut(problem, &tiling, &plan), CS_OK);
    struct cs_addresses base = side_by_side(problem);
    base.tensor[SUM] = (char *)base.tensor[ADDEND] + apart;
    return run(&plan, &base, 0, false).ran;
}

/* Their ranges overlap where there are several images, and they share no element. */
static void channel_slices_of_one_tensor_are_tiled(void)
{
    static const struct {
        int64_t apart; /* bytes from x to y; a slice of an image has 256 */
        enum cs_ran ran;
    } row[] = {{256, CS_RAN_TILES},    {-256, CS_RAN_TILES},   {768, CS_RAN_TILES},
               {252, CS_RAN_FALLBACK}, {260, CS_RAN_FALLBACK}, {0, CS_RAN_FALLBACK},
               {-252, CS_RAN_FALLBACK}};
    static struct cs_plan plan;
    struct cs_tiling tiling = {.axis = {CS_AXIS_H}, .step = {4, 1}};
    struct cs_problem problem = sum();
    problem.tensors = CS_OPERANDS;
    problem.steps = 0;
    problem.tensor[CS_Y].is_virtual = false;
    problem.tensor[CS_X].dims[CS_N] = problem.tensor[CS_Y].dims[CS_N] = 4;
    problem.tensor[CS_X].strides[CS_N] = problem.tensor[CS_Y].strides[CS_N] = 128;
    settle_operands(&problem);
    CHECK_INT(cs_problem_check(&problem), CS_OK);
    CHECK_INT(cs_plan_cut(&problem, &tiling, &plan), CS_OK);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct cs_addresses base = side_by_side(&problem);
        base.tensor[CS_FILTER] = address(0x100000000);
        base.tensor[CS_Y] = (char *)base.tensor[CS_X] + row[i].apart;
        CHECK_INT(run(&plan, &base, 0, false).ran, row[i].ran);
    }
}

/* A sum may overwrite its addend, element by element, and no other tensor. It must not run twice.
 */
static void a_sum_in_place(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = sum();
    CHECK_INT(ran_in_place(&problem, 0), CS_RAN_TILES);
    CHECK_INT(ran_in_place(&problem, 4), CS_RAN_FALLBACK);
    CHECK_INT(ran_in_place(&problem, -4), CS_RAN_FALLBACK);
    CHECK_INT(ran_in_place(&problem, 4096), CS_RAN_TILES);
    problem.tensor[ADDEND].dims[CS_H] = 1; /* would be overwritten by the first rows */
    CHECK_INT(ran_in_place(&problem, 0), CS_RAN_FALLBACK);
    problem = sum();
    problem.tensor[ADDEND].strides[CS_H] = 5;
    CHECK_INT(ran_in_place(&problem, 0), CS_RAN_FALLBACK);
    problem = sum();
    problem.tensor[ADDEND].dtype = CS_F16;
    CHECK_INT(ran_in_place(&problem, 0), CS_RAN_FALLBACK);
    problem = sum();
    problem.tensor[ADDEND].side = CS_X; /* before the convolution: its halo would be gone */
    CHECK_INT(ran_in_place(&problem, 0), CS_RAN_FALLBACK);
    problem = sum();
    problem.tensor[ADDEND].written = true;
    CHECK_INT(ran_in_place(&problem, 0), CS_RAN_FALLBACK);

    problem = sum();
    struct cs_tiling tiling = {.axis = {CS_AXIS_H}, .step = {4, 1}};
    CHECK_INT(cs_plan_cut(&problem, &tiling, &plan), CS_OK);
    struct cs_addresses base = side_by_side(&problem);
    for (int n = 1; n <= 4; n++) { /* two of bind, two of launch */
        base.tensor[SUM] = base.tensor[ADDEND];
        CHECK_INT(run(&plan, &base, n, false).ran, n <= 2 ? CS_RAN_FALLBACK : CS_RAN_NOTHING);
        base.tensor[SUM] = address(0x40000000);
        CHECK_INT(run(&plan, &base, n, false).ran, CS_RAN_FALLBACK);
    }
}

/* A copy of the filter needs a workspace, and one that kernels can take. */
static void check_scratch(struct cs_plan *plan)
{
    struct cs_addresses base = side_by_side(&plan->problem);
    bool staged = plan->staged > 0;
    for (int64_t at = 0x70000001; at <= 0x70000010; at++) {
        base.workspace = address(at);
        bool tiles = !staged || at % CS_STAGED_ALIGNMENT == 0;
        check_outcome(run(plan, &base, 0, false), tiles ? CS_RAN_TILES : CS_RAN_FALLBACK, 0,
                      tiles ? plan->tiles : 0);
    }
    base.workspace = NULL;
    CHECK_INT(run(plan, &base, 0, false).ran, plan->workspace > 0 ? CS_RAN_FALLBACK : CS_RAN_TILES);
}

static void scratch_is_aligned(void)
{
    for_plans(check_scratch);
}

/* A copy that fails is a launch that fails; without copies at all nothing is begun. */
static void check_failing_copy(struct cs_plan *plan)
{
    static struct cs_exec exec;
    struct cs_addresses base = side_by_side(&plan->problem);
    const struct cs_call call = {.base = base, .provided = plan->workspace};
    struct cs_gpu copying = gpu;
    CHECK_INT(run(plan, &base, 0, false).ran, CS_RAN_TILES);
    int copies = device.copies;
    cs_exec_init(&exec, NULL, CS_BACKING_AUTO, 0);
    for (int n = 1; n <= copies; n += 1 + copies / 8) {
        memset(&device, 0, sizeof device);
        device.tiles = plan->tiles;
        device.fail_copy_at = n;
        struct cs_outcome got = cs_exec_run(&exec, plan, &copying, &call);
        bool rerun = plan->problem.beta == 0;
        CHECK(got.launches == device.launches || got.launches == device.launches - 1);
        check_outcome(got, rerun ? CS_RAN_FALLBACK : CS_RAN_NOTHING, rerun ? 0 : COPY_FAILED,
                      got.launches);
        CHECK_INT(device.copies, n);
        check_nothing_held();
    }
    memset(&device, 0, sizeof device);
    device.tiles = plan->tiles;
    copying.copy = NULL;
    CHECK_INT(cs_exec_run(&exec, plan, &copying, &call).ran,
              copies > 0 ? CS_RAN_FALLBACK : CS_RAN_TILES);
    CHECK(copies == 0 || device.bound + device.launches == 0);
}

static void copies_fail_like_launches(void)
{
    for_plans(check_failing_copy);
}

static void fallback_alone(void)
{
    memset(&device, 0, sizeof device);
    check_outcome(cs_exec_fallback(&gpu), CS_RAN_FALLBACK, 0, 0);
    device.fallback_fails = true;
    check_outcome(cs_exec_fallback(&gpu), CS_RAN_NOTHING, FALLBACK_FAILED, 0);
    CHECK_INT(device.fallbacks, 2);
    CHECK_INT(device.calls, 0);
}

/* A plan without tiles must run on its fallback plan, and must not end without a launch. */
static void a_plan_without_tiles(void)
{
    static struct cs_plan plan;
    struct cs_addresses base = {{NULL}, NULL};
    check_outcome(run(&plan, &base, 0, false), CS_RAN_FALLBACK, 0, 0);
    CHECK_INT(device.fallbacks, 1);
}

int main(void)
{
    TEST(failures_leave_no_object);
    TEST(tiles_stay_inside_their_operands);
    TEST(an_output_over_an_input_is_not_tiled);
    TEST(channel_slices_of_one_tensor_are_tiled);
    TEST(a_sum_in_place);
    TEST(scratch_is_aligned);
    TEST(copies_fail_like_launches);
    TEST(fallback_alone);
    TEST(a_plan_without_tiles);
    return REPORT();
}
