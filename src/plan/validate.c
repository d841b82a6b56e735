/* Proves a plan without the arithmetic of the cut. It takes tiles from cs_plan_tile, as the
 * executor does, and tile shapes from cs_plan_problem, as the vendor does. It compares the first
 * and last element of each with the whole problem. */
#include "base/checked.h"
#include "convshim/plan.h"
#include <string.h>

__extension__ typedef __int128 wide; /* the bytes that all tiles read may exceed 64 bits */

/* The axis of a cut, from the problem alone. */
struct cut_axis {
    enum cs_dim dim[CS_OPERANDS]; /* CS_DIMS in operands that it leaves whole */
    int64_t extent;               /* of the divided operand */
    bool spatial, transposed, sums;
    int64_t every;            /* from one of a tile's elements to its next */
    int64_t step, pad, sweep; /* of the window: stride, padding before, first to last tap */
    int64_t in, out;          /* extents of x and y */
};

static bool same_problem(const struct cs_problem *a, const struct cs_problem *b)
{
    int64_t words_a[CS_PROBLEM_WORDS], words_b[CS_PROBLEM_WORDS];
    int used_a = cs_problem_words(a, words_a), used_b = cs_problem_words(b, words_b);
    return used_a == used_b && memcmp(words_a, words_b, (size_t)used_a * sizeof *words_a) == 0;
}

static bool find_axis(const struct cs_problem *untiled, const struct cs_cut *cut,
                      struct cut_axis *axis)
{
    *axis = (struct cut_axis){
        .extent = cs_axis_extent(untiled, cut->axis), .every = cut->every, .step = 1};
    for (int side = 0; side < CS_OPERANDS; side++)
        axis->dim[side] = cs_axis_dim(cut->axis, (enum cs_operand)side);
    axis->in = axis->out = axis->extent;
    axis->sums = untiled->direction == CS_BACKWARD_FILTER && axis->dim[CS_FILTER] == CS_DIMS;
    enum cs_dim dim = axis->dim[CS_X];
    if (dim < CS_D || dim == CS_DIMS)
        return true;
    axis->spatial = true;
    axis->transposed = untiled->direction == CS_BACKWARD_DATA;
    axis->step = untiled->stride[dim - CS_D];
    axis->pad = untiled->pre[dim - CS_D];
    axis->in = untiled->tensor[CS_X].dims[dim];
    axis->out = untiled->tensor[CS_Y].dims[dim];
    axis->extent = axis->transposed ? axis->in : axis->out;
    return cs_mul(untiled->tensor[CS_FILTER].dims[dim] - 1, untiled->dilation[dim - CS_D],
                  &axis->sweep);
}

/* The positions in x of the first tap of element `first` of y, and of the last tap of element
 * `last`. */
static bool taps_of(const struct cut_axis *axis, int64_t first, int64_t last, int64_t *first_tap,
                    int64_t *last_tap)
{
    return cs_mul(first, axis->step, first_tap) && cs_add(*first_tap, -axis->pad, first_tap) &&
           cs_mul(last, axis->step, last_tap) && cs_add(*last_tap, axis->sweep, last_tap) &&
           cs_add(*last_tap, -axis->pad, last_tap);
}

/* The position after the last of `count` elements of a tile from `first` on. */
static bool end_of(const struct cut_axis *axis, int64_t first, int64_t count, int64_t *end_p)
{
    return cs_mul(count, axis->every, end_p) && cs_add(*end_p, first, end_p);
}

/* True if every tap that meets the whole x meets the tile's part of it. Taps between the first and
 * the last follow, since both have the same steps. Spare elements come first. Their windows are not
 * checked, because their values are not used. */
static bool reads_all(const struct cut_axis *axis, const struct cs_range *range)
{
    int64_t first_tap, last_tap, spare, begin, end, last;
    if (!end_of(axis, range->first, range->count - 1, &last) ||
        !end_of(axis, range->in_first, range->in_count, &end) ||
        !end_of(axis, range->in_first, -range->pre, &begin) ||
        !taps_of(axis, range->first, last, &first_tap, &last_tap) ||
        !cs_mul(range->spare_before, axis->step, &spare) || !cs_mul(spare, axis->every, &spare))
        return false;
    return begin == first_tap - spare &&
           (first_tap >= range->in_first || range->in_first < axis->every) &&
           (last_tap < end || end >= axis->in);
}

/* Checks that no element of y outside the tile uses the tile's part of x: the elements before and
 * after it, and those between, whose taps are between the tile's taps. */
static bool reached_by_part_alone(const struct cut_axis *axis, const struct cs_range *range)
{
    int64_t first_tap, before, behind, unused, first, end, next;
    int64_t begin = range->in_first;
    if (!end_of(axis, range->first, -range->spare_before - range->pre, &first) ||
        !end_of(axis, range->first, range->count, &end) ||
        !end_of(axis, begin, range->in_count, &next) ||
        !taps_of(axis, begin, begin - axis->every, &first_tap, &before) ||
        !taps_of(axis, next, begin, &behind, &unused))
        return false;
    return first == first_tap && (begin < axis->every || before < range->first) &&
           (next >= axis->out || behind >= end);
}

/* True if the `count` elements from `first` lie within the extent. */
static bool is_inside(const struct cut_axis *axis, int64_t first, int64_t count, int64_t extent)
{
    int64_t last;
    return count >= 1 && first >= 0 && end_of(axis, first, count - 1, &last) && last < extent;
}

static bool range_valid(const struct cut_axis *axis, const struct cs_range *range)
{
    if (!is_inside(axis, range->first, range->count, axis->extent) ||
        !is_inside(axis, range->in_first, range->in_count,
                   axis->transposed ? axis->out : axis->in) ||
        range->every != axis->every || range->pre < 0 || range->post < 0 ||
        range->spare_before < 0 || range->spare_behind < 0)
        return false;
    return axis->transposed ? reached_by_part_alone(axis, range) : reads_all(axis, range);
}

/* The part of tensor `index` in the range: first element and count. False if the tensor is not cut.
 * Tensors with the extents of the divided side have the range itself, the others its input. */
static bool part_of(const struct cs_problem *untiled, const struct cut_axis *axis, int index,
                    const struct cs_range *range, int64_t *first_p, int64_t *count_p)
{
    const struct cs_tensor *tensor = &untiled->tensor[index];
    enum cs_dim dim = axis->dim[tensor->side];
    if (dim == CS_DIMS || tensor->dims[dim] != untiled->tensor[tensor->side].dims[dim])
        return false;
    bool tiled_extent = !axis->spatial || (tensor->side == CS_X) == axis->transposed;
    *first_p = tiled_extent ? range->first : range->in_first;
    *count_p = tiled_extent ? range->count : range->in_count;
    return true;
}

/* Spare elements of tensor `index`, outside its part of the range. */
static int64_t spare_of(const struct cs_problem *untiled, const struct cut_axis *axis, int index,
                        const struct cs_range *range)
{
    int64_t first, count;
    return part_of(untiled, axis, index, range, &first, &count) &&
                   untiled->tensor[index].side == (axis->transposed ? CS_X : CS_Y)
               ? range->spare_before + range->spare_behind
               : 0;
}

/* The filter must be staged if channels are cut. Otherwise only cut tensors with an address may be
 * staged.
 */
static bool may_be_staged(const struct cs_plan *plan, const struct cut_axis *axes, int index)
{
    const struct cs_tensor *tensor = &plan->problem.tensor[index];
    bool cut = false;
    for (int c = 0; c < plan->cuts; c++) {
        enum cs_dim dim = axes[c].dim[tensor->side];
        if (index == CS_FILTER && plan->cut[c].axis == CS_AXIS_C)
            return plan->is_staged[index];
        cut |= dim != CS_DIMS && tensor->dims[dim] == plan->problem.tensor[tensor->side].dims[dim];
    }
    return !plan->is_staged[index] ||
           (plan->stages && cut && !tensor->is_virtual && !tensor->by_value);
}

/* True if the part is packed, with the dimensions in the same order. */
static bool packed_alike(const struct cs_tensor *untiled, const struct cs_tensor *part)
{
    int64_t span, bytes;
    for (int a = 0; a < CS_DIMS; a++) {
        for (int b = 0; b < CS_DIMS; b++) {
            if (untiled->dims[a] > 1 && untiled->dims[b] > 1 &&
                untiled->strides[a] < untiled->strides[b] && part->strides[a] > part->strides[b])
                return false;
        }
    }
    return cs_problem_tensor_span(part, &span) == CS_OK &&
           cs_problem_tensor_bytes(part, &bytes) == CS_OK && span == bytes &&
           part->alignment <= CS_STAGED_ALIGNMENT;
}

/* True if the tile's part of a tensor has its extents, offset and alignment, and lies inside. */
static bool tensor_valid(const struct cs_plan *plan, const struct cut_axis *axes, int index,
                         const struct cs_tile *tile, const struct cs_problem *shape)
{
    const struct cs_tensor *untiled = &plan->problem.tensor[index], *part = &shape->tensor[index];
    struct cs_tensor view = *untiled, with_spare = *untiled;
    int64_t offset = 0, span, view_span, end, spares = 0;
    for (int c = 0; c < plan->cuts; c++) {
        int64_t first, count, bytes;
        if (!part_of(&plan->problem, &axes[c], index, &tile->range[c], &first, &count))
            continue;
        enum cs_dim dim = axes[c].dim[untiled->side];
        int64_t spare = spare_of(&plan->problem, &axes[c], index, &tile->range[c]);
        view.dims[dim] = count;
        if (count > 1)
            view.strides[dim] *= axes[c].every;
        if (!cs_add(count, spare, &with_spare.dims[dim]))
            return false;
        spares |= spare;
        if (!cs_mul(cs_problem_dtype_size(untiled->dtype), first, &bytes) ||
            !cs_mul(bytes, untiled->strides[dim], &bytes) || !cs_add(offset, bytes, &offset))
            return false;
    }
    bool staged =
        plan->is_staged[index] || (spares > 0 && !untiled->is_virtual && !untiled->by_value);
    if (offset != tile->offset[index] || staged != cs_plan_is_staged(plan, tile->shape, index) ||
        memcmp(with_spare.dims, part->dims, sizeof part->dims) != 0 ||
        cs_problem_tensor_span(untiled, &span) != CS_OK ||
        cs_problem_tensor_span(&view, &view_span) != CS_OK || !cs_add(offset, view_span, &end) ||
        end > span)
        return false;
    return staged ? packed_alike(untiled, part) : offset % part->alignment == 0;
}

/* True if a shape of phases has the whole's strides times `every`, and its dilation divided by it.
 * Then *restored gets the whole's strides and dilation. */
static bool phase_derives(const struct cs_plan *plan, const struct cut_axis *axis,
                          const struct cs_problem *shape, int64_t shape_index,
                          struct cs_problem *restored)
{
    const struct cs_problem *untiled = &plan->problem;
    int i = (int)axis->dim[CS_X] - CS_D;
    if (axis->every == 1)
        return true;
    if (shape->dilation[i] * axis->every != untiled->dilation[i])
        return false;
    restored->dilation[i] = untiled->dilation[i];
    for (int t = 0; t < shape->tensors; t++) {
        const struct cs_tensor *tensor = &untiled->tensor[t];
        enum cs_dim dim = axis->dim[tensor->side];
        if (dim == CS_DIMS || tensor->dims[dim] != untiled->tensor[tensor->side].dims[dim] ||
            cs_plan_is_staged(plan, shape_index, t))
            continue;
        if (shape->tensor[t].dims[dim] > 1 &&
            shape->tensor[t].strides[dim] != tensor->strides[dim] * axis->every)
            return false;
        restored->tensor[t].strides[dim] = tensor->strides[dim];
    }
    return true;
}

/* A tile may differ from the whole problem in extents, in padding along the cut axes, in
 * alignments, in beta if it accumulates, in the strides of staged tensors, in the image stride of a
 * single image, and by phases. */
static bool shape_derives(const struct cs_plan *plan, const struct cut_axis *axes,
                          const struct cs_tile *tile, const struct cs_problem *shape, bool adds)
{
    const struct cs_problem *untiled = &plan->problem;
    struct cs_problem restored = *shape;
    if (shape->tensors != untiled->tensors || cs_problem_check(shape) != CS_OK)
        return false;
    for (int i = 0; i < shape->tensors; i++) {
        bool staged = cs_plan_is_staged(plan, tile->shape, i);
        if (shape->tensor[i].alignment > untiled->tensor[i].alignment && !staged)
            return false;
        restored.tensor[i].alignment = untiled->tensor[i].alignment;
        memcpy(restored.tensor[i].dims, untiled->tensor[i].dims, sizeof untiled->tensor[i].dims);
        if (staged)
            memcpy(restored.tensor[i].strides, untiled->tensor[i].strides,
                   sizeof untiled->tensor[i].strides);
        else if (shape->tensor[i].dims[CS_N] == 1)
            restored.tensor[i].strides[CS_N] = untiled->tensor[i].strides[CS_N];
    }
    for (int c = 0; c < plan->cuts; c++) {
        if (!axes[c].spatial)
            continue;
        int i = (int)axes[c].dim[CS_X] - CS_D;
        if (shape->pre[i] != tile->range[c].pre || shape->post[i] != tile->range[c].post ||
            !phase_derives(plan, &axes[c], shape, tile->shape, &restored))
            return false;
        restored.pre[i] = untiled->pre[i];
        restored.post[i] = untiled->post[i];
    }
    if (adds) {
        if (shape->beta != 1)
            return false;
        restored.beta = untiled->beta;
    }
    return same_problem(untiled, &restored);
}

static bool tile_valid(const struct cs_plan *plan, const struct cut_axis *axes,
                       const struct cs_tile *tile, bool adds)
{
    if (tile->shape < 0 || tile->shape >= plan->shapes)
        return false;
    for (int c = 0; c < plan->cuts; c++)
        if (!range_valid(&axes[c], &tile->range[c]))
            return false;
    struct cs_problem shape;
    cs_plan_problem(plan, tile->shape, &shape);
    for (int i = 0; i < plan->problem.tensors; i++)
        if (!tensor_valid(plan, axes, i, tile, &shape))
            return false;
    return shape_derives(plan, axes, tile, &shape, adds);
}

/* Bytes of x and y that tiles read, and elements that they read for the first time. */
struct readings {
    wide bytes[CS_OPERANDS];
    int64_t distinct[CS_MAX_CUTS]; /* of the range that follows */
};

static bool add_reading(const struct cs_plan *plan, const struct cs_tile *tile,
                        struct readings *readings)
{
    struct cs_problem shape;
    cs_plan_problem(plan, tile->shape, &shape);
    for (int i = 0; i < CS_OPERANDS; i++) {
        int64_t bytes;
        if (cs_problem_tensor_bytes(&shape.tensor[i], &bytes) != CS_OK)
            return false;
        readings->bytes[i] += bytes;
    }
    return true;
}

static bool halo_valid(const struct cs_plan *plan, const struct cut_axis *axes,
                       const struct readings *readings)
{
    const struct cs_problem *untiled = &plan->problem;
    wide halo = 0;
    for (int side = CS_X; side <= CS_Y; side += CS_Y - CS_X) {
        struct cs_tensor once = untiled->tensor[side];
        int64_t bytes;
        for (int c = 0; c < plan->cuts; c++)
            if (axes[c].spatial && (side == CS_X) != axes[c].transposed)
                once.dims[axes[c].dim[side]] = readings->distinct[c];
        if (side == (int)cs_result(untiled->direction))
            continue;
        if (cs_problem_tensor_bytes(&once, &bytes) != CS_OK)
            return false;
        halo += readings->bytes[side] - bytes;
    }
    return halo == plan->halo;
}

/* Goes through the tiles of one cut in order: from element to element, or from phase to phase. */
struct walk {
    int64_t next, read_end, distinct;
};

static bool advance(const struct cut_axis *axis, struct walk *walk, const struct cs_range *range)
{
    if (range->first != walk->next)
        return false;
    if (axis->every > 1) {
        walk->next++;
        walk->distinct += range->in_count;
        return range->count == cs_ceil_div(axis->extent - range->first, axis->every);
    }
    if (!cs_add(walk->next, range->count, &walk->next))
        return false;
    int64_t end = range->in_first + range->in_count;
    int64_t begin = range->in_first > walk->read_end ? range->in_first : walk->read_end;
    if (end > begin) {
        walk->distinct += end - begin;
        walk->read_end = end;
    }
    return true;
}

static bool is_complete(const struct cut_axis *axis, const struct walk *walk)
{
    return walk->next == (axis->every > 1 ? axis->every : axis->extent);
}

static bool same_range(const struct cs_range *a, const struct cs_range *b)
{
    return a->first == b->first && a->count == b->count && a->in_first == b->in_first &&
           a->in_count == b->in_count && a->pre == b->pre && a->post == b->post;
}

/* True if the tiles with one range of the first cut are valid. */
static bool row_valid(const struct cs_plan *plan, const struct cut_axis *axes, int64_t row,
                      struct walk *outer, struct readings *readings)
{
    int64_t tiles = plan->cuts > 1 ? plan->cut[1].tiles : 1;
    struct cs_tile first, tile;
    struct walk inner = {0};
    cs_plan_tile(plan, row * tiles, &first);
    if (!advance(&axes[0], outer, &first.range[0]))
        return false;
    for (int64_t i = 0; i < tiles; i++) {
        bool adds = (axes[0].sums && row > 0) || (plan->cuts > 1 && axes[1].sums && i > 0);
        cs_plan_tile(plan, row * tiles + i, &tile);
        if (!same_range(&tile.range[0], &first.range[0]) ||
            (plan->cuts > 1 && !advance(&axes[1], &inner, &tile.range[1])) ||
            !tile_valid(plan, axes, &tile, adds) || !add_reading(plan, &tile, readings))
            return false;
    }
    readings->distinct[1] = inner.distinct;
    return plan->cuts < 2 || is_complete(&axes[1], &inner);
}

static bool tiles_valid(const struct cs_plan *plan)
{
    struct cut_axis axes[CS_MAX_CUTS] = {0};
    struct readings readings = {0};
    struct walk outer = {0};
    for (int c = 0; c < plan->cuts; c++)
        if (!find_axis(&plan->problem, &plan->cut[c], &axes[c]) ||
            (axes[c].sums && plan->lanes > 1)) /* in parallel they would add to the same element */
            return false;
    for (int i = 0; i < plan->problem.tensors; i++)
        if (!may_be_staged(plan, axes, i))
            return false;
    for (int64_t row = 0; row < plan->cut[0].tiles; row++)
        if (!row_valid(plan, axes, row, &outer, &readings))
            return false;
    readings.distinct[0] = outer.distinct;
    return is_complete(&axes[0], &outer) && halo_valid(plan, axes, &readings);
}

static bool runs_valid(const struct cs_cut *cut)
{
    int64_t tiles = 0;
    if (cut->runs < 1 || cut->runs > CS_MAX_RUNS + 1)
        return false;
    for (int i = 0; i < cut->runs; i++) {
        if (cut->run[i].step < 1 || cut->run[i].tiles < 1 || cut->run[i].tiles > CS_MAX_TILES)
            return false;
        tiles += cut->run[i].tiles;
    }
    return tiles == cut->tiles;
}

/* Phases are separate only with stride 1, and if their number divides the dilation. */
static bool every_valid(const struct cs_problem *untiled, const struct cs_cut *cut)
{
    if (cut->axis < CS_AXIS_D_PHASES)
        return cut->every == 1;
    int i = (int)cs_axis_dim(cut->axis, CS_X) - CS_D;
    return cut->every > 1 && untiled->stride[i] == 1 && untiled->dilation[i] % cut->every == 0;
}

static bool cut_valid(const struct cs_problem *untiled, const struct cs_cut *cut)
{
    if ((unsigned)cut->axis >= CS_AXES || cs_axis_extent(untiled, cut->axis) < 2 ||
        !every_valid(untiled, cut) || cut->tiles < 2 || cut->tiles > CS_MAX_TILES ||
        cut->slices < 1 || cut->slices > CS_MAX_TILE_SHAPES || !runs_valid(cut))
        return false;
    for (int64_t i = 0; i < cut->tiles; i++)
        if (cut->slice_of[i] >= cut->slices)
            return false;
    for (int64_t i = 0; i < cut->slices; i++)
        for (int j = 0; j < untiled->tensors; j++)
            if (cut->slice[i].alignment[j] < 1)
                return false;
    return true;
}

static bool cuts_valid(const struct cs_plan *plan)
{
    int64_t tiles = 1, shapes = 1;
    if (plan->cuts < 0 || plan->cuts > CS_MAX_CUTS)
        return false;
    for (int c = 0; c < plan->cuts; c++) {
        enum cs_axis first = plan->cut[0].axis, axis = plan->cut[c].axis;
        if (!cut_valid(&plan->problem, &plan->cut[c]) ||
            (c > 0 && (axis == first || (cs_axis_dim(axis, CS_X) != CS_DIMS &&
                                         cs_axis_dim(axis, CS_X) == cs_axis_dim(first, CS_X)))))
            return false;
        tiles *= plan->cut[c].tiles;
        shapes *= plan->cut[c].slices;
    }
    return plan->tiles == tiles && tiles <= CS_MAX_TILES && plan->shapes == shapes &&
           shapes <= CS_MAX_TILE_SHAPES;
}

static bool shapes_valid(const struct cs_plan *plan)
{
    int64_t counted[CS_MAX_TILE_SHAPES] = {0};
    for (int64_t i = 0; i < plan->tiles; i++) {
        struct cs_tile tile;
        cs_plan_tile(plan, i, &tile);
        if (tile.shape < 0 || tile.shape >= plan->shapes)
            return false;
        counted[tile.shape]++;
    }
    for (int64_t i = 0; i < plan->shapes; i++)
        if (plan->shape[i].tiles < 1 || plan->shape[i].tiles != counted[i] ||
            (unsigned)plan->shape[i].relaxation >= CS_RELAXATIONS)
            return false;
    return true;
}

struct part {
    int64_t begin, bytes;
};

/* True if the parts lie inside a scratch of `bytes`, are aligned and do not overlap. */
static bool parts_apart(const struct part *part, int parts, int64_t bytes)
{
    for (int i = 0; i < parts; i++) {
        int64_t end;
        if (part[i].begin < 0 || part[i].begin % CS_SCRATCH_ALIGNMENT != 0 ||
            !cs_add(part[i].begin, part[i].bytes, &end) || end > bytes)
            return false;
        for (int j = 0; j < i; j++)
            if (part[i].bytes > 0 && part[j].bytes > 0 && part[j].begin < end &&
                part[i].begin < part[j].begin + part[j].bytes)
                return false;
    }
    return true;
}

/* True if each lane has a separate workspace of `largest` bytes, for every number of lanes that a
 * call may get. */
static bool lanes_apart(const struct cs_plan *plan, int64_t largest)
{
    struct cs_lane lane[CS_MAX_LANES];
    struct part part[2 * CS_MAX_LANES];
    if (plan->lanes < 1 || plan->lanes > CS_MAX_LANES || plan->lanes > plan->tiles ||
        plan->workspace != cs_plan_scratch(plan, plan->lanes, NULL))
        return false;
    for (int lanes = 1; lanes <= plan->lanes; lanes++) {
        int64_t bytes = cs_plan_scratch(plan, lanes, lane);
        if (bytes == INT64_MAX || bytes > plan->workspace)
            return false;
        for (int i = 0; i < lanes; i++) {
            part[2 * i] = (struct part){lane[i].staged, plan->staged};
            part[2 * i + 1] = (struct part){lane[i].workspace, largest};
        }
        if (!parts_apart(part, 2 * lanes, bytes))
            return false;
    }
    return true;
}

/* Where byte `at` of the packed tensor lies in the view; -1 if the copy leaves it out. The largest
 * step is taken first, whichever it is: boxes may lie within planes. */
static int64_t copied_from(const struct cs_copy *copy, int64_t at)
{
    const int64_t count[] = {copy->width, copy->height, copy->depth, copy->times};
    const int64_t step[][CS_COPY_SIDES] = {
        {1, 1},
        {copy->pitch[CS_COPY_VIEW], copy->pitch[CS_COPY_PACKED]},
        {copy->slice[CS_COPY_VIEW], copy->slice[CS_COPY_PACKED]},
        {copy->step[CS_COPY_VIEW], copy->step[CS_COPY_PACKED]},
    };
    bool done[4] = {false};
    wide from = 0;
    for (int turn = 0; turn < 4; turn++) {
        int i = -1;
        for (int j = 0; j < 4; j++)
            if (!done[j] && (i < 0 || step[j][CS_COPY_PACKED] > step[i][CS_COPY_PACKED]))
                i = j;
        done[i] = true;
        if (count[i] > 1 && step[i][CS_COPY_PACKED] < 1)
            return -1;
        int64_t index = count[i] > 1 ? at / step[i][CS_COPY_PACKED] : 0;
        if (index >= count[i])
            return -1;
        at -= index * step[i][CS_COPY_PACKED];
        from += (wide)index * step[i][CS_COPY_VIEW];
    }
    return at == 0 && from <= INT64_MAX ? (int64_t)from : -1;
}

/* True if the copy moves as many bytes as the tensor has, and connects the two places of every
 * corner, and of every neighbour of the first element. */
static bool copy_valid(const struct cs_tensor *untiled, const struct cs_tensor *packed,
                       const struct cs_copy *copy)
{
    int64_t size = cs_problem_dtype_size(packed->dtype);
    wide bytes = (wide)copy->width * copy->height * copy->depth * copy->times, all = size;
    for (int dim = 0; dim < CS_DIMS; dim++)
        all *= packed->dims[dim];
    for (int corner = 0; corner < 1 << (CS_DIMS + 1); corner++) {
        wide from = 0, to = 0;
        for (int dim = 0; dim < CS_DIMS; dim++) {
            int64_t last = packed->dims[dim] - 1;
            int64_t at = corner & 1 ? last : last < 1 ? last : 1;
            at = corner >> (dim + 1) & 1 ? at : 0;
            from += (wide)at * untiled->strides[dim] * size;
            to += (wide)at * packed->strides[dim] * size;
        }
        if (from != copied_from(copy, (int64_t)to))
            return false;
    }
    return bytes == all && copy->width >= size;
}

/* Scratch and copied bytes of staged tensors, over all tile shapes. */
struct staging {
    int64_t room[CS_MAX_TENSORS]; /* 0: never staged */
    wide copied;
};

/* Finds a tile of that shape, which has at least one. */
static void tile_of(const struct cs_plan *plan, int64_t shape, struct cs_tile *tile)
{
    int64_t i = 0;
    do
        cs_plan_tile(plan, i++, tile);
    while (tile->shape != shape && i < plan->tiles);
}

/* True if all elements of the tile shape except spare ones are copied between the view and their
 * place in the packed tensor. */
static bool stage_valid(const struct cs_plan *plan, const struct cut_axis *axes,
                        const struct cs_problem *shape, const struct cs_tile *tile,
                        const struct cs_stage *stage, struct staging *staging)
{
    const int i = stage->tensor;
    const struct cs_tensor *packed = &shape->tensor[i];
    struct cs_tensor own = *packed, view = plan->problem.tensor[i];
    int64_t bytes, own_bytes, first, count;
    wide skipped = 0;
    for (int c = 0; c < plan->cuts; c++) {
        const struct cs_range *range = &tile->range[c];
        enum cs_dim dim = axes[c].dim[packed->side];
        int64_t spare = spare_of(&plan->problem, &axes[c], i, range);
        if (!part_of(&plan->problem, &axes[c], i, range, &first, &count))
            continue;
        if (count > 1)
            view.strides[dim] *= axes[c].every;
        own.dims[dim] -= spare;
        if (spare > 0)
            skipped += (wide)range->spare_before * packed->strides[dim];
    }
    bool adds = shape->beta != 0 && i == (int)cs_result(shape->direction);
    if (stage->in != (adds || !packed->written) || stage->out != packed->written ||
        stage->skipped != skipped * cs_problem_dtype_size(packed->dtype) ||
        !copy_valid(&view, &own, &stage->copy) ||
        cs_problem_tensor_bytes(packed, &bytes) != CS_OK ||
        cs_problem_tensor_bytes(&own, &own_bytes) != CS_OK)
        return false;
    staging->copied += (wide)own_bytes * (stage->in + stage->out) * plan->shape[tile->shape].tiles;
    if (bytes > staging->room[i])
        staging->room[i] = bytes;
    return true;
}

static bool shape_stages_valid(const struct cs_plan *plan, const struct cut_axis *axes, int64_t k,
                               struct staging *staging)
{
    struct cs_stage stage[CS_MAX_TENSORS];
    struct cs_problem shape;
    struct cs_tile tile;
    int stages = cs_plan_stages(plan, k, stage), next = 0;
    cs_plan_problem(plan, k, &shape);
    tile_of(plan, k, &tile);
    for (int i = 0; i < shape.tensors; i++) {
        if (!cs_plan_is_staged(plan, k, i))
            continue;
        if (next == stages || stage[next].tensor != i ||
            !stage_valid(plan, axes, &shape, &tile, &stage[next], staging))
            return false;
        next++;
    }
    return next == stages && plan->shape[k].staged == (stages > 0 ? plan->staged : 0);
}

/* True if staged tensors lie one after the other, have room for every tile shape, and are copied.
 */
static bool stages_valid(const struct cs_plan *plan)
{
    struct cut_axis axes[CS_MAX_CUTS] = {0};
    struct staging staging = {.copied = 0};
    wide end = 0;
    for (int c = 0; c < plan->cuts; c++)
        if (!find_axis(&plan->problem, &plan->cut[c], &axes[c]))
            return false;
    for (int64_t k = 0; k < plan->shapes; k++)
        if (!shape_stages_valid(plan, axes, k, &staging))
            return false;
    for (int i = 0; i < plan->problem.tensors; i++) {
        if (plan->staged_at[i] != (staging.room[i] > 0 ? end : 0))
            return false;
        end += (wide)cs_ceil_div(staging.room[i], CS_SCRATCH_ALIGNMENT) * CS_SCRATCH_ALIGNMENT;
    }
    return plan->staged == end && plan->copied == staging.copied;
}

static bool scratch_valid(const struct cs_plan *plan, int64_t limit)
{
    int64_t largest = 0;
    for (int64_t i = 0; i < plan->shapes; i++) {
        if (plan->shape[i].workspace < 0)
            return false;
        largest = plan->shape[i].workspace > largest ? plan->shape[i].workspace : largest;
    }
    return plan->workspace <= limit && lanes_apart(plan, largest) &&
           (plan->cuts > 0 || plan->staged == 0);
}

enum cs_status cs_plan_validate(const struct cs_plan *plan, int64_t limit)
{
    bool valid = cs_problem_check(&plan->problem) == CS_OK && cuts_valid(plan) &&
                 shapes_valid(plan) && scratch_valid(plan, limit) &&
                 (plan->cuts == 0 ? plan->halo == 0 : tiles_valid(plan)) && stages_valid(plan);
    return valid ? CS_OK : CS_INVALID;
}
