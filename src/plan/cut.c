/* Cuts a problem into tiles along one or two axes: offsets, extents, padding, distinct tile
 * shapes. */
#include "base/checked.h"
#include "base/invariant.h"
#include "plan/axis.h"
#include <string.h>

/* Elements that tiles read along a cut, of the operand that is not divided: `read` by all tiles
 * together, `distinct` without repetitions. */
struct reading {
    int64_t read, distinct;
};

/* Finds the elements of y whose windows lie in the padding alone: the first *before_p ones, and
 * those from *after_p on. Windows move forward with y, so a tile between these two sets always
 * meets x. */
static enum cs_status find_padding_only(const struct cs_axis_map *axis_map, int64_t *before_p,
                                        int64_t *after_p)
{
    int64_t end;
    *before_p = 0;
    *after_p = axis_map->tiled_extent;
    if (axis_map->transposed)
        return CS_OK;
    if (!cs_add(axis_map->other_extent, axis_map->pre, &end))
        return CS_OVERFLOW;
    if (axis_map->pre >= axis_map->reach)
        *before_p = (axis_map->pre - axis_map->reach) / axis_map->stride + 1;
    *after_p = cs_ceil_div(end, axis_map->stride);
    return CS_OK;
}

/* The progress of a cut. */
struct progress {
    int64_t begin; /* first element of the next tile */
    int64_t early; /* elements before it whose windows lie in the padding: the next tile has them */
};

/* Appends a run to a cut, or extends the last run if it is alike. CS_ILLEGAL if the cut has too
 * many tiles or runs. */
static enum cs_status append_run(struct cs_cut *cut, const struct cs_run *run)
{
    struct cs_run *last = cut->runs > 0 ? &cut->run[cut->runs - 1] : NULL;
    if (run->tiles == 0)
        return CS_OK;
    cut->tiles += run->tiles;
    if (cut->tiles > CS_MAX_TILES)
        return CS_ILLEGAL;
    if (last && last->step == run->step && last->relaxation == run->relaxation) {
        last->tiles += run->tiles;
        return CS_OK;
    }
    if (cut->runs > CS_MAX_RUNS)
        return CS_ILLEGAL;
    cut->run[cut->runs++] = *run;
    return CS_OK;
}

/* Appends at most run->tiles tiles, up to element `end`. Tiles whose windows lie in the padding
 * alone are merged into the first or last tile that meets x. The windows of the first `before`
 * elements lie before x. */
static enum cs_status lay_run(const struct cs_run *run, int64_t before, int64_t end,
                              struct progress *progress, struct cs_cut *cut)
{
    int64_t step = run->step, most = run->tiles, covered, first_step;
    if (cut->tiles == 0 && before > progress->begin) {
        int64_t merged = cs_min((before - progress->begin) / step, most);
        progress->begin += merged * step;
        progress->early += merged * step;
        most -= merged;
    }
    if (progress->begin >= end || most < 1)
        return CS_OK;
    int64_t tiles = cs_min(cs_ceil_div(end - progress->begin, step), most);
    if (tiles > CS_MAX_TILES)
        return CS_ILLEGAL;
    if (!cs_mul(tiles, step, &covered) || !cs_add(progress->begin, covered, &progress->begin) ||
        !cs_add(progress->early, step, &first_step))
        return CS_OVERFLOW;
    int64_t longer = progress->early > 0; /* tiles with early elements: the first, or none */
    progress->early = 0;
    enum cs_status status = append_run(cut, &(struct cs_run){first_step, longer, run->relaxation});
    return status != CS_OK
               ? status
               : append_run(cut, &(struct cs_run){step, tiles - longer, run->relaxation});
}

/* Appends the tiles of all runs to a cut. CS_ILLEGAL if it has fewer than two tiles. */
static enum cs_status lay_runs(const struct cs_axis_map *axis_map, const struct cs_run *run,
                               int runs, struct cs_cut *cut)
{
    struct progress progress = {0, 0};
    int64_t before, after;
    enum cs_status status = find_padding_only(axis_map, &before, &after);
    for (int i = 0; status == CS_OK && i < runs; i++)
        status = lay_run(&run[i], before, cs_min(axis_map->tiled_extent, after), &progress, cut);
    return status == CS_OK && cut->tiles < 2 ? CS_ILLEGAL : status;
}

/* The range of tile `index` of a cut in runs. The last tile takes the rest of the axis. */
static enum cs_status run_range_at(const struct cs_cut *cut, const struct cs_axis_map *axis_map,
                                   int64_t index, struct cs_range *range)
{
    int64_t first = 0, count = 0, span, left = index; /* `left`: tiles before this one */
    for (int i = 0; i < cut->runs && left >= 0; i++) {
        count = cut->run[i].step;
        if (!cs_mul(cs_min(left, cut->run[i].tiles), count, &span) || !cs_add(first, span, &first))
            return CS_OVERFLOW;
        left -= cut->run[i].tiles;
    }
    if (index == cut->tiles - 1 && !cs_add(axis_map->tiled_extent, -first, &count))
        return CS_OVERFLOW;
    enum cs_status status =
        count < 1 ? CS_ILLEGAL : cs_axis_map_range(axis_map, first, count, range);
    return status == CS_OK && cut->equal_padding ? cs_axis_map_equalise(axis_map, range) : status;
}

static enum cs_status range_at(const struct cs_problem *problem, const struct cs_cut *cut,
                               int64_t index, struct cs_range *range)
{
    struct cs_axis_map axis_map;
    if (cs_phases_of(cut->axis) != CS_AXIS_NONE)
        return cs_phases_range(problem, cut, index, range);
    enum cs_status status = cs_axis_map_of(problem, cut->axis, &axis_map);
    return status == CS_OK ? run_range_at(cut, &axis_map, index, range) : status;
}

/* Bytes from the start of a tensor to the start of a range. */
static enum cs_status offset_along(const struct cs_problem *problem, enum cs_axis axis, int tensor,
                                   const struct cs_range *range, int64_t *offset_p)
{
    const struct cs_tensor *t = &problem->tensor[tensor];
    enum cs_dim dim = cs_axis_cuts(problem, axis, tensor);
    int64_t offset = 0;
    if (dim != CS_DIMS) {
        int64_t first = t->side == cs_axis_divided_side(problem) ? range->first : range->in_first;
        if (!cs_mul(first, t->strides[dim], &offset) ||
            !cs_mul(offset, cs_problem_dtype_size(t->dtype), &offset))
            return CS_OVERFLOW;
    }
    *offset_p = offset;
    return CS_OK;
}

static bool same_slice(const struct cs_slice *a, const struct cs_slice *b)
{
    return a->count == b->count && a->in_count == b->in_count && a->pre == b->pre &&
           a->post == b->post && a->spare_before == b->spare_before &&
           a->spare_after == b->spare_after && a->accumulates == b->accumulates &&
           a->relaxation == b->relaxation;
}

/* Finds the slice like `required`, or adds it. CS_ILLEGAL if the cut has too many. */
static enum cs_status slice_for(const struct cs_problem *problem, const struct cs_slice *required,
                                struct cs_cut *cut, int64_t *index_p)
{
    int64_t index = 0;
    while (index < cut->slices && !same_slice(&cut->slice[index], required))
        index++;
    if (index == CS_MAX_TILE_SHAPES)
        return CS_ILLEGAL;
    if (index == cut->slices) {
        cut->slice[index] = *required;
        for (int i = 0; i < problem->tensors; i++)
            cut->slice[index].alignment[i] = problem->tensor[i].alignment;
        cut->slices++;
    }
    *index_p = index;
    return CS_OK;
}

static enum cs_relaxation relaxation_at(const struct cs_cut *cut, int64_t index)
{
    int run = 0;
    while (run < cut->runs - 1 && index >= cut->run[run].tiles)
        index -= cut->run[run++].tiles;
    return cut->run[run].relaxation;
}

/* Lowers the alignments of a slice to those of a tile's range. Every tile of a shape runs the same
 * execution plan, so the shape declares only the alignment that all of its tiles have. */
static enum cs_status lower_alignments(const struct cs_problem *problem, enum cs_axis axis,
                                       const struct cs_range *range, struct cs_slice *slice)
{
    for (int i = 0; i < problem->tensors; i++) {
        int64_t offset;
        if (offset_along(problem, axis, i, range, &offset) != CS_OK)
            return CS_OVERFLOW;
        int64_t power = offset & -offset; /* the largest power of two that divides the offset */
        if (power != 0 && power < slice->alignment[i])
            slice->alignment[i] = power;
    }
    return CS_OK;
}

/* Adds a tile's input range. Phases do not overlap. Of consecutive ranges, the elements before
 * `*read_end_p` were read already. */
static enum cs_status add_reading(const struct cs_range *range, int64_t *read_end_p,
                                  struct reading *reading)
{
    int64_t end = range->in_first + range->in_count;
    int64_t unread = end - (range->in_first > *read_end_p ? range->in_first : *read_end_p);
    if (range->spacing > 1)
        unread = range->in_count;
    reading->distinct += unread > 0 ? unread : 0;
    *read_end_p = end > *read_end_p ? end : *read_end_p;
    return cs_add(reading->read, range->in_count, &reading->read) ? CS_OK : CS_OVERFLOW;
}

/* Finds the slice of each tile of a cut, and the elements that the tiles read. */
static enum cs_status add_slices(const struct cs_problem *problem, struct cs_cut *cut,
                                 struct reading *reading)
{
    int64_t read_end = 0;
    bool sums = cs_axis_accumulates(problem, cut->axis);
    for (int64_t i = 0; i < cut->tiles; i++) {
        struct cs_range range;
        int64_t slice;
        enum cs_status status = range_at(problem, cut, i, &range);
        const struct cs_slice required = {.count = range.count,
                                          .in_count = range.in_count,
                                          .pre = range.pre,
                                          .post = range.post,
                                          .spare_before = range.spare_before,
                                          .spare_after = range.spare_after,
                                          .accumulates = sums && (i > 0 || problem->beta == 1),
                                          .relaxation = relaxation_at(cut, i)};
        if (status == CS_OK)
            status = slice_for(problem, &required, cut, &slice);
        if (status == CS_OK)
            status = lower_alignments(problem, cut->axis, &range, &cut->slice[slice]);
        if (status == CS_OK)
            status = add_reading(&range, &read_end, reading);
        if (status != CS_OK)
            return status;
        cut->slice_of[i] = (uint8_t)slice;
    }
    return CS_OK;
}

/* True if the padding of some tile differs between its two sides. */
static bool has_unequal_padding(const struct cs_problem *problem, const struct cs_cut *cut)
{
    struct cs_range range;
    for (int64_t i = 0; i < cut->tiles; i++)
        if (range_at(problem, cut, i, &range) == CS_OK && range.pre != range.post)
            return true;
    return false;
}

/* Rounds a step up to a multiple of `unit`, so that tiles have few shapes. */
static enum cs_status round_step(int64_t unit, int64_t extent, int64_t *step_p)
{
    int64_t step;
    if (*step_p < 1 || *step_p >= extent)
        return CS_ILLEGAL;
    if (!cs_mul(cs_ceil_div(*step_p, unit), unit, &step))
        return CS_OVERFLOW;
    *step_p = step;
    return step < extent ? CS_OK : CS_ILLEGAL;
}

/* Rounds the step of a cut, and the steps of the tiling's runs if the cut is the outer one. */
static enum cs_status round_steps(const struct cs_problem *problem, int cut,
                                  struct cs_tiling *tiling)
{
    enum cs_axis axis = tiling->axis[cut];
    int64_t extent = cs_axis_extent(problem, axis), unit = cs_axis_unit(problem, axis);
    enum cs_status status = round_step(unit, extent, &tiling->step[cut]);
    for (int i = 0; cut == 0 && status == CS_OK && i < tiling->runs; i++) {
        status = round_step(unit, extent, &tiling->run[i].step);
        if (status == CS_OK && tiling->run[i].tiles < 1)
            status = CS_ILLEGAL;
    }
    return status;
}

/* Cuts an axis into consecutive tiles. The tiling's step cuts the part that its runs do not cover.
 */
static enum cs_status cut_in_runs(const struct cs_problem *problem, int index,
                                  struct cs_tiling *tiling, struct cs_cut *cut)
{
    struct cs_axis_map axis_map;
    struct cs_run run[CS_MAX_RUNS];
    int runs = index == 0 ? tiling->runs : 0;
    enum cs_status status = round_steps(problem, index, tiling);
    if (status == CS_OK)
        status = cs_axis_map_of(problem, cut->axis, &axis_map);
    if (status != CS_OK)
        return status;
    memcpy(run, tiling->run, (size_t)runs * sizeof *run);
    run[runs++] = (struct cs_run){tiling->step[index], INT64_MAX, tiling->relaxation};
    cut->spacing = 1;
    return lay_runs(&axis_map, run, runs, cut);
}

/* Cuts an axis by phase. The tiling's step is the dilation that is left in a tile, so there are
 * dilation / step tiles. */
static enum cs_status cut_in_phases(const struct cs_problem *problem, int index,
                                    struct cs_tiling *tiling, struct cs_cut *cut)
{
    int64_t dilation = cs_axis_extent(problem, cut->axis), *step = &tiling->step[index];
    if (*step < 1 || *step >= dilation || (index == 0 && tiling->runs > 0))
        return CS_ILLEGAL;
    *step = cs_phases_step(problem, cut->axis, *step);
    cut->spacing = dilation / *step;
    return append_run(cut, &(struct cs_run){*step, cut->spacing, tiling->relaxation});
}

/* Cuts the axis of cut `index`, and rounds its step in `tiling`. */
static enum cs_status cut_axis(const struct cs_problem *problem, int index,
                               struct cs_tiling *tiling, struct cs_cut *cut,
                               struct reading *reading)
{
    cut->axis = tiling->axis[index];
    enum cs_status status = cs_phases_of(cut->axis) != CS_AXIS_NONE
                                ? cut_in_phases(problem, index, tiling, cut)
                                : cut_in_runs(problem, index, tiling, cut);
    if (status == CS_OK && tiling->equal_padding && problem->direction != CS_BACKWARD_FILTER)
        cut->equal_padding = has_unequal_padding(problem, cut);
    if (status == CS_OK)
        status = add_slices(problem, cut, reading);
    return status;
}

/* Sets the tiles and shapes of all cuts together. A shape's tiles are the product of the tiles of
 * its slices. */
static enum cs_status combine_cuts(struct cs_plan *plan)
{
    int64_t met[CS_MAX_CUTS][CS_MAX_TILE_SHAPES] = {{1}, {1}}; /* tiles of each slice */
    int64_t inner = plan->cuts > 1 ? plan->cut[1].slices : 1;
    plan->tiles = plan->shapes = 1;
    for (int c = 0; c < CS_MAX_CUTS && c < plan->cuts; c++) {
        const struct cs_cut *cut = &plan->cut[c];
        plan->tiles *= cut->tiles;
        plan->shapes *= cut->slices;
        met[c][0] = 0;
        for (int64_t i = 0; i < cut->tiles; i++)
            met[c][cut->slice_of[i]]++;
    }
    if (plan->tiles > CS_MAX_TILES || plan->shapes > CS_MAX_TILE_SHAPES)
        return CS_ILLEGAL;
    for (int64_t i = 0; i < plan->shapes; i++) {
        plan->shape[i].tiles = met[0][i / inner] * met[1][i % inner];
        plan->shape[i].relaxation =
            plan->cuts > 0 ? plan->cut[0].slice[i / inner].relaxation : plan->tiling.relaxation;
    }
    return CS_OK;
}

/* The elements of x or y that tiles read along a cut. The divided operand is read once, the other
 * one with its halo. An operand that the cut leaves whole counts as one element, which every tile
 * reads. */
static struct reading reading_along(const struct cs_plan *plan, int cut, enum cs_operand side,
                                    const struct reading *other)
{
    enum cs_dim dim = cs_axis_dim(plan->cut[cut].axis, side);
    if (dim == CS_DIMS)
        return (struct reading){plan->cut[cut].tiles, 1};
    int64_t extent = plan->problem.tensor[side].dims[dim];
    return side == cs_axis_divided_side(&plan->problem) ? (struct reading){extent, extent} : *other;
}

/* Bytes of x or y that are read again. */
static enum cs_status reread_bytes(const struct cs_plan *plan, enum cs_operand side,
                                   const struct reading *reading, int64_t *bytes_p)
{
    const struct cs_tensor *tensor = &plan->problem.tensor[side];
    int64_t bytes_each, read = 1, distinct = 1; /* elements along the cuts */
    if (cs_problem_tensor_bytes(tensor, &bytes_each) != CS_OK)
        return CS_OVERFLOW;
    for (int c = 0; c < CS_MAX_CUTS && c < plan->cuts; c++) {
        const struct reading along = reading_along(plan, c, side, &reading[c]);
        enum cs_dim dim = cs_axis_dim(plan->cut[c].axis, side);
        if (dim != CS_DIMS)
            bytes_each /= tensor->dims[dim];
        if (!cs_mul(read, along.read, &read) || !cs_mul(distinct, along.distinct, &distinct))
            return CS_OVERFLOW;
    }
    return cs_mul(bytes_each, read - distinct, bytes_p) ? CS_OK : CS_OVERFLOW;
}

/* Adds the bytes of x and y that are read again to the halo. The result of the convolution is not
 * read. */
static enum cs_status add_halo(const struct reading *reading, struct cs_plan *plan)
{
    enum cs_operand result = cs_result(plan->problem.direction);
    const enum cs_operand images[] = {CS_X, CS_Y};
    for (int i = 0; i < 2; i++) {
        int64_t bytes = 0;
        enum cs_status status =
            images[i] == result ? CS_OK : reread_bytes(plan, images[i], reading, &bytes);
        if (status != CS_OK)
            return status;
        if (!cs_add(plan->halo, bytes, &plan->halo))
            return CS_OVERFLOW;
    }
    return CS_OK;
}

/* The lanes of a plan. Tiles that add up run one after the other. */
static int lanes_of(const struct cs_plan *plan, int required)
{
    for (int c = 0; c < plan->cuts; c++)
        for (int64_t i = 0; i < plan->cut[c].slices; i++)
            if (plan->cut[c].slice[i].accumulates)
                return 1;
    if (required > CS_MAX_LANES)
        required = CS_MAX_LANES;
    return required < 1 ? 1 : required < plan->tiles ? required : (int)plan->tiles;
}

/* True if the axes are known and no extent is cut twice. Phases cut the extent of their axis. */
static bool axes_valid(const struct cs_tiling *tiling)
{
    enum cs_axis axis[CS_MAX_CUTS];
    for (int c = 0; c < CS_MAX_CUTS; c++) {
        if ((unsigned)tiling->axis[c] >= CS_AXES)
            return false;
        enum cs_axis phases = cs_phases_of(tiling->axis[c]);
        axis[c] = phases != CS_AXIS_NONE ? phases : tiling->axis[c];
    }
    return axis[1] == CS_AXIS_NONE || (axis[0] != CS_AXIS_NONE && axis[0] != axis[1]);
}

enum cs_status cs_plan_cut(const struct cs_problem *problem, const struct cs_tiling *tiling,
                           struct cs_plan *plan)
{
    struct reading reading[CS_MAX_CUTS] = {{0, 0}};
    memset(plan, 0, sizeof *plan);
    plan->problem = *problem;
    plan->tiling = *tiling;
    if (!axes_valid(tiling) || tiling->runs < 0 || tiling->runs >= CS_MAX_RUNS ||
        (unsigned)tiling->relaxation >= CS_RELAXATIONS)
        return CS_ILLEGAL;
    for (int c = 0; c < CS_MAX_CUTS && tiling->axis[c] != CS_AXIS_NONE; c++) {
        enum cs_status status = cut_axis(problem, c, &plan->tiling, &plan->cut[c], &reading[c]);
        if (status != CS_OK)
            return status;
        plan->cuts++;
    }
    enum cs_status status = combine_cuts(plan);
    if (status == CS_OK)
        status = add_halo(reading, plan);
    if (status == CS_OK)
        status = cs_plan_stage(plan, tiling->staged);
    if (status != CS_OK)
        return status;
    plan->tiling.lanes = plan->lanes = lanes_of(plan, tiling->lanes);
    plan->tiling.staged = plan->stages;
    plan->tiling.equal_padding = plan->cut[0].equal_padding || plan->cut[1].equal_padding;
    cs_plan_settle(plan);
    CS_INVARIANT(cs_plan_validate(plan, INT64_MAX) == CS_OK);
    return CS_OK;
}

static bool same_run(const struct cs_run *a, const struct cs_run *b)
{
    return a->step == b->step && a->tiles == b->tiles && a->relaxation == b->relaxation;
}

bool cs_cut_tiling_equal(const struct cs_tiling *a, const struct cs_tiling *b)
{
    bool equal = a->lanes == b->lanes && a->relaxation == b->relaxation && a->runs == b->runs &&
                 a->staged == b->staged && a->equal_padding == b->equal_padding;
    for (int c = 0; c < CS_MAX_CUTS; c++)
        equal = equal && a->axis[c] == b->axis[c] && a->step[c] == b->step[c];
    for (int i = 0; equal && i < a->runs; i++)
        equal = same_run(&a->run[i], &b->run[i]);
    return equal;
}

/* Computes the ranges, offsets and shape of tile `index`. */
static enum cs_status tile_at(const struct cs_plan *plan, int64_t index, struct cs_tile *tile)
{
    struct cs_tile made = {0};
    int64_t inner = plan->cuts > 1 ? plan->cut[1].tiles : 1;
    const int64_t at[CS_MAX_CUTS] = {index / inner, index % inner};
    for (int c = 0; c < plan->cuts && c < CS_MAX_CUTS; c++) {
        const struct cs_cut *cut = &plan->cut[c];
        enum cs_status status = range_at(&plan->problem, cut, at[c], &made.range[c]);
        for (int i = 0; status == CS_OK && i < plan->problem.tensors; i++) {
            int64_t offset;
            status = offset_along(&plan->problem, cut->axis, i, &made.range[c], &offset);
            if (status == CS_OK && !cs_add(made.offset[i], offset, &made.offset[i]))
                status = CS_OVERFLOW;
        }
        if (status != CS_OK)
            return status;
        made.shape = made.shape * (int)cut->slices + cut->slice_of[at[c]];
    }
    *tile = made;
    return CS_OK;
}

void cs_plan_tile(const struct cs_plan *plan, int64_t index, struct cs_tile *tile)
{
    if (tile_at(plan, index, tile) != CS_OK)
        *tile = (struct cs_tile){0};
}

static int64_t largest_workspace(const struct cs_plan *plan)
{
    int64_t largest = 0;
    for (int64_t i = 0; i < plan->shapes; i++)
        if (plan->shape[i].workspace > largest)
            largest = plan->shape[i].workspace;
    return largest;
}

/* Lanes run independently, so their parts of the scratch do not overlap. Staged parts are multiples
 * of the alignment. Each workspace but the last is padded to the alignment. */
int64_t cs_plan_scratch(const struct cs_plan *plan, int lanes, struct cs_lane lane[])
{
    int64_t end = 0, workspace = largest_workspace(plan);
    const int64_t padding = -workspace & (CS_SCRATCH_ALIGNMENT - 1);
    for (int i = 0; i < lanes; i++) {
        struct cs_lane place = {.staged = end};
        if (!cs_add(end, plan->staged, &place.workspace) ||
            !cs_add(place.workspace, workspace, &end) ||
            (i < lanes - 1 && !cs_add(end, padding, &end)))
            return INT64_MAX;
        if (lane)
            lane[i] = place;
    }
    return end;
}

void cs_plan_settle(struct cs_plan *plan)
{
    plan->workspace = cs_plan_scratch(plan, plan->lanes, NULL);
}
