/* The executor on a device that records what it is asked and fails at any one of its calls. */
#include "check.h"
#include "exec/exec.h"
#include "random_problem.h"

enum {
    PROBLEMS = 60,
    MOST_TILES = 24, /* every call of a plan fails once: the work grows with the square of this */
    BIND_FAILED = 4001,
    LAUNCH_FAILED = 4002,
    LIFEBOAT_FAILED = 4003
};

struct record {
    int kind;
    struct cs_addresses at;
    int launched, released;
};

static struct device {
    int fail_at; /* this call of bind or launch fails; 0: none */
    bool lifeboat_fails;
    int calls, lifeboats;
    int64_t tiles; /* of the plan being run */
    int64_t bound, launches, releases;
    struct record record[MOST_TILES];
} device;

static bool fails(struct device *d)
{
    return ++d->calls == d->fail_at;
}

static int fake_bind(void *ctx, int kind, const struct cs_addresses *addresses, void **launch_p)
{
    struct device *d = ctx;
    CHECK_INT(d->launches, 0);
    if (fails(d))
        return BIND_FAILED;
    struct record *record = &d->record[d->bound++];
    *record = (struct record){.kind = kind, .at = *addresses};
    *launch_p = record;
    return 0;
}

static int fake_launch(void *ctx, int kind, void *launch)
{
    struct device *d = ctx;
    struct record *record = launch;
    CHECK_INT(d->bound, d->tiles);
    CHECK(record == &d->record[d->launches]);
    CHECK_INT(kind, record->kind);
    CHECK_INT(record->launched, 0);
    CHECK_INT(record->released, 0);
    CHECK_INT(d->lifeboats, 0);
    if (fails(d))
        return LAUNCH_FAILED;
    record->launched++;
    d->launches++;
    return 0;
}

static void fake_release(void *ctx, void *launch)
{
    struct device *d = ctx;
    struct record *record = launch;
    d->releases++;
    CHECK_INT(++record->released, 1);
}

static int fake_lifeboat(void *ctx)
{
    struct device *d = ctx;
    d->lifeboats++;
    return d->lifeboat_fails ? LIFEBOAT_FAILED : 0;
}

static const struct cs_gpu gpu = {&device, fake_bind, fake_launch, fake_release, fake_lifeboat};

/* Addresses are compared, never followed. */
static void *address(int64_t value)
{
    return (void *)(uintptr_t)value;
}

static int64_t span(const struct cs_tensor *tensor)
{
    int64_t bytes = 0;
    CHECK_INT(cs_tensor_span(tensor, &bytes), CS_OK);
    return bytes;
}

/* Operands one behind the other, each as close to its neighbour as its alignment lets it. */
static struct cs_addresses side_by_side(const struct cs_problem *problem)
{
    struct cs_addresses base = {.workspace = address(0x70000000)};
    int64_t next = 0x10000000;
    for (int i = 0; i < CS_OPERANDS; i++) {
        int64_t alignment = problem->tensor[i].alignment;
        next = (next + alignment - 1) / alignment * alignment;
        base.operand[i] = address(next);
        next += span(&problem->tensor[i]);
    }
    return base;
}

static struct cs_outcome run(const struct cs_plan *plan, const struct cs_addresses *base,
                             int fail_at, bool lifeboat_fails)
{
    memset(&device, 0, sizeof device);
    device.fail_at = fail_at;
    device.lifeboat_fails = lifeboat_fails;
    device.tiles = plan->tiles;
    return cs_exec_run(plan, &gpu, base);
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

/* What the n-th call's failure must lead to; n beyond the last call: none fails. */
static void check_failure(const struct cs_plan *plan, const struct cs_addresses *base, int n,
                          bool lifeboat_fails)
{
    int64_t tiles = plan->tiles;
    bool rerun = plan->problem.beta == 0;
    struct cs_outcome got = run(plan, base, n, lifeboat_fails);
    check_nothing_held();
    if (n > 2 * tiles) {
        check_outcome(got, CS_RAN_TILES, 0, tiles);
        CHECK_INT(device.lifeboats, 0);
    } else if (n <= tiles) {
        check_outcome(got, lifeboat_fails ? CS_RAN_NOTHING : CS_RAN_LIFEBOAT,
                      lifeboat_fails ? LIFEBOAT_FAILED : 0, 0);
        CHECK_INT(device.launches, 0);
        CHECK_INT(device.bound, n - 1);
        CHECK_INT(device.lifeboats, 1);
    } else {
        bool repaired = rerun && !lifeboat_fails;
        check_outcome(got, repaired ? CS_RAN_LIFEBOAT : CS_RAN_NOTHING,
                      repaired ? 0 : LAUNCH_FAILED, n - tiles - 1);
        CHECK_INT(device.lifeboats, rerun);
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

/* Calls `check` with plans of every axis; their kinds need different workspaces. */
static void for_plans(void (*check)(struct cs_plan *plan))
{
    static struct cs_plan plan;
    struct rng rng = {20};
    int plans[CS_AXES] = {0};
    for (int i = 0; i < PROBLEMS; i++) {
        struct cs_problem problem = random_small(&rng);
        for (int axis = CS_AXIS_NONE; axis < CS_AXES; axis++) {
            int64_t extent = cs_axis_extent(&problem, (enum cs_axis)axis);
            int64_t step = rng_between(&rng, 1, extent);
            if (cs_plan_cut(&problem, (enum cs_axis)axis, step, &plan) != CS_OK ||
                plan.tiles > MOST_TILES)
                continue;
            for (int64_t kind = 0; kind < plan.kinds; kind++)
                plan.kind[kind].workspace = rng_between(&rng, 0, 1 << 20);
            cs_plan_settle(&plan);
            plans[axis]++;
            check(&plan);
        }
    }
    for (int axis = 0; axis < CS_AXES; axis++)
        CHECK(plans[axis] >= 5);
}

static void every_failure_leaves_nothing_behind(void)
{
    for_plans(check_every_failure);
}

/* A tile's operand, as the device was given it, inside the operand that the client gave. */
static void check_inside(const struct cs_plan *plan, const struct cs_addresses *base,
                         const struct record *record)
{
    const struct cs_kind *kind = &plan->kind[record->kind];
    for (int i = 0; i < CS_OPERANDS; i++) {
        const struct cs_tensor *part = &kind->problem.tensor[i];
        uintptr_t low = (uintptr_t)base->operand[i], at = (uintptr_t)record->at.operand[i];
        uintptr_t high = low + (uintptr_t)span(&plan->problem.tensor[i]);
        CHECK(at >= low && at + (uintptr_t)span(part) <= high);
        CHECK_INT(at % (uintptr_t)part->alignment, 0);
    }
    CHECK(record->at.workspace == base->workspace);
    CHECK(kind->workspace <= plan->workspace);
}

static void check_addresses(struct cs_plan *plan)
{
    struct cs_addresses base = side_by_side(&plan->problem);
    check_outcome(run(plan, &base, 0, false), CS_RAN_TILES, 0, plan->tiles);
    for (int64_t i = 0; i < device.bound; i++) {
        struct cs_tile tile;
        cs_plan_tile(plan, i, &tile);
        const struct record *record = &device.record[i];
        CHECK_INT(record->kind, plan->kind_of[i]);
        for (int j = 0; j < CS_OPERANDS; j++)
            CHECK_INT((char *)record->at.operand[j] - (char *)base.operand[j], tile.offset[j]);
        check_inside(plan, &base, record);
    }
}

static void tiles_stay_inside_their_operands(void)
{
    for_plans(check_addresses);
}

/* Nothing may be launched as tiles; the lifeboat runs at once, whatever beta is. */
static void check_alias(const struct cs_plan *plan, const struct cs_addresses *base)
{
    check_outcome(run(plan, base, 0, false), CS_RAN_LIFEBOAT, 0, 0);
    CHECK_INT(device.launches + device.bound, 0);
    CHECK_INT(device.lifeboats, 1);
    check_outcome(run(plan, base, 0, true), CS_RAN_NOTHING, LIFEBOAT_FAILED, 0);
    CHECK_INT(device.launches + device.bound, 0);
    CHECK_INT(device.lifeboats, 1);
}

static void check_aliases(struct cs_plan *plan)
{
    for (int i = CS_X; i < CS_Y; i++) {
        int64_t input = span(&plan->problem.tensor[i]), output = span(&plan->problem.tensor[CS_Y]);
        int64_t overlapping[] = {0, input - 1, 1 - output};
        int64_t apart[] = {input, -output};
        for (size_t j = 0; j < sizeof overlapping / sizeof *overlapping; j++) {
            struct cs_addresses base = side_by_side(&plan->problem);
            base.operand[CS_Y] = (char *)base.operand[i] + overlapping[j];
            check_alias(plan, &base);
        }
        for (size_t j = 0; j < sizeof apart / sizeof *apart; j++) {
            struct cs_addresses base = side_by_side(&plan->problem);
            base.operand[CS_Y] = (char *)base.operand[i] + apart[j];
            base.operand[i == CS_X ? CS_FILTER : CS_X] = address(0x40000000);
            check_outcome(run(plan, &base, 0, false), CS_RAN_TILES, 0, plan->tiles);
        }
    }
}

static void an_output_over_an_input_is_not_tiled(void)
{
    for_plans(check_aliases);
}

static void lifeboat_alone(void)
{
    memset(&device, 0, sizeof device);
    check_outcome(cs_exec_lifeboat(&gpu), CS_RAN_LIFEBOAT, 0, 0);
    device.lifeboat_fails = true;
    check_outcome(cs_exec_lifeboat(&gpu), CS_RAN_NOTHING, LIFEBOAT_FAILED, 0);
    CHECK_INT(device.lifeboats, 2);
    CHECK_INT(device.calls, 0);
}

int main(void)
{
    TEST(every_failure_leaves_nothing_behind);
    TEST(tiles_stay_inside_their_operands);
    TEST(an_output_over_an_input_is_not_tiled);
    TEST(lifeboat_alone);
    return REPORT();
}
