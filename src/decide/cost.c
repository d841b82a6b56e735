/* The cost model: converts bytes, arithmetic, launches and waves of a plan to seconds. */
#include "decide/cost.h"

#include "base/checked.h"
#include <string.h>

enum {
    BLOCK = 128,            /* results of a thread block along rows and columns */
    GRAIN = 8,              /* extents below BLOCK are rounded up to multiples of this, and so are
                               channels of a sum on tensor cores */
    LEAST_SIDE = 96,        /* a block with fewer rows or columns takes as long on tensor cores */
    LEAST_SUM = 1024,       /* terms that a split sum keeps in each block */
    CONVERTING_KERNELS = 4, /* kernels of a tile with a workspace: conversions of x, filter and y,
                               and the convolution */
    TF32_FROM = 800,        /* first capability whose tensor cores compute TF32 */
    WARP_GROUPS_FROM =
        900,              /* the capabilities with tensor instructions of a whole group of warps, */
    WARP_GROUPS_TO = 1200 /* which only engines with clusters of blocks use: [from, to) */
};

/* From this share of x and y on, a workspace holds copies of both. */
static const double NEARLY_ALL = 0.98;

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

/* The rates that a device and the application's engine reach. */
struct rates {
    double multiprocessors;
    double resident;          /* thread blocks that a multiprocessor runs at once */
    double tensor, tf32, fma; /* operations a second and multiprocessor */
    double dram;              /* bytes a second */
    double converted;         /* elements a second that conversions of layouts reach, */
    double strided;           /* and of views whose D, H and W are not packed */
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

/* True if the engine uses clusters of thread blocks. An unknown one does if the device has them. */
static bool uses_clusters(const struct cs_profile *profile)
{
    return profile->engine.known ? profile->engine.clusters
                                 : profile->capability >= WARP_GROUPS_FROM;
}

/* The rates of the profile's device. Unknown properties are those of a typical device. */
static struct rates rates_of(const struct cs_profile *profile, const struct cs_coefficients *use)
{
    const struct kind_of_device *usual = typical_device(profile->capability);
    double hertz = 1e3 * or_typical(profile->clock, usual->clock);
    double multiprocessors = or_typical(profile->multiprocessors, usual->multiprocessors);
    double tensor = is_geforce(profile->name) ? usual->geforce : usual->tensor;
    double fma = usual->fma * hertz * use->fma_share;
    bool by_warps = !uses_clusters(profile) && usual->capability >= WARP_GROUPS_FROM &&
                    usual->capability < WARP_GROUPS_TO;
    tensor *= hertz * (by_warps ? use->warp_share : use->tensor_share);
    return (struct rates){
        .multiprocessors = multiprocessors,
        .resident = uses_clusters(profile) ? 1 : 2,
        .tensor = tensor,
        .tf32 = usual->capability >= TF32_FROM ? tensor / 2 : fma,
        .fma = fma,
        .dram = cs_cost_bandwidth(profile) * use->dram_share,
        .converted = use->convert_rate * hertz * multiprocessors,
        .strided = use->strided_rate * hertz * multiprocessors,
        .engine = profile->engine,
    };
}

/* The bytes and seconds of one tile of a shape. */
struct tile {
    double operands, staged; /* bytes */
    double workspace;        /* bytes of all copies that it holds, one after the other */
    double kernels;
    double waves;       /* seconds of arithmetic, with an incomplete last wave */
    double conversions; /* seconds of copies and conversions before and after the convolution */
    double memory;      /* seconds in which the convolution's kernel moves its bytes */
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

/* Elements of a converted copy, whose channels are padded to GRAIN. */
static double padded_elements(const struct cs_tensor *tensor)
{
    double channels = (double)tensor->dims[CS_C];
    return elements_of(tensor) / channels * GRAIN * rounded_up(channels / GRAIN);
}

/* The parts in which an engine converts x and y, one after the other in the same workspace: no copy
 * has more than 2^31 elements. */
static double converted_parts(const struct cs_problem *problem)
{
    return rounded_up(cs_larger(padded_elements(&problem->tensor[CS_X]),
                                padded_elements(&problem->tensor[CS_Y])) /
                      0x1p31);
}

/* True if the workspace holds copies of both x and y. */
static bool copies_both(const struct cs_problem *problem, double workspace)
{
    return workspace >=
           NEARLY_ALL *
               (elements_of(&problem->tensor[CS_X]) + elements_of(&problem->tensor[CS_Y])) *
               (double)cs_problem_dtype_size(problem->tensor[CS_X].dtype);
}

/* The elements of the operand that an engine converts for a tile, but not for the whole: some
 * engines read x or write y as it is if it is packed. They convert it element by element. */
static double newly_converted(const struct cs_problem *untiled, double required,
                              const struct cs_problem *tile, double workspace)
{
    if (!(required > 0) || copies_both(untiled, required) || !copies_both(tile, workspace))
        return 0;
    double size = (double)cs_problem_dtype_size(untiled->tensor[CS_X].dtype);
    double from_x = required - size * elements_of(&untiled->tensor[CS_X]);
    double from_y = required - size * elements_of(&untiled->tensor[CS_Y]);
    bool has_x = from_x * from_x < from_y * from_y;
    return elements_of(&tile->tensor[has_x ? CS_Y : CS_X]);
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

/* The engine of a tile: the operations a second and multiprocessor that it reaches, the
 * multiplications that Winograd saves included. */
struct speed {
    double rate;
    bool tensor_cores;
};

static struct speed speed_of(const struct cs_problem *problem, const struct tile *tile,
                             const struct rates *rates)
{
    const struct cs_engine_traits *engine = &rates->engine;
    bool is_16_bit = problem->tensor[CS_X].dtype != CS_F32;
    bool cores =
        engine->known ? engine->tensor_cores : is_16_bit || tile->workspace >= tile->operands / 2;
    double rate = !cores ? rates->fma : is_16_bit ? rates->tensor : rates->tf32;
    return (struct speed){rate * saved_of(problem, engine->winograd), cores};
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

/* The multiply-adds of a thread block, padding included: tensor cores need no less time for a sum
 * of fewer than GRAIN channels, or for a block of fewer than LEAST_SIDE rows or columns. Kernels
 * for groups pad nothing. */
static double block_work(const struct cs_problem *problem, const struct product *product,
                         const struct block *block, bool tensor_cores)
{
    double channels =
        problem->direction == CS_FORWARD ? (double)problem->tensor[CS_FILTER].dims[CS_C] : GRAIN;
    if (!tensor_cores || problem->groups > 1)
        return block->rows * block->columns * product->sum;
    return cs_larger(block->rows, LEAST_SIDE) * cs_larger(block->columns, LEAST_SIDE) *
           product->sum * (channels < GRAIN ? GRAIN / channels : 1);
}

/* Returns the seconds of the tile's arithmetic. An engine with the application's knobs has the same
 * thread blocks for a tile as for the untiled convolution, and splits sums into as many parts. */
static double waves_of(const struct cs_problem *untiled, const struct cs_problem *problem,
                       const struct tile *tile, const struct rates *rates)
{
    const struct speed speed = speed_of(problem, tile, rates);
    const struct product product = product_of(problem);
    const struct product chosen_for = product_of(untiled);
    const struct block block = {block_side(chosen_for.rows), block_side(chosen_for.columns)};
    double splits = splits_of(problem, chosen_for.sum, blocks_of(&chosen_for, &block), rates);
    double at_once = rates->multiprocessors * rates->resident;
    double wave = 2 * block_work(problem, &product, &block, speed.tensor_cores) / splits /
                  speed.rate * rates->resident; /* seconds */
    return rounded_up(blocks_of(&product, &block) * splits / at_once) * wave;
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

/* Seconds of the conversions and copies of a tile: the workspace is a converted copy of operands,
 * which is written and read once. */
static double conversions_of(const struct cs_problem *problem, const struct tile *tile,
                             const struct rates *rates)
{
    double converted = smaller(tile->workspace, tile->operands);
    double elements = (tile->workspace + 2 * tile->staged) /
                      (double)cs_problem_dtype_size(problem->tensor[CS_X].dtype);
    return cs_larger((converted + tile->workspace + 2 * tile->staged) / rates->dram,
                     elements / rates->converted);
}

/* What a tile is a part of. */
struct whole {
    const struct cs_problem *problem;
    double required; /* bytes of workspace of the untiled call; 0: unknown */
};

/* Computes bytes and seconds of one tile. `problem` is a tile of the whole, on an engine of this
 * relaxation. */
static struct tile tile_of(const struct whole *whole, const struct cs_problem *problem,
                           struct scratch scratch, enum cs_relaxation relaxation,
                           const struct rates *rates, const struct cs_coefficients *use)
{
    struct tile tile = {
        .operands = operand_bytes(problem),
        .workspace = scratch.workspace * converted_parts(problem),
        .staged = scratch.staged,
        .kernels = (scratch.workspace > 0 ? CONVERTING_KERNELS : 1) + (scratch.staged > 0 ? 1 : 0),
    };
    double converted = smaller(tile.workspace, tile.operands);
    bool is_part = whole->problem != problem;
    tile.memory = (tile.operands - converted + tile.workspace) / rates->dram;
    tile.conversions = conversions_of(problem, &tile, rates);
    if (scratch.workspace > 0 && !(scratch.staged > 0))
        tile.conversions += unpacked_elements(problem) / rates->strided;
    if (is_part && problem->direction != CS_BACKWARD_FILTER)
        tile.conversions +=
            newly_converted(whole->problem, whole->required, problem, tile.workspace) /
            rates->strided;
    tile.waves = waves_of(whole->problem, problem, &tile, rates) * engine_slowdown(relaxation, use);
    if (is_part && problem->direction == CS_BACKWARD_FILTER)
        tile.waves *= use->filter_tile;
    return tile;
}

/* Sums over all tiles of a plan. */
struct sums {
    double seconds; /* of tiles run one after the other, without the fixed time of kernels */
    double kernels;
    double launched; /* tiles */
    struct cs_cost cost;
};

/* Adds `count` equal tiles to the sums. */
static void add_tiles(struct sums *sums, const struct tile *tile, double count)
{
    sums->seconds += count * (tile->conversions + cs_larger(tile->waves, tile->memory));
    sums->kernels += count * tile->kernels;
    sums->cost.memory += count * (tile->conversions + tile->memory);
    sums->cost.arithmetic += count * tile->waves;
}

/* Seconds of all tiles on their lanes, of which each kernel adds `kernel_us`. Lanes hide a part of
 * that, and nothing else. The seconds are at least the host's time to start the tiles. */
static double seconds_of(const struct sums *sums, double kernel_us, double lanes,
                         const struct cs_coefficients *use)
{
    double shown = lanes > 1 ? 1 - use->overlap : 1;
    double host = sums->launched > 1 ? sums->launched * use->host_us * 1e-6 : 0;
    return cs_larger(sums->seconds + sums->kernels * kernel_us * 1e-6 * shown +
                         cs_larger(lanes - 1, 0) * use->lane_us * 1e-6,
                     host);
}

/* The cost of all tiles. */
static struct cs_cost total_of(const struct sums *sums, double lanes,
                               const struct cs_coefficients *use)
{
    struct cs_cost cost = sums->cost;
    cost.seconds = seconds_of(sums, use->kernel_us_least, lanes, use);
    cost.most = seconds_of(sums, cs_larger(use->kernel_us_least, use->kernel_us_most), lanes, use);
    cost.decided = seconds_of(sums, use->kernel_us, lanes, use);
    return cost;
}

struct cs_cost cs_cost_with(const struct cs_plan *plan, int64_t required,
                            const struct cs_profile *profile, const struct cs_coefficients *use)
{
    const struct whole whole = {&plan->problem, (double)required};
    struct rates rates = rates_of(profile, use);
    struct sums sums = {.launched = (double)plan->tiles};
    double lanes = (double)(plan->lanes < plan->tiles ? plan->lanes : plan->tiles);
    for (int64_t i = 0; i < plan->shapes; i++) {
        struct cs_problem problem;
        cs_plan_problem(plan, i, &problem);
        const struct tile tile = tile_of(
            &whole, plan->cuts > 0 ? &problem : whole.problem,
            (struct scratch){(double)plan->shape[i].workspace, (double)plan->shape[i].staged},
            plan->shape[i].relaxation, &rates, use);
        add_tiles(&sums, &tile, (double)plan->shape[i].tiles);
    }
    return total_of(&sums, lanes, use);
}

static struct cs_coefficients coefficients_of(const struct cs_profile *profile)
{
    struct cs_coefficients use = cs_cost_defaults;
    if (profile->ladder.known) {
        use.kernel_us_least = use.kernel_us_most = use.kernel_us = profile->ladder.kernel_us;
        use.overlap = profile->ladder.lane_gain;
    }
    return use;
}

struct cs_cost cs_cost_of_tiles(const struct cs_problem *untiled, const struct cs_problem *tile,
                                const struct cs_cost_tiles *tiles, const struct cs_profile *profile)
{
    const struct cs_coefficients coefficients = coefficients_of(profile), *use = &coefficients;
    const struct whole whole = {untiled, tiles->required};
    struct rates rates = rates_of(profile, use);
    struct sums sums = {.launched = tiles->launched};
    double lanes = smaller(tiles->lanes > 1 ? tiles->lanes : 1, tiles->launched);
    struct scratch scratch = {tiles->workspace - tiles->staged, tiles->staged};
    struct tile each = tile_of(&whole, tile, scratch, tiles->relaxation, &rates, use);
    add_tiles(&sums, &each, tiles->count);
    sums.kernels += (tiles->launched - tiles->count) * each.kernels;
    return total_of(&sums, lanes, use);
}

struct cs_cost cs_cost_of(const struct cs_plan *plan, int64_t required,
                          const struct cs_profile *profile)
{
    const struct cs_coefficients use = coefficients_of(profile);
    return cs_cost_with(plan, required, profile, &use);
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
