#include "base/checked.h"
#include "check.h"
#include "plan_terms.h"
#include "random_problem.h"

/* The cut is held against oracles that share no code with it: boundaries found tile by tile,
 * windows in 128-bit intervals, products against their two cuts alone, and for small problems every
 * product of an element of x and one of w that goes into an element of y, by byte address. */

enum {
    RANDOM_SMALL = 60000,
    RANDOM_LARGE = 60000,
    SEED = 20262,
    NOMINAL_TILES = 3000 /* most tiles that the boundary oracle walks */
};

/* A cut axis as described by the problem. */
struct axis {
    enum cs_axis name;
    int64_t tiled_extent, follows, stride, pre, reach, unit;
    bool transposed, sums;
};

static struct axis axis_of(const struct cs_problem *problem, enum cs_axis axis)
{
    const int dims[CS_AXES] = {-1, CS_N, CS_D, CS_H, CS_W, CS_C, CS_C};
    int dim = dims[axis], i = dim - CS_D;
    const int64_t *x = problem->tensor[CS_X].dims, *y = problem->tensor[CS_Y].dims;
    struct axis a = {.name = axis, .stride = 1, .reach = 1, .unit = 1};
    a.sums = problem->direction == CS_BACKWARD_FILTER && axis != CS_AXIS_K && axis != CS_AXIS_C;
    a.tiled_extent = a.follows = axis == CS_AXIS_C ? x[dim] : y[dim];
    if (axis == CS_AXIS_K || axis == CS_AXIS_C)
        a.unit = a.tiled_extent > 8 ? 8 : 1;
    if (i >= 0) {
        a.transposed = problem->direction == CS_BACKWARD_DATA;
        a.tiled_extent = a.transposed ? x[dim] : y[dim];
        a.follows = a.transposed ? y[dim] : x[dim];
        a.stride = problem->stride[i];
        a.pre = problem->pre[i];
        a.reach = (problem->tensor[CS_FILTER].dims[dim] - 1) * problem->dilation[i] + 1;
        a.unit = a.transposed ? a.stride : 1;
    }
    return a;
}

/* Whether tiles along an axis give the result. */
static bool may_cut(const struct cs_problem *problem, enum cs_axis axis)
{
    bool wgrad = problem->direction == CS_BACKWARD_FILTER;
    bool adds = problem->tensor[CS_FILTER].dtype == CS_F32 && problem->compute == CS_F32 &&
                problem->steps == 0;
    bool filter_alone = !problem->tensor[CS_FILTER].is_virtual; /* can be copied in and out */
    for (int i = CS_OPERANDS; i < problem->tensors; i++) {
        const struct cs_tensor *tensor = &problem->tensor[i];
        if (tensor->side == CS_FILTER && !tensor->is_virtual &&
            tensor->dims[CS_C] == problem->tensor[CS_FILTER].dims[CS_C])
            filter_alone = false;
    }
    switch (axis) {
    case CS_AXIS_K:
        return problem->groups == 1 && problem->direction != CS_BACKWARD_DATA;
    case CS_AXIS_C:
        return problem->groups == 1 && problem->direction != CS_FORWARD && filter_alone;
    case CS_AXIS_NONE:
        return false;
    default:
        return !wgrad || adds;
    }
}

/* Packed filters can always be copied, others within limits. */
static bool may_be_uncopied(const struct cs_problem *problem, const struct cs_tiling *tiling)
{
    const struct cs_tensor *w = &problem->tensor[CS_FILTER];
    bool channels = tiling->axis[0] == CS_AXIS_C || tiling->axis[1] == CS_AXIS_C;
    return channels && wide_span(w) != (wide)elements_of(w) * cs_problem_dtype_size(w->dtype);
}

static wide least(wide a, wide b)
{
    return a < b ? a : b;
}

static wide most(wide a, wide b)
{
    return a > b ? a : b;
}

static wide floor_div(wide a, wide b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

/* The range that depends on [first, end) of the divided axis, clipped to the extent: all of x that
 * y reads, or all of y that x reaches. If the range is empty, the last element before it. */
static void follows(const struct axis *a, int64_t first, int64_t end, wide *begin_p, wide *end_p)
{
    if (a->transposed) {
        wide last = least(floor_div((wide)end - 1 + a->pre, a->stride), (wide)a->follows - 1);
        wide low = most(floor_div((wide)first + a->pre - a->reach, a->stride) + 1, 0);
        wide before = floor_div((wide)first + a->pre, a->stride);
        *begin_p = least(low, least(before, (wide)a->follows - 1));
        *end_p = last + 1;
        return;
    }
    wide low = (wide)first * a->stride - a->pre;
    wide high = (wide)(end - 1) * a->stride - a->pre + a->reach;
    *begin_p = most(low, 0);
    *end_p = least(high, a->follows);
}

/* The ends of the tiles, by walking steps: a tile that reads no element joins the next one, or at
 * the end the one before. Returns their number. */
static int walk_boundaries(const struct axis *a, int64_t step, int64_t ends[NOMINAL_TILES])
{
    int tiles = 0;
    for (int64_t first = 0, end; first < a->tiled_extent; first = end) {
        wide from, to;
        end = first + step < a->tiled_extent ? first + step : a->tiled_extent;
        follows(a, first, end, &from, &to);
        if (!a->transposed && to <= 0)
            continue;
        if (!a->transposed && from >= a->follows && tiles > 0)
            ends[tiles - 1] = end;
        else
            ends[tiles++] = end;
    }
    return tiles;
}

static wide padding_before(const struct axis *a, int64_t first, wide from)
{
    return a->transposed ? (wide)first + a->pre - from * a->stride
                         : from - ((wide)first * a->stride - a->pre);
}

/* Different tiles: by extents, padding before and whether they add; padding after follows. Counts
 * to one more than allowed. */
static int walk_shapes(const struct axis *a, double beta, const int64_t *ends, int tiles)
{
    wide shape[CS_MAX_TILE_SHAPES + 1][4];
    int shapes = 0;
    for (int t = 0; t < tiles && shapes <= CS_MAX_TILE_SHAPES; t++) {
        int64_t first = t ? ends[t - 1] : 0;
        wide from, to;
        follows(a, first, ends[t], &from, &to);
        wide now[4] = {ends[t] - first, to - from, padding_before(a, first, from),
                       a->sums && (t > 0 || beta == 1)};
        int k = 0;
        while (k < shapes && memcmp(shape[k], now, sizeof now) != 0)
            k++;
        memcpy(shape[k], now, sizeof now);
        shapes += k == shapes;
    }
    return shapes;
}

static void check_boundaries(const struct cs_plan *plan, const struct axis *a, int64_t step,
                             enum cs_status status)
{
    static int64_t ends[NOMINAL_TILES];
    step = (step + a->unit - 1) / a->unit * a->unit;
    if (step >= a->tiled_extent) {
        CHECK_INT(status, CS_ILLEGAL);
        return;
    }
    if (a->tiled_extent / step >= NOMINAL_TILES)
        return;
    int tiles = walk_boundaries(a, step, ends);
    int shapes = walk_shapes(a, plan->problem.beta, ends, tiles);
    bool legal = tiles >= 2 && tiles <= CS_MAX_TILES && shapes <= CS_MAX_TILE_SHAPES;
    CHECK_INT(status, legal ? CS_OK : CS_ILLEGAL);
    if (status != CS_OK)
        return;
    CHECK_INT(plan->tiles, tiles);
    CHECK_INT(plan->shapes, shapes);
    for (int i = 0; i < tiles && tiles == plan->tiles; i++) {
        struct cs_tile tile;
        cs_plan_tile(plan, i, &tile);
        CHECK_INT(tile.range[0].first + tile.range[0].count, ends[i]);
    }
}

static void check_window(const struct axis *a, const struct cs_range *range)
{
    wide begin, end;
    follows(a, range->first, range->first + range->count, &begin, &end);
    CHECK(end > begin);
    CHECK(range->in_first == begin && range->in_first + range->in_count == end);
    CHECK(range->pre == padding_before(a, range->first, begin) && range->pre >= 0);
    int64_t x = a->transposed ? range->count : range->in_count;
    int64_t y = a->transposed ? range->in_count : range->count;
    wide padded = (wide)x + range->pre + range->post;
    CHECK(range->post >= 0 && padded >= a->reach && (padded - a->reach) / a->stride + 1 == y);
    /* No padding that nothing reaches. */
    CHECK(range->post == 0 || padded - a->reach == (wide)(y - 1) * a->stride);
}

/* The dimension that an axis cuts in operands of a side, -1 if it leaves them whole. */
static int dim_of(enum cs_axis axis, enum cs_operand side)
{
    static const int dims[CS_AXES][CS_OPERANDS] = {
        {-1, -1, -1},     {CS_N, -1, CS_N}, {CS_D, -1, CS_D}, {CS_H, -1, CS_H},
        {CS_W, -1, CS_W}, {-1, CS_N, CS_C}, {CS_C, CS_C, -1},
    };
    return dims[axis][side];
}

static int cut_dim(const struct cs_problem *problem, enum cs_axis axis, int tensor)
{
    const struct cs_tensor *t = &problem->tensor[tensor];
    int dim = dim_of(axis, t->side);
    return dim >= 0 && t->dims[dim] == problem->tensor[t->side].dims[dim] ? dim : -1;
}

/* The next image, which does not exist, begins at the end of this one. */
static void shorten(struct cs_tensor *want)
{
    wide end = 1;
    for (int dim = CS_C; dim < CS_DIMS; dim++) {
        wide bytes = (wide)want->dims[dim] * want->strides[dim];
        end = bytes > end ? bytes : end;
    }
    if (want->dims[CS_N] == 1 && end < want->strides[CS_N])
        want->strides[CS_N] = (int64_t)end;
}

/* Checks a kind as a convolution: it differs from the untiled problem only in the ranges. */
static void check_shape(const struct cs_plan *plan, const struct axis *axes,
                        const struct cs_tile *tile, const struct cs_problem *part, bool adds)
{
    static struct cs_problem want;
    bool staged = false;
    want = plan->problem;
    for (int c = 0; c < plan->cuts; c++) {
        const struct axis *a = &axes[c];
        const struct cs_range *range = &tile->range[c];
        for (int i = 0; i < want.tensors; i++) {
            int dim = cut_dim(&plan->problem, a->name, i);
            bool tiled_extent = want.tensor[i].side == (a->transposed ? CS_X : CS_Y);
            if (dim >= 0)
                want.tensor[i].dims[dim] = tiled_extent ? range->count : range->in_count;
        }
        if (a->name >= CS_AXIS_D && a->name <= CS_AXIS_W) {
            want.pre[a->name - CS_AXIS_D] = range->pre;
            want.post[a->name - CS_AXIS_D] = range->post;
        }
        staged |= a->name == CS_AXIS_C;
    }
    for (int i = 0; i < want.tensors; i++) {
        want.tensor[i].alignment = part->tensor[i].alignment;
        shorten(&want.tensor[i]);
    }
    if (staged) {
        memcpy(want.tensor[CS_FILTER].strides, part->tensor[CS_FILTER].strides,
               sizeof want.tensor[CS_FILTER].strides);
        CHECK_INT(part->tensor[CS_FILTER].alignment, CS_STAGED_ALIGNMENT);
    }
    want.beta = adds ? 1 : plan->problem.beta;
    int64_t words[2][CS_PROBLEM_WORDS];
    int used = cs_problem_words(&want, words[0]);
    CHECK_INT(cs_problem_words(part, words[1]), used);
    CHECK(memcmp(words[0], words[1], (size_t)used * sizeof words[0][0]) == 0);
    CHECK_INT(cs_problem_check(part), CS_OK);
}

static void check_offsets(const struct cs_plan *plan, const struct axis *axes,
                          const struct cs_tile *tile, const struct cs_problem *part)
{
    const struct cs_problem *untiled = &plan->problem;
    for (int i = 0; i < untiled->tensors; i++) {
        struct cs_tensor view = part->tensor[i];
        wide offset = 0;
        for (int c = 0; c < plan->cuts; c++) {
            int dim = cut_dim(untiled, axes[c].name, i);
            bool tiled_extent = view.side == (axes[c].transposed ? CS_X : CS_Y);
            if (dim >= 0)
                offset += (wide)(tiled_extent ? tile->range[c].first : tile->range[c].in_first) *
                          untiled->tensor[i].strides[dim] * cs_problem_dtype_size(view.dtype);
        }
        memcpy(view.strides, untiled->tensor[i].strides, sizeof view.strides);
        CHECK(tile->offset[i] == offset);
        CHECK(offset + wide_span(&view) <= wide_span(&untiled->tensor[i]));
    }
}

/* Kinds differ, count their tiles, and promise the largest alignment that all of these keep: no
 * more, and of one cut no less. */
static void check_shapes(const struct cs_plan *plan)
{
    static struct cs_problem shape[CS_MAX_TILE_SHAPES];
    int64_t alignment[CS_MAX_TILE_SHAPES][CS_MAX_TENSORS], tiles[CS_MAX_TILE_SHAPES] = {0};
    bool staged = plan->staged > 0;
    for (int k = 0; k < plan->shapes; k++) {
        cs_plan_problem(plan, k, &shape[k]);
        for (int i = 0; i < plan->problem.tensors; i++)
            alignment[k][i] = plan->problem.tensor[i].alignment;
    }
    for (int64_t t = 0; t < plan->tiles; t++) {
        struct cs_tile tile;
        cs_plan_tile(plan, t, &tile);
        tiles[tile.shape]++;
        for (int i = 0; i < plan->problem.tensors; i++) {
            while (tile.offset[i] % alignment[tile.shape][i])
                alignment[tile.shape][i] /= 2;
        }
    }
    for (int k = 0; k < plan->shapes; k++) {
        CHECK_INT(plan->shape[k].tiles, tiles[k]);
        for (int i = 0; i < plan->problem.tensors; i++) {
            int64_t promised = shape[k].tensor[i].alignment;
            if (staged && i == CS_FILTER)
                CHECK_INT(promised, CS_STAGED_ALIGNMENT);
            else if (plan->cuts == 1)
                CHECK_INT(promised, alignment[k][i]);
            else
                CHECK(promised >= 1 && promised <= alignment[k][i]);
        }
    }
}

/* Packed, in the order of the application's strides, and large enough for every kind. */
static void check_staged(const struct cs_plan *plan)
{
    bool channels = plan->cut[0].axis == CS_AXIS_C || plan->cut[1].axis == CS_AXIS_C;
    wide largest = 0;
    CHECK_INT(plan->staged > 0, channels);
    CHECK_INT(plan->workspace, plan->staged);
    for (int k = 0; channels && k < plan->shapes; k++) {
        static struct cs_problem shape;
        cs_plan_problem(plan, k, &shape);
        const struct cs_tensor *w = &shape.tensor[CS_FILTER];
        wide bytes = cs_problem_dtype_size(w->dtype);
        for (int dim = 0; dim < CS_DIMS; dim++)
            bytes *= w->dims[dim];
        CHECK(wide_span(w) == bytes);
        largest = most(largest, bytes);
        const int64_t *strides = plan->problem.tensor[CS_FILTER].strides;
        for (int i = 0; i < CS_DIMS * CS_DIMS; i++) {
            int inner = i / CS_DIMS, outer = i % CS_DIMS;
            if (strides[inner] > 0 && strides[inner] < strides[outer])
                CHECK(w->strides[inner] <= w->strides[outer]);
        }
    }
    CHECK(plan->staged ==
          (largest + CS_SCRATCH_ALIGNMENT - 1) / CS_SCRATCH_ALIGNMENT * CS_SCRATCH_ALIGNMENT);
}

/* Bytes of x or y that tiles read beyond its first time. */
static wide reread(const struct cs_plan *plan, const struct axis *axes, enum cs_operand side)
{
    const struct cs_tensor *untiled = &plan->problem.tensor[side];
    wide read = 0, once = cs_problem_dtype_size(untiled->dtype);
    for (int64_t t = 0; t < plan->tiles; t++) {
        static struct cs_problem part;
        struct cs_tile tile;
        wide bytes = cs_problem_dtype_size(untiled->dtype);
        cs_plan_tile(plan, t, &tile);
        cs_plan_problem(plan, tile.shape, &part);
        for (int dim = 0; dim < CS_DIMS; dim++)
            bytes *= part.tensor[side].dims[dim];
        read += bytes;
    }
    for (int dim = 0; dim < CS_DIMS; dim++) {
        wide extent = untiled->dims[dim];
        for (int c = 0; c < plan->cuts; c++) {
            if (dim_of(axes[c].name, side) != dim || (side == CS_X) == axes[c].transposed ||
                dim < CS_D)
                continue;
            int64_t inner = c == 0 && plan->cuts > 1 ? plan->cut[1].tiles : 1;
            wide end = 0;
            extent = 0;
            for (int64_t t = 0; t < plan->cut[c].tiles; t++) {
                struct cs_tile tile;
                cs_plan_tile(plan, t * inner, &tile);
                const struct cs_range *range = &tile.range[c];
                extent += most(range->in_first + range->in_count - most(end, range->in_first), 0);
                end = most(end, range->in_first + range->in_count);
            }
        }
        once *= extent;
    }
    return read - once;
}

static void check_halo(const struct cs_plan *plan, const struct axis *axes)
{
    enum cs_direction direction = plan->problem.direction;
    wide halo = 0;
    if (direction != CS_BACKWARD_DATA)
        halo += reread(plan, axes, CS_X);
    if (direction != CS_FORWARD)
        halo += reread(plan, axes, CS_Y);
    CHECK(plan->halo == halo);
}

static void check_tiles(const struct cs_plan *plan, const struct axis *axes)
{
    int64_t next[CS_MAX_CUTS] = {0};
    int64_t inner = plan->cuts > 1 ? plan->cut[1].tiles : 1;
    for (int64_t t = 0; t < plan->tiles; t++) {
        static struct cs_problem part;
        struct cs_tile tile;
        const int64_t at[CS_MAX_CUTS] = {t / inner, t % inner};
        bool adds = false;
        cs_plan_tile(plan, t, &tile);
        cs_plan_problem(plan, tile.shape, &part);
        for (int c = 0; c < plan->cuts; c++) {
            next[c] = at[c] == 0 ? 0 : next[c];
            CHECK_INT(tile.range[c].first, next[c]);
            CHECK(tile.range[c].count >= 1);
            check_window(&axes[c], &tile.range[c]);
            adds |= axes[c].sums && at[c] > 0;
            if (c == plan->cuts - 1 || at[1] == inner - 1)
                next[c] += tile.range[c].count;
            if (at[c] == plan->cut[c].tiles - 1)
                CHECK_INT(tile.range[c].first + tile.range[c].count, axes[c].tiled_extent);
        }
        check_shape(plan, axes, &tile, &part, adds);
        check_offsets(plan, axes, &tile, &part);
    }
}

/* One-row tiles, tiles just short of the whole, and everything between. */
static int64_t random_step(struct rng *rng, int64_t extent)
{
    switch (rng_between(rng, 0, 3)) {
    case 0:
        return 1;
    case 1:
        return extent - 1;
    case 2:
        return (extent + 999) / 1000 + rng_between(rng, 0, 2);
    default:
        return rng_between(rng, 1, extent - 1);
    }
}

struct tally {
    long problems, cut, products, runs, illegal, brute, uncuttable;
    long direction[CS_DIRECTIONS], axis[CS_AXES], fused, staged;
};

static enum cs_axis random_axis(struct rng *rng, const struct cs_problem *problem)
{
    enum cs_axis axis = (enum cs_axis)rng_between(rng, CS_AXIS_N, CS_AXIS_C);
    for (int turn = 0; turn < CS_AXES; turn++) {
        struct axis a = axis_of(problem, axis);
        if (may_cut(problem, axis) && a.tiled_extent > a.unit)
            return axis;
        axis = axis == CS_AXIS_C ? CS_AXIS_N : axis + 1;
    }
    return CS_AXIS_NONE;
}

static void check_extents(const struct cs_problem *problem)
{
    for (int axis = CS_AXIS_N; axis <= CS_AXIS_C; axis++) {
        struct axis a = axis_of(problem, (enum cs_axis)axis);
        bool may = may_cut(problem, (enum cs_axis)axis);
        CHECK_INT(cs_axis_extent(problem, (enum cs_axis)axis), may ? a.tiled_extent : 1);
        if (may)
            CHECK_INT(cs_axis_unit(problem, (enum cs_axis)axis), a.unit);
    }
}

static void count(struct tally *tally, const struct cs_plan *plan)
{
    tally->direction[plan->problem.direction]++;
    for (int c = 0; c < plan->cuts; c++)
        tally->axis[plan->cut[c].axis]++;
    tally->products += plan->cuts > 1;
    tally->fused += plan->problem.steps > 0;
    tally->staged += plan->staged > 0;
    tally->cut++;
}

static void check_plan(const struct cs_plan *plan, const struct axis *axes, struct tally *tally)
{
    count(tally, plan);
    check_tiles(plan, axes);
    check_shapes(plan);
    check_staged(plan);
    check_halo(plan, axes);
    CHECK_INT(cs_plan_validate(plan, plan->staged), CS_OK);
    tally->brute += every_term_once(plan, axes[0].sums, axes[1].sums);
}

/* Both cuts as they are separately, in tiles up to their number. */
static void check_product(struct rng *rng, const struct cs_problem *problem,
                          const struct cs_tiling *first, struct tally *tally)
{
    static struct cs_plan plan, alone[CS_MAX_CUTS];
    struct axis axes[CS_MAX_CUTS];
    struct cs_tiling tiling = *first;
    tiling.axis[1] = random_axis(rng, problem);
    if (tiling.axis[1] == CS_AXIS_NONE || tiling.axis[1] == tiling.axis[0])
        return;
    for (int c = 0; c < CS_MAX_CUTS; c++)
        axes[c] = axis_of(problem, tiling.axis[c]);
    tiling.step[1] = random_step(rng, axes[1].tiled_extent);
    enum cs_status status = cs_plan_cut(problem, &tiling, &plan);
    int64_t tiles = 1, shapes = 1;
    for (int c = 0; c < CS_MAX_CUTS; c++) {
        struct cs_tiling one = {.axis = {tiling.axis[c]}, .step = {tiling.step[c], 1}};
        enum cs_status legal = cs_plan_cut(problem, &one, &alone[c]);
        if (legal != CS_OK) {
            CHECK(status == legal || may_be_uncopied(problem, &tiling));
            return;
        }
        tiles *= alone[c].tiles;
        shapes *= alone[c].shapes;
    }
    bool legal = tiles <= CS_MAX_TILES && shapes <= CS_MAX_TILE_SHAPES;
    CHECK(status == (legal ? CS_OK : CS_ILLEGAL) || status == CS_OVERFLOW ||
          (status == CS_ILLEGAL && may_be_uncopied(problem, &tiling)));
    if (status != CS_OK)
        return;
    CHECK_INT(plan.tiles, tiles);
    CHECK_INT(plan.shapes, shapes);
    for (int64_t t = 0; t < tiles; t++) {
        struct cs_tile tile, one;
        cs_plan_tile(&plan, t, &tile);
        const int64_t at[] = {t / alone[1].tiles, t % alone[1].tiles};
        for (int c = 0; c < CS_MAX_CUTS; c++) {
            cs_plan_tile(&alone[c], at[c], &one);
            CHECK(memcmp(&tile.range[c], &one.range[0], sizeof one.range[0]) == 0);
        }
    }
    check_plan(&plan, axes, tally);
}

/* Where a run's tile begins that has this element as its first; the relaxation of that run. False
 * if tiles lie elsewhere. */
static bool begins_at(const struct cs_tiling *tiling, int64_t unit, int64_t first,
                      enum cs_relaxation *relaxation_p)
{
    int64_t begin = 0;
    if (unit < 1)
        return false;
    for (int i = 0; i < tiling->runs; i++) {
        int64_t step = cs_ceil_div(tiling->run[i].step, unit) * unit;
        int64_t end = begin + step * tiling->run[i].tiles;
        *relaxation_p = tiling->run[i].relaxation;
        if (first < end)
            return (first - begin) % step == 0;
        begin = end;
    }
    *relaxation_p = tiling->relaxation;
    return (first - begin) % (cs_ceil_div(tiling->step[0], unit) * unit) == 0;
}

/* Runs of other sizes before the step. */
static void check_runs(struct rng *rng, const struct cs_problem *problem,
                       const struct cs_tiling *first, struct tally *tally)
{
    static struct cs_plan plan, again;
    struct axis axes[CS_MAX_CUTS] = {axis_of(problem, first->axis[0])};
    struct cs_tiling tiling = *first;
    tiling.runs = (int)rng_between(rng, 1, CS_MAX_RUNS - 1);
    for (int i = 0; i < tiling.runs; i++)
        tiling.run[i] = (struct cs_run){
            rng_between(rng, 1, 1 + axes[0].tiled_extent / 4), rng_between(rng, 1, 3),
            (enum cs_relaxation)rng_between(rng, 0, CS_RELAXATIONS - 1)};
    enum cs_status status = cs_plan_cut(problem, &tiling, &plan);
    CHECK(status == CS_OK || status == CS_ILLEGAL);
    if (status != CS_OK)
        return;
    tally->runs++;
    check_plan(&plan, axes, tally);
    for (int64_t t = 0; t < plan.tiles; t++) {
        struct cs_tile tile;
        enum cs_relaxation relaxation = CS_RELAXATIONS;
        cs_plan_tile(&plan, t, &tile);
        CHECK(begins_at(&tiling, axes[0].unit, tile.range[0].first, &relaxation));
        if (t > 0) /* the first may hold tiles that lie in the padding */
            CHECK_INT(plan.shape[tile.shape].relaxation, relaxation);
    }
    CHECK_INT(cs_plan_cut(problem, &plan.tiling, &again), CS_OK);
    CHECK(cs_cut_tiling_equal(&again.tiling, &plan.tiling));
    CHECK_INT(again.tiles, plan.tiles);
}

static void cut_and_check(struct rng *rng, const struct cs_problem *problem, struct tally *tally)
{
    static struct cs_plan plan;
    struct cs_tiling tiling = {.axis = {random_axis(rng, problem)}, .step = {1, 1}};
    struct axis axes[CS_MAX_CUTS] = {0};
    tally->problems++;
    check_extents(problem);
    if (tiling.axis[0] == CS_AXIS_NONE) {
        tally->uncuttable++;
        return;
    }
    axes[0] = axis_of(problem, tiling.axis[0]);
    tiling.step[0] = random_step(rng, axes[0].tiled_extent);
    CASE_DETAIL("axis %d, step %lld", (int)tiling.axis[0], (long long)tiling.step[0]);
    enum cs_status status = cs_plan_cut(problem, &tiling, &plan);
    CHECK(status == CS_OK || status == CS_ILLEGAL);
    if (status == CS_OK || !may_be_uncopied(problem, &tiling))
        check_boundaries(&plan, &axes[0], tiling.step[0], status);
    if (status != CS_OK) {
        tally->illegal++;
        return;
    }
    check_plan(&plan, axes, tally);
    if (rng_between(rng, 0, 1))
        check_product(rng, problem, &tiling, tally);
    else
        check_runs(rng, problem, &tiling, tally);
}

static void print_tally(const struct tally *tally)
{
    printf(
        "# seed %d: %ld problems, %ld cut (%ld in products, %ld checked element by element), "
        "%ld in runs, %ld cuts illegal, %ld too small to cut\n# forward %ld, dgrad %ld, wgrad %ld;",
        SEED, tally->problems, tally->cut, tally->products, tally->brute, tally->runs,
        tally->illegal, tally->uncuttable, tally->direction[CS_FORWARD],
        tally->direction[CS_BACKWARD_DATA], tally->direction[CS_BACKWARD_FILTER]);
    for (int axis = CS_AXIS_N; axis <= CS_AXIS_C; axis++) {
        const struct cs_tiling tiling = {.axis = {(enum cs_axis)axis}};
        printf(" %s %ld", cs_axis_tiling_name(&tiling), tally->axis[axis]);
        CHECK(tally->axis[axis] > tally->problems / 100);
    }
    printf("; %ld fused, %ld staged\n", tally->fused, tally->staged);
    for (int i = 0; i < CS_DIRECTIONS; i++)
        CHECK(tally->direction[i] > tally->problems / 10);
    CHECK(tally->fused > tally->problems / 10 && tally->staged > tally->problems / 100);
    CHECK(tally->products > tally->problems / 20);
    CHECK(tally->runs > tally->problems / 20);
}

static void small_problems(void)
{
    const int count = random_count(RANDOM_SMALL);
    struct rng rng = {SEED};
    struct tally tally = {0};
    for (int i = 0; i < count; i++) {
        struct cs_problem problem = random_small(&rng);
        RANDOM_CASE(SEED, i, &problem);
        cut_and_check(&rng, &problem, &tally);
    }
    CASE("all");
    print_tally(&tally);
    CHECK(tally.cut > count / 2);
    CHECK(tally.brute > tally.cut / 2);
}

static void large_problems(void)
{
    const int count = random_count(RANDOM_LARGE);
    struct rng rng = {SEED + 1};
    struct tally tally = {0};
    for (int i = 0; i < count; i++) {
        struct cs_problem problem = random_large(&rng);
        RANDOM_CASE(SEED + 1, i, &problem);
        cut_and_check(&rng, &problem, &tally);
    }
    CASE("all");
    print_tally(&tally);
    CHECK(tally.cut > count / 2);
}

int main(void)
{
    TEST(small_problems);
    TEST(large_problems);
    return REPORT();
}
