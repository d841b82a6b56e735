/* Proves a plan without the arithmetic of the cut. It takes tiles from cs_plan_tile, as the
 * executor does, and tile shapes from cs_plan_problem, as the vendor does. It compares the first
 * and last element of each with the whole problem. */
#include "base/checked.h"
#include "plan/axis.h"
#include <string.h>

__extension__ typedef __int128 wide; /* the bytes that all tiles read may exceed 64 bits */

/* The axis of a cut, from the problem alone. */
struct cut_axis {
    enum cs_dim dim[CS_OPERANDS]; /* CS_DIMS in operands that it leaves whole */
    int64_t extent;               /* extent of the divided operand */
    bool spatial;                 /* D, H or W: x and y are related by the window */
    bool transposed;              /* x is divided, and its part of y follows */
    bool sums;                    /* the result is a sum over the axis */
    int64_t spacing;              /* elements from one of a tile's elements to its next */
    int64_t step, pad, sweep; /* window: stride, padding before, distance from first to last tap */
    int64_t in, out;          /* extents of x and y */
};

/* Derives the axis of a cut. False if a number exceeds 64 bits. */
static bool find_axis(const struct cs_problem *untiled, const struct cs_cut *cut,
                      struct cut_axis *axis)
{
    *axis = (struct cut_axis){
        .extent = cs_axis_extent(untiled, cut->axis), .spacing = cut->spacing, .step = 1};
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

/* The position in x of the first tap of an element of y. */
static bool first_tap_of(const struct cut_axis *axis, int64_t y, int64_t *tap_p)
{
    return cs_mul(y, axis->step, tap_p) && cs_add(*tap_p, -axis->pad, tap_p);
}

static bool last_tap_of(const struct cut_axis *axis, int64_t y, int64_t *tap_p)
{
    return first_tap_of(axis, y, tap_p) && cs_add(*tap_p, axis->sweep, tap_p);
}

/* The position of the element that comes `count` elements of the tile after `first`. */
static bool element_at(const struct cut_axis *axis, int64_t first, int64_t count, int64_t *at_p)
{
    return cs_mul(count, axis->spacing, at_p) && cs_add(*at_p, first, at_p);
}

/* True if each tap of the tile's elements of y that lies in the whole x also lies in the tile's
 * part of x. The first and the last tap prove it, because those between them have the same steps.
 * The part begins with the windows of spare elements. They may be incomplete, because the values of
 * spare elements are not used. */
static bool reads_all(const struct cut_axis *axis, const struct cs_range *range)
{
    int64_t last, first_tap, last_tap, spare, padded_begin, begin = range->in_first, end;
    if (!element_at(axis, range->first, range->count - 1, &last) ||
        !first_tap_of(axis, range->first, &first_tap) || !last_tap_of(axis, last, &last_tap) ||
        !cs_mul(range->spare_before, axis->step, &spare) || !cs_mul(spare, axis->spacing, &spare) ||
        !element_at(axis, begin, -range->pre, &padded_begin) ||
        !element_at(axis, begin, range->in_count, &end))
        return false;
    bool reads_first = first_tap >= begin || begin < axis->spacing;
    bool reads_last = last_tap < end || end >= axis->in;
    return padded_begin == first_tap - spare && reads_first && reads_last;
}

/* True if no element of y outside the tile's part of y has a tap in the tile's part of x: those
 * before and after the part, and those between its elements, whose taps are between the tile's
 * taps. */
static bool reached_by_part_alone(const struct cut_axis *axis, const struct cs_range *range)
{
    int64_t padded_begin, end, first_tap, begin = range->in_first, next, tap_before, tap_after;
    if (!element_at(axis, range->first, -range->spare_before - range->pre, &padded_begin) ||
        !element_at(axis, range->first, range->count, &end) ||
        !first_tap_of(axis, begin, &first_tap) ||
        !last_tap_of(axis, begin - axis->spacing, &tap_before) ||
        !element_at(axis, begin, range->in_count, &next) || !first_tap_of(axis, next, &tap_after))
        return false;
    bool alone_before = begin < axis->spacing || tap_before < range->first;
    bool alone_after = next >= axis->out || tap_after >= end;
    return padded_begin == first_tap && alone_before && alone_after;
}

/* True if the `count` elements from `first` lie within the extent. */
static bool is_inside(const struct cut_axis *axis, int64_t first, int64_t count, int64_t extent)
{
    int64_t last;
    return count >= 1 && first >= 0 && element_at(axis, first, count - 1, &last) && last < extent;
}

/* True if the tile's elements along the cut and their taps are those of the whole problem. */
static bool range_valid(const struct cut_axis *axis, const struct cs_range *range)
{
    if (!is_inside(axis, range->first, range->count, axis->extent) ||
        !is_inside(axis, range->in_first, range->in_count,
                   axis->transposed ? axis->out : axis->in) ||
        range->spacing != axis->spacing || range->pre < 0 || range->post < 0 ||
        range->spare_before < 0 || range->spare_after < 0)
        return false;
    return axis->transposed ? reached_by_part_alone(axis, range) : reads_all(axis, range);
}

/* The part of tensor `index` in the range: first element and count. False if the tensor is not cut.
 * Tensors of the divided side have the range itself, the others its range on the other side of the
 * window. */
static bool part_of(const struct cs_problem *untiled, const struct cut_axis *axis, int index,
                    const struct cs_range *range, int64_t *first_p, int64_t *count_p)
{
    const struct cs_tensor *tensor = &untiled->tensor[index];
    enum cs_dim dim = axis->dim[tensor->side];
    if (dim == CS_DIMS || tensor->dims[dim] != untiled->tensor[tensor->side].dims[dim])
        return false;
    bool is_divided = !axis->spatial || (tensor->side == CS_X) == axis->transposed;
    *first_p = is_divided ? range->first : range->in_first;
    *count_p = is_divided ? range->count : range->in_count;
    return true;
}

/* True if is_staged is allowed for the tensor. A filter must be staged if C is cut. Another tensor
 * may be staged only if it is cut and has an address. */
static bool staging_allowed(const struct cs_plan *plan, const struct cut_axis *axes, int index)
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

/* True if the part is packed, with the dimensions in the same order, and its staging buffer is
 * aligned enough for it. */
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

/* The part of a tensor that a tile has by its ranges, computed from the whole problem. */
struct tensor_part {
    struct cs_tensor view; /* the part in the application's tensor, without spare elements */
    int64_t offset;        /* bytes from the start of that tensor */
    int64_t dims[CS_DIMS]; /* extents with spare elements */
    int64_t spare_before[CS_DIMS]; /* spare elements before the part along each dimension */
    bool has_spare;
};

/* Computes the part of tensor `index` that a tile has. False if a number exceeds 64 bits. */
static bool find_part(const struct cs_plan *plan, const struct cut_axis *axes,
                      const struct cs_tile *tile, int index, struct tensor_part *part)
{
    const struct cs_tensor *untiled = &plan->problem.tensor[index];
    *part = (struct tensor_part){.view = *untiled};
    memcpy(part->dims, untiled->dims, sizeof part->dims);
    for (int c = 0; c < plan->cuts; c++) {
        const struct cs_range *range = &tile->range[c];
        enum cs_dim dim = axes[c].dim[untiled->side];
        int64_t first, count, spare = 0, bytes;
        if (!part_of(&plan->problem, &axes[c], index, range, &first, &count))
            continue;
        if (untiled->side == (axes[c].transposed ? CS_X : CS_Y)) {
            part->spare_before[dim] = range->spare_before;
            spare = range->spare_before + range->spare_after;
        }
        part->has_spare |= spare > 0;
        part->view.dims[dim] = count;
        if (count > 1)
            part->view.strides[dim] *= axes[c].spacing;
        if (!cs_add(count, spare, &part->dims[dim]) ||
            !cs_mul(first, untiled->strides[dim], &bytes) ||
            !cs_mul(bytes, cs_problem_dtype_size(untiled->dtype), &bytes) ||
            !cs_add(part->offset, bytes, &part->offset))
            return false;
    }
    return true;
}

static bool lies_inside(const struct tensor_part *part, const struct cs_tensor *untiled)
{
    int64_t untiled_span, span, end;
    return cs_problem_tensor_span(untiled, &untiled_span) == CS_OK &&
           cs_problem_tensor_span(&part->view, &span) == CS_OK &&
           cs_add(part->offset, span, &end) && end <= untiled_span;
}

/* True if the tile's part of a tensor lies inside it, and has its extents, offset and alignment. */
static bool tensor_valid(const struct cs_plan *plan, const struct cut_axis *axes, int index,
                         const struct cs_tile *tile, const struct cs_problem *shape)
{
    const struct cs_tensor *untiled = &plan->problem.tensor[index], *tensor = &shape->tensor[index];
    struct tensor_part part;
    if (!find_part(plan, axes, tile, index, &part) || !lies_inside(&part, untiled) ||
        part.offset != tile->offset[index] ||
        memcmp(part.dims, tensor->dims, sizeof tensor->dims) != 0)
        return false;
    bool has_address = !untiled->is_virtual && !untiled->by_value;
    bool staged = plan->is_staged[index] || (part.has_spare && has_address);
    if (staged != cs_plan_is_staged(plan, tile->shape, index))
        return false;
    return staged ? packed_alike(untiled, tensor) : part.offset % tensor->alignment == 0;
}

/* True if a shape of phases has the whole's strides times the spacing, and its dilation divided by
 * it. Then *restored gets the whole's strides and dilation. */
static bool restore_phase(const struct cs_plan *plan, const struct cut_axis *axis,
                          const struct cs_problem *shape, int64_t shape_index,
                          struct cs_problem *restored)
{
    const struct cs_problem *untiled = &plan->problem;
    int i = (int)axis->dim[CS_X] - CS_D;
    if (axis->spacing == 1)
        return true;
    if (shape->dilation[i] * axis->spacing != untiled->dilation[i])
        return false;
    restored->dilation[i] = untiled->dilation[i];
    for (int t = 0; t < shape->tensors; t++) {
        const struct cs_tensor *tensor = &untiled->tensor[t];
        enum cs_dim dim = axis->dim[tensor->side];
        if (dim == CS_DIMS || tensor->dims[dim] != untiled->tensor[tensor->side].dims[dim] ||
            cs_plan_is_staged(plan, shape_index, t))
            continue;
        if (shape->tensor[t].dims[dim] > 1 &&
            shape->tensor[t].strides[dim] != tensor->strides[dim] * axis->spacing)
            return false;
        restored->tensor[t].strides[dim] = tensor->strides[dim];
    }
    return true;
}

/* Restores the padding along a cut, and the members that phases change. False if the shape's own
 * are wrong. */
static bool restore_window(const struct cs_plan *plan, const struct cut_axis *axis,
                           const struct cs_range *range, const struct cs_problem *shape,
                           int64_t shape_index, struct cs_problem *restored)
{
    int i = (int)axis->dim[CS_X] - CS_D;
    if (!axis->spatial)
        return true;
    if (shape->pre[i] != range->pre || shape->post[i] != range->post)
        return false;
    restored->pre[i] = plan->problem.pre[i];
    restored->post[i] = plan->problem.post[i];
    return restore_phase(plan, axis, shape, shape_index, restored);
}

/* Restores a tensor's alignment, extents and, if it is staged, strides. The stride between images
 * has no meaning if there is only one. False if a view's alignment is above the whole tensor's. */
static bool restore_tensor(const struct cs_tensor *untiled, bool staged, struct cs_tensor *tensor)
{
    bool single_image = tensor->dims[CS_N] == 1;
    if (tensor->alignment > untiled->alignment && !staged)
        return false;
    tensor->alignment = untiled->alignment;
    memcpy(tensor->dims, untiled->dims, sizeof untiled->dims);
    if (staged)
        memcpy(tensor->strides, untiled->strides, sizeof untiled->strides);
    else if (single_image)
        tensor->strides[CS_N] = untiled->strides[CS_N];
    return true;
}

/* True if the shape is the whole problem except for the members in which a tile may differ. These
 * are checked and restored, so that all others can be compared at once. `adds`: the tile adds to
 * the output of earlier ones. */
static bool shape_derives(const struct cs_plan *plan, const struct cut_axis *axes,
                          const struct cs_tile *tile, const struct cs_problem *shape, bool adds)
{
    const struct cs_problem *untiled = &plan->problem;
    struct cs_problem restored = *shape;
    if (shape->tensors != untiled->tensors || cs_problem_check(shape) != CS_OK ||
        (adds && shape->beta != 1))
        return false;
    if (adds)
        restored.beta = untiled->beta;
    for (int i = 0; i < shape->tensors; i++)
        if (!restore_tensor(&untiled->tensor[i], cs_plan_is_staged(plan, tile->shape, i),
                            &restored.tensor[i]))
            return false;
    for (int c = 0; c < plan->cuts; c++)
        if (!restore_window(plan, &axes[c], &tile->range[c], shape, tile->shape, &restored))
            return false;
    return cs_problem_same(untiled, &restored);
}

/* True if a tile's ranges, tensors and shape follow from the whole problem. `adds`: see
 * shape_derives. */
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
    int64_t distinct[CS_MAX_CUTS]; /* distinct elements of each cut's input range */
};

/* Adds the bytes of a tile's operands. False if a number exceeds 64 bits. */
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

/* True if the halo is the bytes that tiles read of x and y beyond reading them once. The tensor
 * that the convolution computes is not read. */
static bool halo_valid(const struct cs_plan *plan, const struct cut_axis *axes,
                       const struct readings *readings)
{
    static const enum cs_operand images[] = {CS_X, CS_Y};
    wide halo = 0;
    for (int i = 0; i < 2; i++) {
        enum cs_operand side = images[i];
        struct cs_tensor once = plan->problem.tensor[side];
        int64_t bytes;
        if (side == cs_result(plan->problem.direction))
            continue;
        for (int c = 0; c < plan->cuts; c++) {
            bool is_divided = (side == CS_X) == axes[c].transposed;
            if (axes[c].spatial && !is_divided)
                once.dims[axes[c].dim[side]] = readings->distinct[c];
        }
        if (cs_problem_tensor_bytes(&once, &bytes) != CS_OK)
            return false;
        halo += readings->bytes[side] - bytes;
    }
    return halo == plan->halo;
}

/* The part of an axis that the tiles so far cover, in their order. */
struct covered {
    int64_t next;     /* the first element that is not covered; of phases: the next phase */
    int64_t read_end; /* the end of the elements that were read on the other side of the window */
    int64_t distinct; /* how many these are */
};

/* Adds a tile's range. False if it is not the next one. */
static bool cover_range(const struct cut_axis *axis, struct covered *covered,
                        const struct cs_range *range)
{
    if (range->first != covered->next)
        return false;
    if (axis->spacing > 1) { /* a phase has all its elements, and shares none with other phases */
        covered->next++;
        covered->distinct += range->in_count;
        return range->count == cs_ceil_div(axis->extent - range->first, axis->spacing);
    }
    if (!cs_add(covered->next, range->count, &covered->next))
        return false;
    int64_t end = range->in_first + range->in_count;
    int64_t begin = range->in_first > covered->read_end ? range->in_first : covered->read_end;
    if (end > begin) {
        covered->distinct += end - begin;
        covered->read_end = end;
    }
    return true;
}

/* True if no element of the axis is missing. */
static bool is_complete(const struct cut_axis *axis, const struct covered *covered)
{
    return covered->next == (axis->spacing > 1 ? axis->spacing : axis->extent);
}

static bool same_range(const struct cs_range *a, const struct cs_range *b)
{
    return a->first == b->first && a->count == b->count && a->in_first == b->in_first &&
           a->in_count == b->in_count && a->pre == b->pre && a->post == b->post;
}

/* True if the tiles with one range of the first cut are valid. */
static bool row_valid(const struct cs_plan *plan, const struct cut_axis *axes, int64_t row,
                      struct covered *outer, struct readings *readings)
{
    int64_t tiles = plan->cuts > 1 ? plan->cut[1].tiles : 1;
    struct cs_tile first, tile;
    struct covered inner = {0};
    cs_plan_tile(plan, row * tiles, &first);
    if (!cover_range(&axes[0], outer, &first.range[0]))
        return false;
    for (int64_t i = 0; i < tiles; i++) {
        bool adds = (axes[0].sums && row > 0) || (plan->cuts > 1 && axes[1].sums && i > 0);
        cs_plan_tile(plan, row * tiles + i, &tile);
        if (!same_range(&tile.range[0], &first.range[0]) ||
            (plan->cuts > 1 && !cover_range(&axes[1], &inner, &tile.range[1])) ||
            !tile_valid(plan, axes, &tile, adds) || !add_reading(plan, &tile, readings))
            return false;
    }
    readings->distinct[1] = inner.distinct;
    return plan->cuts < 2 || is_complete(&axes[1], &inner);
}

/* True if all tiles are valid and together cover the axes once, and the halo is theirs. */
static bool tiles_valid(const struct cs_plan *plan)
{
    struct cut_axis axes[CS_MAX_CUTS] = {0};
    struct readings readings = {0};
    struct covered outer = {0};
    for (int c = 0; c < plan->cuts; c++)
        if (!find_axis(&plan->problem, &plan->cut[c], &axes[c]) ||
            (axes[c].sums && plan->lanes > 1)) /* in parallel they would add to the same element */
            return false;
    for (int i = 0; i < plan->problem.tensors; i++)
        if (!staging_allowed(plan, axes, i))
            return false;
    for (int64_t row = 0; row < plan->cut[0].tiles; row++)
        if (!row_valid(plan, axes, row, &outer, &readings))
            return false;
    readings.distinct[0] = outer.distinct;
    return is_complete(&axes[0], &outer) && halo_valid(plan, axes, &readings);
}

/* True if the runs of a cut are possible and together have its number of tiles. */
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
static bool spacing_valid(const struct cs_problem *untiled, const struct cs_cut *cut)
{
    if (cut->axis < CS_AXIS_D_PHASES)
        return cut->spacing == 1;
    int i = (int)cs_axis_dim(cut->axis, CS_X) - CS_D;
    return cut->spacing > 1 && untiled->stride[i] == 1 && untiled->dilation[i] % cut->spacing == 0;
}

/* True if the axis of a cut can be cut, and its tiles, runs and slices are possible. */
static bool cut_valid(const struct cs_problem *untiled, const struct cs_cut *cut)
{
    if ((unsigned)cut->axis >= CS_AXES || cs_axis_extent(untiled, cut->axis) < 2 ||
        !spacing_valid(untiled, cut) || cut->tiles < 2 || cut->tiles > CS_MAX_TILES ||
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

/* True if the cuts are valid, are along different extents, and have the plan's tiles and shapes. */
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

/* True if each shape has at least one tile, and as many as the plan states. */
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
 * place in the packed tensor. Adds the shape to `staging`. */
static bool stage_valid(const struct cs_plan *plan, const struct cut_axis *axes,
                        const struct cs_problem *shape, const struct cs_tile *tile,
                        const struct cs_stage *stage, struct staging *staging)
{
    const int i = stage->tensor;
    const struct cs_tensor *packed = &shape->tensor[i];
    struct cs_tensor copied = *packed;
    struct tensor_part part;
    int64_t bytes, copied_bytes;
    wide skipped = 0;
    if (!find_part(plan, axes, tile, i, &part))
        return false;
    memcpy(copied.dims, part.view.dims, sizeof copied.dims);
    for (int dim = 0; dim < CS_DIMS; dim++)
        skipped += (wide)part.spare_before[dim] * packed->strides[dim];

    bool adds = shape->beta != 0 && i == (int)cs_result(shape->direction);
    if (stage->in != (adds || !packed->written) || stage->out != packed->written ||
        stage->skipped != skipped * cs_problem_dtype_size(packed->dtype) ||
        !cs_copy_connects(&stage->copy, &part.view, &copied) ||
        cs_problem_tensor_bytes(packed, &bytes) != CS_OK ||
        cs_problem_tensor_bytes(&copied, &copied_bytes) != CS_OK)
        return false;
    int64_t copies = plan->shape[tile->shape].tiles * (stage->in + stage->out);
    staging->copied += (wide)copied_bytes * copies;
    if (bytes > staging->room[i])
        staging->room[i] = bytes;
    return true;
}

/* True if a tile shape has one valid stage for each staged tensor. Adds the shape to `staging`. */
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

/* True if the scratch is within the limit, and the parts of its lanes are apart. */
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
