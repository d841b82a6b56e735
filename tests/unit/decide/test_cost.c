#include "decide/cost.h"
#include "fake_vendor.h"
#include <math.h>

enum {
    ROUNDS = 20000,
    SEED = 60
};

static const struct cs_profile h200 = {
    .name = "NVIDIA H200",
    .capability = 900,
    .multiprocessors = 132,
    .clock = 1980000,
    .memory_clock = 3201000,
    .bus_width = 6144,
    .l2 = 62914560,
};

/* Everything attained in full, kernels for nothing. */
static const struct cs_coefficients ideal = {.dram_share = 1,
                                             .convert_rate = 50,
                                             .strided_rate = 0.05,
                                             .tensor_share = 1,
                                             .warp_share = 1,
                                             .fma_share = 1,
                                             .filter_tile = 1};

/* Cut, with workspaces of `per_byte` of each kind's operands. */
static const struct cs_plan *planned(const struct cs_problem *problem,
                                     const struct cs_tiling *tiling, double per_byte)
{
    static struct cs_plan plan;
    static struct cs_problem shape;
    const struct fake fake = {.per_byte = per_byte, .per_filter_byte = per_byte};
    CHECK_INT(cs_plan_cut(problem, tiling, &plan), CS_OK);
    for (int64_t i = 0; i < plan.shapes; i++) {
        cs_plan_problem(&plan, i, &shape);
        plan.shape[i].workspace = formula(&fake, &shape);
    }
    cs_plan_settle(&plan);
    return &plan;
}

/* Predictions of plans whose untiled workspace is unknown. */
static struct cs_cost predicted(const struct cs_plan *plan, const struct cs_profile *profile)
{
    return cs_cost_of(plan, 0, profile);
}

static struct cs_cost with(const struct cs_plan *plan, const struct cs_profile *profile,
                           const struct cs_coefficients *use)
{
    return cs_cost_with(plan, 0, profile, use);
}

static const struct cs_tiling untiled_plan = {.step = {1, 1}};

static struct cs_tiling tiles_of(enum cs_axis axis, int64_t step, int lanes)
{
    return (struct cs_tiling){.axis = {axis}, .step = {step, 1}, .lanes = lanes};
}

static void check_near(double got, double want, int line)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)) && check_fails(__LINE__))
        printf("# line %d: %.12g, not %.12g\n", line, got, want);
}
#define CHECK_NEAR(got, want) check_near(got, want, __LINE__)

static double arithmetic_by(const struct cs_problem *problem, struct cs_engine_traits engine)
{
    struct cs_profile profile = h200;
    profile.engine = engine;
    profile.engine.known = profile.engine.clusters = true;
    return with(planned(problem, &untiled_plan, 0), &profile, &ideal).arithmetic;
}

/* Properties of an application's engine by its notes: tensor cores, Winograd, split sums. */
static void engines_by_their_notes(void)
{
    const struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    const double cores = arithmetic_by(&problem, (struct cs_engine_traits){.tensor_cores = true});
    CHECK_NEAR(arithmetic_by(&problem, (struct cs_engine_traits){.winograd = 0}), 16 * cores);
    const struct {
        int extent; /* of transformed tiles */
        double saved;
    } winograd[] = {{1, 2.25}, {4, 2.25}, {6, 4}, {13, 4}};
    for (size_t i = 0; i < sizeof winograd / sizeof *winograd; i++)
        CHECK_NEAR(
            arithmetic_by(&problem, (struct cs_engine_traits){.tensor_cores = true,
                                                              .winograd = winograd[i].extent}),
            cores / winograd[i].saved);

    /* 2 x 4 blocks of 132 that could run: four parts of a sum take a quarter of the time. */
    const struct cs_problem few = same(1, 512, 1, 16, 16, 512);
    CHECK_NEAR(arithmetic_by(&few, (struct cs_engine_traits){.tensor_cores = true, .splits = 4}),
               arithmetic_by(&few, (struct cs_engine_traits){.tensor_cores = true}) / 4);
}

/* The convolution of which the notes are full: 516.5 MiB of workspace. */
static void known_convolution(void)
{
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    const struct cs_plan *plan = planned(&problem, &untiled_plan, 1);
    struct cs_cost cost = with(plan, &h200, &ideal);
    double filter = 512 * 512 * 9 * 2, x = 512.0 * 512 * 512 * 2;
    double dram = 3201e6 * 2 * 6144 / 8;
    CHECK_NEAR(cost.memory, 3 * (2 * x + filter) / dram);
    /* 512 x 512 / 128 by 512 / 128 blocks, 62.06 waves of 132. */
    double block = 2.0 * 128 * 128 * 512 * 9 / (4096 * 1980e6);
    CHECK_NEAR(cost.arithmetic, 63 * block);
    /* All operands are converted: two thirds of the memory are conversions. */
    CHECK_NEAR(cost.seconds, cost.memory * 2 / 3 + 63 * block);
    struct cs_coefficients slow = ideal;
    slow.convert_rate = 1;
    CHECK_NEAR(with(plan, &h200, &slow).seconds,
               (2 * x + filter) / 2 / (132 * 1980e6) + 63 * block);
    slow = ideal;
    slow.kernel_us = 5;
    CHECK_NEAR(with(plan, &h200, &slow).decided, cost.seconds + 20e-6);
    CHECK_NEAR(with(plan, &h200, &slow).seconds, cost.seconds);
    /* At the upper end each of the four kernels takes kernel_us_most. */
    slow.kernel_us_most = 12;
    CHECK_NEAR(with(plan, &h200, &slow).most, cost.seconds + 48e-6);
}

/* Copies of one channel have eight: 2^33 elements here, four times as many as one copy can have. */
static void a_workspace_is_filled_several_times(void)
{
    const struct cs_problem problem = same(1024, 1, 1, 1024, 1024, 1);
    const double operands = 2 * 0x1p31 + 18, dram = 3201e6 * 2 * 6144 / 8;
    const struct cs_cost cost = with(planned(&problem, &untiled_plan, 2), &h200, &ideal);
    CHECK_NEAR(cost.memory, (operands + 2 * 4 * 2 * operands) / dram);
}

/* Without workspace there is one kernel, of which memory and arithmetic overlap. Blocks of fewer
 * than 96 columns take as long as one of 96. */
static void unconverted_layout_runs_one_kernel(void)
{
    struct cs_problem problem = same(1, 16, 1, 512, 512, 16);
    const struct cs_plan *plan = planned(&problem, &untiled_plan, 0);
    struct cs_cost cost = with(plan, &h200, &ideal);
    double bytes = 2.0 * 512 * 512 * 16 * 2 + 16 * 16 * 9 * 2;
    /* 2048 blocks of 128 x 16, in 15.5 waves. */
    CHECK_NEAR(cost.arithmetic, 16 * 2.0 * 128 * 96 * 144 / (4096 * 1980e6));
    CHECK_NEAR(cost.memory, bytes / (3201e6 * 2 * 6144 / 8));
    CHECK_NEAR(cost.seconds, fmax(cost.memory, cost.arithmetic));
    struct cs_coefficients slow = ideal;
    slow.kernel_us = 5;
    CHECK_NEAR(with(plan, &h200, &slow).decided, cost.seconds + 5e-6);
}

/* Tensor cores need as long for a sum of one channel as for eight. */
static void few_channels_are_padded(void)
{
    struct cs_problem one = same(1, 1, 1, 512, 512, 128), eight = same(1, 8, 1, 512, 512, 128);
    CHECK_NEAR(with(planned(&one, &untiled_plan, 0), &h200, &ideal).arithmetic,
               with(planned(&eight, &untiled_plan, 0), &h200, &ideal).arithmetic);
}

/* An engine without clusters has half of its blocks at once on a multiprocessor, and a lower rate
 * on an H200 alone. */
static void engines_without_clusters(void)
{
    struct cs_problem problem = same(1, 128, 1, 16, 16, 128);
    struct cs_profile profile = h200;
    struct cs_coefficients slow = ideal;
    slow.warp_share = 0.5;
    profile.engine =
        (struct cs_engine_traits){.known = true, .tensor_cores = true, .clusters = true};
    double clusters = with(planned(&problem, &untiled_plan, 0), &profile, &slow).arithmetic;
    profile.engine.clusters = false;
    CHECK_NEAR(with(planned(&problem, &untiled_plan, 0), &profile, &slow).arithmetic, 4 * clusters);
    profile.capability = 890;
    double share = with(planned(&problem, &untiled_plan, 0), &profile, &slow).arithmetic;
    slow.warp_share = 1;
    CHECK_NEAR(with(planned(&problem, &untiled_plan, 0), &profile, &slow).arithmetic, share);
}

/* An engine that reads x as it is converts it for a tile of another layout, element by element. */
static void operands_that_only_tiles_convert(void)
{
    struct cs_problem problem = same(2, 32, 64, 64, 64, 32);
    const struct cs_tiling depth = {.axis = {CS_AXIS_D}, .step = {16}, .lanes = 1};
    const struct cs_plan *plan = planned(&problem, &depth, 1);
    const int64_t y = INT64_C(2) * 32 * 64 * 64 * 64 * 2;
    double both = cs_cost_with(plan, 2 * y, &h200, &ideal).seconds;
    double one = cs_cost_with(plan, y, &h200, &ideal).seconds;
    CHECK_NEAR(both, with(plan, &h200, &ideal).seconds);
    /* x has 17 or 18 planes. */
    double planes = 2.0 * 32 * 64 * 64 / (0.05 * 132 * 1980e6);
    CHECK_NEAR(one, both + (17 + 18 + 18 + 17) * planes);
}

/* 96 of 192 output channels take a whole block of 128, as the engine has it for all of them. */
static void tiles_have_the_blocks_of_the_untiled_call(void)
{
    struct cs_problem problem = same(1, 192, 1, 512, 512, 192);
    struct cs_tiling half = tiles_of(CS_AXIS_K, 96, 1);
    struct cs_cost cost = with(planned(&problem, &half, 0), &h200, &ideal);
    /* Twice 2048 blocks, each time in 15.5 waves. */
    CHECK_NEAR(cost.arithmetic, 2 * 16 * 2.0 * 128 * 128 * 192 * 9 / (4096 * 1980e6));
}

/* A gradient of the filter has few results and long sums, which are split to fill the GPU. */
static void split_sums(void)
{
    struct cs_problem problem = towards(CS_BACKWARD_FILTER, 1, 128, 1, 512, 512, 128);
    struct cs_cost cost = with(planned(&problem, &untiled_plan, 0), &h200, &ideal);
    /* 1 x 9 blocks, each in 14 parts: 126 blocks in one wave. */
    CHECK_NEAR(cost.arithmetic, 2.0 * 128 * 128 * 512 * 512 / 14 / (4096 * 1980e6));
    problem = towards(CS_BACKWARD_DATA, 1, 128, 1, 512, 512, 256);
    cost = with(planned(&problem, &untiled_plan, 0), &h200, &ideal);
    CHECK_NEAR(cost.arithmetic, 16 * 2.0 * 128 * 128 * 256 * 9 / (4096 * 1980e6));
}

/* A result that is added to is also read. Data that a launch keeps internally is not moved. */
static void operands_moved(void)
{
    struct cs_problem problem = same(1, 16, 1, 64, 64, 16);
    double y = 64 * 64 * 16 * 2 / (3201e6 * 2 * 6144 / 8);
    double once = with(planned(&problem, &untiled_plan, 0), &h200, &ideal).memory;
    problem.beta = 0.5;
    CHECK_NEAR(with(planned(&problem, &untiled_plan, 0), &h200, &ideal).memory, once + y);
    problem.beta = 0;
    problem.steps = 1;
    problem.tensors = 5;
    problem.tensor[3] = problem.tensor[4] = problem.tensor[CS_Y];
    problem.tensor[3].written = true;
    problem.tensor[CS_Y].is_virtual = true;
    problem.tensor[CS_Y].written = false;
    CHECK_NEAR(with(planned(&problem, &untiled_plan, 0), &h200, &ideal).memory, once + y);
}

/* f32 with conversions is TF32, at half the rate of f16; without them it is plain arithmetic. */
static void f32_rates(void)
{
    struct cs_problem problem = same(1, 128, 1, 256, 256, 128);
    double f16 = with(planned(&problem, &untiled_plan, 1), &h200, &ideal).arithmetic;
    for (int i = 0; i < CS_OPERANDS; i++)
        problem.tensor[i].dtype = CS_F32;
    CHECK_NEAR(with(planned(&problem, &untiled_plan, 1), &h200, &ideal).arithmetic, 2 * f16);
    CHECK_NEAR(with(planned(&problem, &untiled_plan, 0), &h200, &ideal).arithmetic, 16 * f16);
    struct cs_profile t4 = {.capability = 750};
    CHECK_NEAR(with(planned(&problem, &untiled_plan, 1), &t4, &ideal).arithmetic,
               with(planned(&problem, &untiled_plan, 0), &t4, &ideal).arithmetic);
}

/* No tiling is faster than the untiled call: tiles gain nothing from L2 or from lanes. */
static void tiles_are_never_faster(void)
{
    static const struct cs_profile device[] = {
        {.name = "NVIDIA GeForce RTX 4090", .capability = 890}, h200};
    struct cs_problem problem = same(16, 64, 1, 256, 256, 64);
    for (int i = 0; i < 2; i++)
        for (int lanes = 1; lanes <= 4; lanes++)
            for (int64_t step = 1; step <= 8; step *= 2) {
                struct cs_tiling images = tiles_of(CS_AXIS_N, step, lanes);
                double untiled = predicted(planned(&problem, &untiled_plan, 1), &device[i]).seconds;
                CHECK(predicted(planned(&problem, &images, 1), &device[i]).seconds > untiled);
            }
}

/* Rows of a view that is cut along W are apart, so cuDNN converts it element by element. */
static void tiles_along_w_cost_more_than_tiles_along_h(void)
{
    struct cs_problem problem = same(1, 256, 1, 512, 512, 256);
    const struct cs_tiling rows = {.axis = {CS_AXIS_H}, .step = {128}, .lanes = 1};
    const struct cs_tiling columns = {.axis = {CS_AXIS_W}, .step = {128}, .lanes = 1};
    double along_h = predicted(planned(&problem, &rows, 1), &h200).seconds;
    CHECK(predicted(planned(&problem, &columns, 1), &h200).seconds > 5 * along_h);
    /* A kernel without workspace converts nothing. */
    along_h = predicted(planned(&problem, &rows, 0), &h200).seconds;
    CHECK(predicted(planned(&problem, &columns, 0), &h200).seconds < 2 * along_h);
}

/* The engine splits the sums of a tile into as many parts as those of the whole. */
static void tiles_of_a_filter_gradient_take_as_long_as_the_whole(void)
{
    struct cs_problem problem = same(1, 256, 1, 512, 512, 128);
    problem.direction = CS_BACKWARD_FILTER;
    problem.tensor[CS_Y].written = false;
    problem.tensor[CS_FILTER].written = true;
    const struct cs_tiling whole = {.lanes = 1};
    const struct cs_tiling channels = {.axis = {CS_AXIS_C}, .step = {64}, .lanes = 1};
    double untiled = predicted(planned(&problem, &whole, 1), &h200).arithmetic;
    CHECK_NEAR(predicted(planned(&problem, &channels, 1), &h200).arithmetic,
               4 * cs_cost_defaults.filter_tile * untiled);
}

/* Lanes hide a share of the kernels' added time, and add their own. */
static void lanes_hide_the_time_of_kernels(void)
{
    struct cs_problem problem = same(8, 256, 1, 128, 128, 256);
    struct cs_tiling one = tiles_of(CS_AXIS_N, 1, 1), two = tiles_of(CS_AXIS_N, 1, 2);
    struct cs_coefficients use = ideal;
    use.kernel_us = 5;
    double nothing = with(planned(&problem, &one, 1), &h200, &ideal).decided;
    double alone = with(planned(&problem, &one, 1), &h200, &use).decided;
    CHECK_NEAR(alone, nothing + 8 * 4 * 5e-6);
    CHECK_NEAR(with(planned(&problem, &two, 1), &h200, &use).decided, alone);
    use.overlap = 0.25;
    use.lane_us = 7;
    CHECK_NEAR(with(planned(&problem, &one, 1), &h200, &use).decided, alone);
    CHECK_NEAR(with(planned(&problem, &two, 1), &h200, &use).decided,
               nothing + 0.75 * 8 * 4 * 5e-6 + 7e-6);
}

/* Unknown properties get a typical GPU's values. GeForce GPUs have half of the tensor cores' rate.
 */
static void unknown_is_typical(void)
{
    struct cs_problem problem = same(1, 128, 1, 256, 256, 128);
    const struct cs_plan *plan = planned(&problem, &untiled_plan, 1);
    struct cs_profile none = {.capability = 0}, volta = {.capability = 700};
    CHECK_NEAR(predicted(plan, &none).seconds, predicted(plan, &volta).seconds);
    struct cs_profile later = {.capability = 1210}, latest = {.capability = 1200};
    CHECK_NEAR(predicted(plan, &later).seconds, predicted(plan, &latest).seconds);
    struct cs_profile half = h200;
    half.bus_width = 0; /* 5120 bits are usual */
    CHECK_NEAR(with(plan, &half, &ideal).memory, with(plan, &h200, &ideal).memory * 6144 / 5120);
    struct cs_profile ada = {.capability = 890, .name = "NVIDIA L40S"}, game = ada;
    strcpy(game.name, "NVIDIA GeForce RTX 4090");
    CHECK_NEAR(predicted(plan, &game).arithmetic, 2 * predicted(plan, &ada).arithmetic);
}

static bool sane(const struct cs_cost *cost)
{
    return isfinite(cost->seconds) && cost->seconds > 0 && cost->most >= cost->seconds &&
           isfinite(cost->most) && isfinite(cost->memory) && isfinite(cost->arithmetic) &&
           cost->decided >= cost->seconds && cost->decided <= cost->most;
}

static struct cs_profile random_profile(struct rng *rng)
{
    static const int capabilities[] = {0, 610, 700, 750, 800, 860, 890, 900, 1000, 1030, 1200};
    return (struct cs_profile){.capability = capabilities[rng_between(rng, 0, 10)],
                               .multiprocessors = rng_between(rng, 1, 200),
                               .clock = rng_between(rng, 500000, 3000000),
                               .memory_clock = rng_between(rng, 500000, 15000000),
                               .bus_width = rng_between(rng, 64, 8192),
                               .l2 = rng_magnitude(rng, 27)};
}

/* A better device is never slower. A larger workspace is never faster, except in f32, for which it
 * distinguishes the engines. */
static void monotone(void)
{
    struct rng rng = {SEED};
    for (int i = 0; i < ROUNDS; i++) {
        static struct cs_plan plan;
        struct cs_problem problem =
            random_towards(&rng, (enum cs_direction)rng_between(&rng, 0, 2));
        enum cs_axis axis = (enum cs_axis)rng_between(&rng, CS_AXIS_NONE, CS_AXIS_C);
        struct cs_tiling tiling =
            tiles_of(axis, rng_between(&rng, 1, 40), (int)rng_between(&rng, 1, 4));
        if (cs_plan_cut(&problem, &tiling, &plan) != CS_OK)
            continue;
        for (int64_t k = 0; k < plan.shapes; k++)
            plan.shape[k].workspace = rng_between(&rng, 0, 2) ? rng_magnitude(&rng, 30) : 0;
        struct cs_profile profile = random_profile(&rng), better = profile;
        double before = predicted(&plan, &profile).seconds;
        int64_t *quantity[] = {&better.clock, &better.memory_clock, &better.bus_width,
                               &better.multiprocessors};
        int64_t *more = quantity[rng_between(&rng, 0, 3)];
        *more += rng_magnitude(&rng, 20);
        CHECK(predicted(&plan, &better).seconds <= before * (1 + 1e-12));
        plan.shape[rng_between(&rng, 0, plan.shapes - 1)].workspace += rng_magnitude(&rng, 28);
        CHECK(predicted(&plan, &profile).seconds >= before * (1 - 1e-12));
    }
}

/* More work of any sort takes longer: more images, channels, rows, taps. */
static void more_work_takes_longer(void)
{
    struct cs_problem least = same(2, 64, 1, 128, 128, 64);
    double seconds = predicted(planned(&least, &untiled_plan, 1), &h200).seconds;
    const struct cs_problem more[] = {same(3, 64, 1, 128, 128, 64), same(2, 96, 1, 128, 128, 64),
                                      same(2, 64, 1, 160, 128, 64), same(2, 64, 1, 128, 200, 64),
                                      same(2, 64, 1, 128, 128, 96), same(2, 64, 2, 128, 128, 64)};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        CHECK(predicted(planned(&more[i], &untiled_plan, 1), &h200).seconds > seconds);
}

/* Each of two groups has half of the channels of every sum. (The gradient of the filter has half of
 * its results, whose sums are split.) */
static void twice_the_groups_take_half_the_arithmetic(void)
{
    for (int direction = 0; direction < CS_BACKWARD_FILTER; direction++) {
        struct cs_problem problem =
            towards((enum cs_direction)direction, 1, 1024, 1, 512, 512, 1024);
        double before = with(planned(&problem, &untiled_plan, 0), &h200, &ideal).arithmetic;
        for (problem.groups = 2; problem.groups <= 4; problem.groups *= 2) {
            problem.tensor[CS_FILTER].dims[CS_C] /= 2;
            double after = with(planned(&problem, &untiled_plan, 0), &h200, &ideal).arithmetic;
            CHECK_NEAR(after, before / 2);
            before = after;
        }
    }
}

/* Extents beyond anything, workspaces to the last byte, rows of devices that do not exist. */
static void nothing_overflows(void)
{
    struct rng rng = {SEED};
    for (int i = 0; i < ROUNDS; i++) {
        static struct cs_plan plan;
        struct cs_problem problem =
            rng_between(&rng, 0, 1) ? random_large(&rng) : random_small(&rng);
        RANDOM_CASE(SEED, i, &problem);
        if (cs_problem_check(&problem) != CS_OK ||
            cs_plan_cut(&problem, &untiled_plan, &plan) != CS_OK)
            continue;
        plan.shape[0].workspace = rng_between(&rng, 0, 1) ? INT64_MAX : 0;
        struct cs_profile profile = random_profile(&rng);
        if (rng_between(&rng, 0, 1))
            profile.multiprocessors = profile.clock = profile.l2 = INT64_MAX;
        struct cs_cost cost = predicted(&plan, &profile);
        CHECK(sane(&cost));
    }
}

/* A known ladder replaces the cost of a kernel at both ends, and the gain of lanes. */
static void ladder_replaces_constants(void)
{
    struct cs_problem problem = same(4, 512, 1, 64, 64, 512);
    struct cs_tiling tiling = tiles_of(CS_AXIS_H, 16, 2);
    const struct cs_plan *plan = planned(&problem, &tiling, 1);
    struct cs_profile profile = h200;
    profile.ladder = (struct cs_ladder){.known = true, .kernel_us = 20, .lane_gain = 0.25};
    struct cs_coefficients use = cs_cost_defaults;
    use.kernel_us = use.kernel_us_least = use.kernel_us_most = 20;
    use.overlap = 0.25;
    struct cs_cost got = predicted(plan, &profile), want = with(plan, &h200, &use);
    CHECK_NEAR(got.seconds, want.seconds);
    CHECK_NEAR(got.most, want.seconds);
    CHECK(predicted(plan, &h200).seconds < got.seconds);
}

/* Both ends of a time relative to another, and the bandwidth of a known and of a typical device. */
static void times_and_bandwidth(void)
{
    const struct cs_cost cost = {.seconds = 3, .most = 8};
    struct cs_times times = cs_cost_times(&cost);
    CHECK_NEAR(times.least, 3);
    CHECK_NEAR(times.most, 8);
    struct cs_times ratio = cs_cost_ratio(times, (struct cs_times){2, 4});
    CHECK_NEAR(ratio.least, 1.5);
    CHECK_NEAR(ratio.most, 2);
    ratio = cs_cost_ratio(times, (struct cs_times){2, 8});
    CHECK_NEAR(ratio.most, 1.5);
    ratio = cs_cost_ratio(times, (struct cs_times){0, 0});
    CHECK(ratio.least == 0 && ratio.most == 0);
    CHECK_NEAR(cs_cost_bandwidth(&h200), 3201e6 * 2 * 6144 / 8);
    CHECK_NEAR(cs_cost_bandwidth(&(struct cs_profile){.capability = 750}), 5001e6 * 2 * 256 / 8);
}

/* Every default lies within its own bounds, which a fit keeps. */
static void defaults_within_bounds(void)
{
#define CS_COST(name, value, least, most, unit, meaning)                                           \
    CHECK(cs_cost_defaults.name >= (least) && cs_cost_defaults.name <= (most));                    \
    CHECK(strlen(meaning) > 10);
#include "decide/cost.def"
#undef CS_COST
}

int main(void)
{
    TEST(known_convolution);
    TEST(engines_by_their_notes);
    TEST(a_workspace_is_filled_several_times);
    TEST(unconverted_layout_runs_one_kernel);
    TEST(few_channels_are_padded);
    TEST(engines_without_clusters);
    TEST(operands_that_only_tiles_convert);
    TEST(tiles_have_the_blocks_of_the_untiled_call);
    TEST(split_sums);
    TEST(operands_moved);
    TEST(f32_rates);
    TEST(tiles_are_never_faster);
    TEST(tiles_along_w_cost_more_than_tiles_along_h);
    TEST(tiles_of_a_filter_gradient_take_as_long_as_the_whole);
    TEST(lanes_hide_the_time_of_kernels);
    TEST(unknown_is_typical);
    TEST(monotone);
    TEST(more_work_takes_longer);
    TEST(twice_the_groups_take_half_the_arithmetic);
    TEST(nothing_overflows);
    TEST(ladder_replaces_constants);
    TEST(times_and_bandwidth);
    TEST(defaults_within_bounds);
    return REPORT();
}
