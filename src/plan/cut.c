#include "base/checked.h"
#include "plan/line.h"
#include <string.h>

/* Output elements whose window lies in the padding before the input, and the first one whose window
 * lies behind it. Windows move forward with the output, so those two sets are a head and a tail,
 * and a tile between them always meets the input. */
static enum cs_status padding_only(const struct cs_line *line, int64_t *before_p, int64_t *behind_p)
{
    int64_t end;
    if (!cs_add(line->in, line->pre, &end))
        return CS_OVERFLOW;
    *before_p = line->pre < line->reach ? 0 : (line->pre - line->reach) / line->stride + 1;
    *behind_p = cs_ceil_div(end, line->stride);
    return CS_OK;
}

/* Tile boundaries: multiples of the step, tiles in the padding alone merged into the first or last
 * that meets the input. */
static enum cs_status lay_out(const struct cs_line *line, int64_t step, struct cs_plan *plan)
{
    int64_t before, behind, head;
    enum cs_status status = padding_only(line, &before, &behind);
    if (status != CS_OK)
        return status;

    int64_t begin = before / step;
    int64_t end = cs_ceil_div(line->out < behind ? line->out : behind, step);
    if (end - begin < 2 || end - begin > CS_MAX_TILES)
        return CS_ILLEGAL;
    if (!cs_mul(begin + 1, step, &head))
        return CS_OVERFLOW;
    plan->head = head;
    plan->step = step;
    plan->tiles = end - begin;
    return CS_OK;
}

static enum cs_status tile_window(const struct cs_plan *plan, const struct cs_line *line,
                                  int64_t index, struct cs_window *window)
{
    int64_t first = 0, count = plan->head;
    if (index > 0) {
        if (!cs_mul(index - 1, plan->step, &first) || !cs_add(first, plan->head, &first))
            return CS_OVERFLOW;
        count = plan->step;
    }
    if (index == plan->tiles - 1 && !cs_add(line->out, -first, &count))
        return CS_OVERFLOW;
    return cs_line_window(line, first, count, window);
}

static enum cs_status tile_offset(const struct cs_tensor *tensor, enum cs_dim dim, int64_t first,
                                  int64_t *offset_p)
{
    int64_t offset;
    if (!cs_mul(first, tensor->strides[dim], &offset) ||
        !cs_mul(offset, cs_dtype_size(tensor->dtype), &offset))
        return CS_OVERFLOW;
    *offset_p = offset;
    return CS_OK;
}

static enum cs_status tile_at(const struct cs_plan *plan, const struct cs_line *line, int64_t index,
                              struct cs_tile *tile)
{
    struct cs_window window;
    int64_t x, y;
    enum cs_status status = tile_window(plan, line, index, &window);
    if (status == CS_OK)
        status = tile_offset(&plan->problem.tensor[CS_X], line->dim, window.in_first, &x);
    if (status == CS_OK)
        status = tile_offset(&plan->problem.tensor[CS_Y], line->dim, window.first, &y);
    if (status != CS_OK)
        return status;

    *tile = (struct cs_tile){
        .kind = plan->kind_of[index],
        .first = window.first,
        .count = window.count,
        .in_first = window.in_first,
        .in_count = window.in_count,
        .pre = window.pre,
        .post = window.post,
        .offset = {[CS_X] = x, [CS_FILTER] = 0, [CS_Y] = y},
    };
    return CS_OK;
}

static void tile_problem(const struct cs_problem *whole, enum cs_dim dim,
                         const struct cs_tile *tile, struct cs_problem *problem)
{
    *problem = *whole;
    problem->tensor[CS_X].dims[dim] = tile->in_count;
    problem->tensor[CS_Y].dims[dim] = tile->count;
    if (dim >= CS_D) {
        problem->pre[dim - CS_D] = tile->pre;
        problem->post[dim - CS_D] = tile->post;
    }
}

static bool tile_is_of(const struct cs_problem *kind, enum cs_dim dim, const struct cs_tile *tile)
{
    if (kind->tensor[CS_X].dims[dim] != tile->in_count ||
        kind->tensor[CS_Y].dims[dim] != tile->count)
        return false;
    return dim < CS_D ||
           (kind->pre[dim - CS_D] == tile->pre && kind->post[dim - CS_D] == tile->post);
}

/* Every tile of a kind runs the same execution plan, so the kind can promise only what all of its
 * tiles keep. */
static void lower_alignments(struct cs_problem *kind, const struct cs_tile *tile)
{
    for (int i = 0; i < CS_OPERANDS; i++) {
        int64_t kept = tile->offset[i] & -tile->offset[i];
        if (kept != 0 && kept < kind->tensor[i].alignment)
            kind->tensor[i].alignment = kept;
    }
}

static enum cs_status add_tile(struct cs_plan *plan, enum cs_dim dim, int64_t index,
                               const struct cs_tile *tile)
{
    int64_t kind = 0;
    while (kind < plan->kinds && !tile_is_of(&plan->kind[kind].problem, dim, tile))
        kind++;
    if (kind == CS_MAX_KINDS)
        return CS_ILLEGAL;
    if (kind == plan->kinds) {
        tile_problem(&plan->problem, dim, tile, &plan->kind[kind].problem);
        plan->kinds++;
    }
    lower_alignments(&plan->kind[kind].problem, tile);
    plan->kind[kind].tiles++;
    plan->kind_of[index] = (uint8_t)kind;
    return CS_OK;
}

static enum cs_status halo_bytes(const struct cs_plan *plan, const struct cs_line *line,
                                 int64_t elements, int64_t *halo_p)
{
    int64_t bytes;
    enum cs_status status = cs_tensor_bytes(&plan->problem.tensor[CS_X], &bytes);
    if (status != CS_OK)
        return status;
    return cs_mul(elements, bytes / line->in, halo_p) ? CS_OK : CS_OVERFLOW;
}

static enum cs_status add_tiles(struct cs_plan *plan, const struct cs_line *line)
{
    int64_t reread = 0, read_end = 0;
    for (int64_t i = 0; i < plan->tiles; i++) {
        struct cs_tile tile;
        enum cs_status status = tile_at(plan, line, i, &tile);
        if (status == CS_OK)
            status = add_tile(plan, line->dim, i, &tile);
        if (status != CS_OK)
            return status;
        if (tile.in_first < read_end && !cs_add(reread, read_end - tile.in_first, &reread))
            return CS_OVERFLOW;
        read_end = tile.in_first + tile.in_count;
    }
    return halo_bytes(plan, line, reread, &plan->halo);
}

static void whole_plan(struct cs_plan *plan)
{
    plan->head = 1;
    plan->step = 1;
    plan->tiles = 1;
    plan->kinds = 1;
    plan->kind[0].problem = plan->problem;
    plan->kind[0].tiles = 1;
}

enum cs_status cs_plan_cut(const struct cs_problem *problem, enum cs_axis axis, int64_t step,
                           struct cs_plan *plan)
{
    struct cs_line line;
    memset(plan, 0, sizeof *plan);
    plan->problem = *problem;
    plan->axis = axis;
    if (axis == CS_AXIS_NONE) {
        whole_plan(plan);
        return CS_OK;
    }
    if (step < 1 || step >= cs_axis_extent(problem, axis))
        return CS_ILLEGAL;

    enum cs_status status = cs_line_of(problem, axis, &line);
    if (status == CS_OK)
        status = lay_out(&line, step, plan);
    if (status == CS_OK)
        status = add_tiles(plan, &line);
    return status;
}

void cs_plan_tile(const struct cs_plan *plan, int64_t index, struct cs_tile *tile)
{
    struct cs_line line;
    if (plan->axis == CS_AXIS_NONE) {
        *tile = (struct cs_tile){.count = 1, .in_count = 1};
        return;
    }
    if (cs_line_of(&plan->problem, plan->axis, &line) != CS_OK ||
        tile_at(plan, &line, index, tile) != CS_OK)
        *tile = (struct cs_tile){.count = 0};
}

void cs_plan_settle(struct cs_plan *plan)
{
    plan->workspace = 0;
    for (int64_t i = 0; i < plan->kinds; i++) {
        if (plan->kind[i].workspace > plan->workspace)
            plan->workspace = plan->kind[i].workspace;
    }
}
