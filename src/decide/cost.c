/* The cost model: converts bytes, arithmetic, launches and waves of a plan to seconds. */
#include "decide/cost.h"

#include "base/checked.h"
#include <string.h>

enum {
    BLOCK = 128,            /* results of a thread block along rows and columns */
    GRAIN = 8,              /* extents below BLOCK are rounded up to multiples of this */
    LEAST_SUM = 1024,       /* terms that a split sum keeps in each block */
    CONVERTING_KERNELS = 4, /* kernels of a tile with a workspace: conversions of x, filter and y,
                               and the convolution */
    TF32_FROM = 800         /* first capability whose tensor cores compute TF32 */
};

/* The largest assumed factor of multiplications that Winograd's transforms save. The more they
 * save, the more additions they need. */
static const double MOST_SAVED = 4;

const struct cs_coefficients cs_cost_defaults = {
#define CS_COST(name, value, least, most, unit, meaning) .name = value,
#include "decide/cost.def"
#undef CS_COST
};

/* A row of devices.def. */
struct kind_of_device {
    int64_t capability;
    double tensor, geforce, fma; /* operations per clock and multiprocessor */
    int64_t multiprocessors, clock, memory_clock, bus_width, l2;
};

static const struct kind_of_device known[] = {
#define CS_DEVICE(...) {__VA_ARGS__},
#include "decide/devices.def"
#undef CS_DEVICE
};

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* The largest whole number that is not above `number`, which must not be negative. From 2^53 on,
 * numbers have no fractions. */
static double rounded_down(double number)
{
    return number < 0x1p53 ? (double)(int64_t)number : number;
}

static double rounded_up(double number)
{
    double below = rounded_down(number);
    return below < number ? below + 1 : below;
}

/* The rates that a device reaches. */
struct rates {
    double multiprocessors;
    double tensor, tf32, fma; /* operations a second and multiprocessor */
    double dram, l2;          /* bytes a second */
    double capacity;          /* bytes of L2 that can be relied on */
    double strided;           /* elements a second that conversions of unpacked views reach */
    struct cs_engine_traits engine;
};

static const struct kind_of_device *typical_device(int64_t capability)
{
    const struct kind_of_device *found = &known[0];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].capability <= capability)
            found = &known[i];
    return found;
}

/* The value, or `usual` if it is unknown. */
static double or_typical(int64_t value, int64_t usual)
{
    return (double)(value > 0 ? value : usual);
}

static bool is_geforce(const char *name)
{
    static const char word[] = "GeForce";
    for (; *name; name++)
        if (strncmp(name, word, sizeof word - 1) == 0)
            return true;
    return false;
}

double cs_cost_bandwidth(const struct cs_profile *profile)
{
    const struct kind_of_device *usual = typical_device(profile->capability);
    return 2 * 1e3 * or_typical(profile->memory_clock, usual->memory_clock) *
           or_typical(profile->bus_width, usual->bus_width) / 8;
}

/* The rates of the profile's device. Unknown properties are those of a typical device. */
static struct rates rates_of(const struct cs_profile *profile, const struct cs_coefficients *use)
{
    const struct kind_of_device *usual = typical_device(profile->capability);
    double hertz = 1e3 * or_typical(profile->clock, usual->clock);
    double multiprocessors = or_typical(profile->multiprocessors, usual->multiprocessors);
    double tensor = is_geforce(profile->name) ? usual->geforce : usual->tensor;
    double fma = usual->fma * hertz * use->fma_share;
    tensor *= hertz * use->tensor_share;
    double dram = cs_cost_bandwidth(profile) * use->dram_share;
    return (struct rates){
        .multiprocessors = multiprocessors,
        .tensor = tensor,
        .tf32 = usual->capability >= TF32_FROM ? tensor / 2 : fma,
        .fma = fma,
        .dram = dram,
        .l2 = cs_larger(use->l2_rate * hertz * multiprocessors, dram),
        .capacity = or_typical(profile->l2, usual->l2) * use->l2_share,
        .strided = use->strided_rate * hertz * multiprocessors,
        .engine = profile->engine,
    };
}

/* The bytes and operations of one tile of a shape. */
struct tile {
    double operands, workspace, staged; /* bytes */
    double kernels;
    double waves;   /* seconds of arithmetic, with an incomplete last wave */
    double filled;  /* seconds of arithmetic if other tiles complete the last wave */
    double strided; /* seconds that conversions of unpacked views add */
};

static double elements_of(const struct cs_tensor *tensor)
{
    double elements = 1;
    for (int dim = 0; dim < CS_DIMS; dim++)
        elements *= (double)tensor->dims[dim];
    return elements;
}

/* Bytes that a convolution reads and writes if it moves each operand once. A result that is added
 * to counts twice, because it is also read. */
static double operand_bytes(const struct cs_problem *problem)
{
    double bytes = 0;
    for (int i = 0; i < problem->tensors; i++) {
        const struct cs_tensor *tensor = &problem->tensor[i];
        double times = 1;
        if (tensor->is_virtual || tensor->by_value)
            continue;
        if (i == (int)cs_result(problem->direction) && (problem->beta > 0 || problem->beta < 0))
            times = 2;
        bytes += times * elements_of(tensor) * (double)cs_problem_dtype_size(tensor->dtype);
    }
    return bytes;
}

/* True if D, H and W of the tensor can be read as one axis. cuDNN converts the layout of such a
 * tensor at the speed of memory, and that of any other element by element. */
static bool is_packed(const struct cs_tensor *tensor)
{
    double next = 0;
    for (int dim = CS_W; dim >= CS_D; dim--) {
        if (tensor->dims[dim] == 1)
            continue;
        if (next > 0 && (double)tensor->strides[dim] != next)
            return false;
        next = (double)tensor->strides[dim] * (double)tensor->dims[dim];
    }
    return true;
}

static double unpacked_elements(const struct cs_problem *problem)
{
    double elements = 0;
    for (int i = 0; i < CS_OPERANDS; i++)
        if (!problem->tensor[i].is_virtual && !is_packed(&problem->tensor[i]))
            elements += elements_of(&problem->tensor[i]);
    return elements;
}

/* A convolution as `count` matrix products, one for each group: (rows x sum) times (sum x columns).
 */
struct product {
    double rows, columns, sum, count;
};

/* The product that computes the result of the problem's direction. */
static struct product product_of(const struct cs_problem *problem)
{
    const struct cs_tensor *x = &problem->tensor[CS_X], *filter = &problem->tensor[CS_FILTER];
    const struct cs_tensor *y = &problem->tensor[CS_Y];
    double groups = (double)problem->groups, taps = 1, strides = 1;
    double in = (double)filter->dims[CS_C], out = (double)filter->dims[CS_N] / groups;
    double from = (double)x->dims[CS_N], to = (double)y->dims[CS_N];
    for (int i = 0; i < CS_SPATIAL; i++) {
        taps *= (double)filter->dims[CS_D + i];
        strides *= (double)problem->stride[i];
        from *= (double)x->dims[CS_D + i];
        to *= (double)y->dims[CS_D + i];
    }
    switch (problem->direction) {
    case CS_BACKWARD_DATA:
        return (struct product){from, in, out * taps / strides, groups};
    case CS_BACKWARD_FILTER:
        return (struct product){out, in * taps, to, groups};
    default:
        return (struct product){to, out, in * taps, groups};
    }
}

/* Results of a thread block along rows or columns. */
static double block_side(double extent)
{
    return extent >= BLOCK ? BLOCK : rounded_up(extent / GRAIN) * GRAIN;
}

/* The number of parts into which sums of a product are split, so that more multiprocessors have
 * work. */
static double splits_of(const struct cs_problem *problem, double sum, double blocks,
                        const struct rates *rates)
{
    double splits =
        smaller(rounded_down(rates->multiprocessors / blocks), rounded_down(sum / LEAST_SUM));
    if (rates->engine.splits > 0)
        return smaller((double)rates->engine.splits, cs_larger(rounded_down(sum / GRAIN), 1));
    return problem->direction == CS_BACKWARD_FILTER ? cs_larger(splits, 1) : 1;
}

/* The factor of multiplications that Winograd's transforms save on a window: in tiles of t x t, r x
 * r taps give (t - r + 1)^2 results with t^2 multiplications. */
static double saved_of(const struct cs_problem *problem, int extent)
{
    double taps = (double)problem->tensor[CS_FILTER].dims[CS_W], results = extent - taps + 1;
    if (extent == 0 || taps < 2)
        return 1;
    double along = results >= 2 ? results * taps / extent : 1.5; /* F(2, 3) */
    return smaller(along * along, MOST_SAVED);
}

/* Operations a second and multiprocessor that the tile's engine reaches, the multiplications that
 * Winograd saves included. */
static double rate_of(const struct cs_problem *problem, const struct tile *tile,
                      enum cs_relaxation relaxation, const struct rates *rates)
{
    const struct cs_engine_traits *engine = &rates->engine;
    bool is_16_bit = problem->tensor[CS_X].dtype != CS_F32;
    bool own_engine = relaxation == CS_TILE_HEURISTICS; /* an engine other than the application's */
    bool cores = own_engine      ? is_16_bit
                 : engine->known ? engine->tensor_cores
                                 : is_16_bit || tile->workspace >= tile->operands / 2;
    double rate = !cores ? rates->fma : is_16_bit ? rates->tensor : rates->tf32;
    return own_engine ? rate : rate * saved_of(problem, engine->winograd);
}

/* The results that one thread block computes. */
struct block {
    double rows, columns;
};

static double blocks_of(const struct product *product, const struct block *block)
{
    return rounded_up(product->rows / block->rows) * rounded_up(product->columns / block->columns) *
           product->count;
}

/* Sets the seconds of the tile's arithmetic. An engine with the application's knobs has the same
 * thread blocks for a tile as for the untiled convolution, and splits sums into as many parts. With
 * CS_TILE_HEURISTICS, cuDNN chooses an engine for the size of the tile. */
static void add_arithmetic(const struct cs_problem *untiled, const struct cs_problem *problem,
                           enum cs_relaxation relaxation, const struct rates *rates,
                           struct tile *tile)
{
    const struct product product = product_of(problem);
    const struct product chosen_for =
        product_of(relaxation == CS_TILE_HEURISTICS ? problem : untiled);
    const struct block block = {block_side(chosen_for.rows), block_side(chosen_for.columns)};
    double splits = splits_of(problem, chosen_for.sum, blocks_of(&chosen_for, &block), rates);
    double thread_blocks = blocks_of(&product, &block) * splits;
    double seconds = 2 * block.rows * block.columns * product.sum / splits /
                     rate_of(problem, tile, relaxation, rates); /* seconds of one thread block */
    tile->filled = thread_blocks / rates->multiprocessors * seconds;
    tile->waves = rounded_up(thread_blocks / rates->multiprocessors) * seconds;
}

/* The assumed time of an engine of this relaxation, as a multiple of the time of the application's
 * engine. */
static double engine_slowdown(enum cs_relaxation relaxation, const struct cs_coefficients *use)
{
    switch (relaxation) {
    case CS_DEFAULT_KNOBS:
        return use->other_knobs;
    case CS_SIMILAR_ENGINE:
        return use->other_engine;
    default:
        return 1;
    }
}

/* Scratch bytes of one tile. */
struct scratch {
    double workspace, staged;
};

/* Computes bytes and seconds of one tile. `problem` is a tile of `untiled`, on an engine of this
 * relaxation. */
static struct tile tile_of(const struct cs_problem *untiled, const struct cs_problem *problem,
                           struct scratch scratch, enum cs_relaxation relaxation,
                           const struct rates *rates, const struct cs_coefficients *use)
{
    double slower = engine_slowdown(relaxation, use);
    struct tile tile = {
        .operands = operand_bytes(problem),
        .workspace = scratch.workspace,
        .staged = scratch.staged,
        .kernels = (scratch.workspace > 0 ? CONVERTING_KERNELS : 1) + (scratch.staged > 0 ? 1 : 0),
    };
    if (scratch.workspace > 0)
        tile.strided = unpacked_elements(problem) / rates->strided;
    add_arithmetic(untiled, problem, relaxation, rates, &tile);
    tile.waves *= slower;
    tile.filled *= slower;
    return tile;
}

/* The share of repeated reads that L2 serves: 1 while the bytes that are moved between the two
 * reads fit into it, 0 from twice its capacity on. */
static double hit_of(const struct tile *tile, double lanes, const struct rates *rates)
{
    double between = lanes * (tile->workspace + tile->staged + tile->operands / 2);
    return smaller(cs_larger(2 - between / rates->capacity, 0), 1);
}

/* Sums over all tiles of a plan. */
struct sums {
    double one_by_one;      /* seconds of tiles run one after the other, without the fixed time of
                               kernels */
    double filled, kernels; /* sums over all tiles of the members of struct tile */
    double launched;        /* tiles */
    struct cs_cost cost;
};

/* Adds `count` equal tiles to the sums. `shared` is the share of the operands that other tiles move
 * too. A workspace has converted copies of operands: the conversions write it, the convolution
 * reads it. */
static void add_tiles(struct sums *sums, const struct tile *tile, double count, double shared,
                      double lanes, const struct rates *rates)
{
    double hit = hit_of(tile, lanes, rates);
    double fresh = 1 - shared * hit; /* share of the operands that L2 does not serve */

    /* Seconds for a byte of scratch, and of operands. */
    double per_scratch = (1 - hit) / rates->dram + hit / rates->l2;
    double per_operand = fresh / rates->dram + (1 - fresh) / rates->l2;

    double scratch = 2 * (tile->workspace + tile->staged); /* each byte is written and read */
    double converted = smaller(tile->workspace / tile->operands, 1) * tile->operands;
    double conversions = converted * per_operand +
                         (tile->workspace + 2 * tile->staged) * per_scratch + tile->strided;
    double convolution = (tile->operands - converted) * per_operand + tile->workspace * per_scratch;
    sums->one_by_one += count * (conversions + cs_larger(tile->waves, convolution));
    sums->kernels += count * tile->kernels;
    sums->filled += count * tile->filled;
    sums->cost.memory += count * (conversions + convolution);
    sums->cost.arithmetic += count * tile->waves;
    sums->cost.moved += count * (fresh * tile->operands + (1 - hit) * scratch);
    sums->cost.cached += count * ((1 - fresh) * tile->operands + hit * scratch);
}

static double lane_seconds(double lanes, const struct cs_coefficients *use)
{
    return cs_larger(lanes - 1, 0) * use->lane_us * 1e-6;
}

/* Seconds of all tiles on their lanes. `kernels`: seconds that kernels add. */
static double seconds_of(const struct sums *sums, double kernels, double lanes,
                         const struct cs_coefficients *use)
{
    double one_by_one = sums->one_by_one + kernels;
    if (lanes <= 1)
        return one_by_one;
    double busiest = cs_larger(cs_larger(sums->filled, sums->cost.memory), one_by_one / lanes);
    return one_by_one - use->overlap * (one_by_one - busiest) + lane_seconds(lanes, use);
}

/* The cost of all tiles. Their seconds are at least the host's time to start them. */
static struct cs_cost total_of(const struct sums *sums, double lanes,
                               const struct cs_coefficients *use)
{
    struct cs_cost cost = sums->cost;
    double least = sums->kernels * use->kernel_us * 1e-6;
    double most = sums->kernels * cs_larger(use->kernel_us, use->kernel_us_most) * 1e-6;
    double decided = sums->kernels * use->kernel_us_decided * 1e-6;
    double host = sums->launched > 1 ? sums->launched * use->host_us * 1e-6 : 0;
    cost.seconds = cs_larger(seconds_of(sums, least, lanes, use), host);
    cost.most = cs_larger(seconds_of(sums, most, lanes, use), host);
    cost.decided = cs_larger(seconds_of(sums, decided, lanes, use), host);
    cost.launches = least + lane_seconds(lanes, use);
    return cost;
}

struct cs_cost cs_cost_with(const struct cs_plan *plan, const struct cs_profile *profile,
                            const struct cs_coefficients *use)
{
    struct rates rates = rates_of(profile, use);
    struct tile tile[CS_MAX_TILE_SHAPES];
    struct sums sums = {.launched = (double)plan->tiles};
    double operands = 0;
    double lanes = (double)(plan->lanes < plan->tiles ? plan->lanes : plan->tiles);
    for (int64_t i = 0; i < plan->shapes; i++) {
        struct cs_problem problem;
        cs_plan_problem(plan, i, &problem);
        tile[i] = tile_of(
            &plan->problem, &problem,
            (struct scratch){(double)plan->shape[i].workspace, (double)plan->shape[i].staged},
            plan->shape[i].relaxation, &rates, use);
        operands += (double)plan->shape[i].tiles * tile[i].operands;
    }
    double shared = cs_larger(1 - operand_bytes(&plan->problem) / operands, 0);
    for (int64_t i = 0; i < plan->shapes; i++)
        add_tiles(&sums, &tile[i], (double)plan->shape[i].tiles, shared, lanes, &rates);
    return total_of(&sums, lanes, use);
}

static struct cs_coefficients coefficients_of(const struct cs_profile *profile)
{
    struct cs_coefficients use = cs_cost_defaults;
    if (profile->ladder.known) {
        use.kernel_us = use.kernel_us_most = use.kernel_us_decided = profile->ladder.kernel_us;
        use.overlap = profile->ladder.lane_gain;
    }
    return use;
}

struct cs_cost cs_cost_of_tiles(const struct cs_problem *untiled, const struct cs_problem *tile,
                                const struct cs_cost_tiles *tiles, const struct cs_profile *profile)
{
    const struct cs_coefficients coefficients = coefficients_of(profile), *use = &coefficients;
    struct rates rates = rates_of(profile, use);
    struct sums sums = {.launched = tiles->launched};
    double lanes = smaller(tiles->lanes > 1 ? tiles->lanes : 1, tiles->launched);
    struct scratch scratch = {tiles->workspace - tiles->staged, tiles->staged};
    struct tile each = tile_of(untiled, tile, scratch, tiles->relaxation, &rates, use);
    if (scratch.staged > 0)
        each.strided = 0;
    double shared = cs_larger(1 - operand_bytes(untiled) / (tiles->count * each.operands), 0);
    add_tiles(&sums, &each, tiles->count, shared, lanes, &rates);
    sums.kernels += (tiles->launched - tiles->count) * each.kernels;
    return total_of(&sums, lanes, use);
}

struct cs_cost cs_cost_of(const struct cs_plan *plan, const struct cs_profile *profile)
{
    const struct cs_coefficients use = coefficients_of(profile);
    return cs_cost_with(plan, profile, &use);
}

struct cs_cost cs_cost_untiled(const struct cs_problem *problem, int64_t required,
                               const struct cs_profile *profile)
{
    const struct cs_cost_tiles untiled = {.count = 1, .launched = 1, .workspace = (double)required};
    return cs_cost_of_tiles(problem, problem, &untiled, profile);
}

struct cs_times cs_cost_times(const struct cs_cost *cost)
{
    return (struct cs_times){cost->seconds, cs_larger(cost->most, cost->seconds)};
}

struct cs_times cs_cost_ratio(struct cs_times tiled, struct cs_times untiled)
{
    if (!(untiled.least > 0) || !(untiled.most > 0))
        return (struct cs_times){0, 0};
    double least = tiled.least / untiled.least;
    return (struct cs_times){least, cs_larger(tiled.most / untiled.most, least)};
}
