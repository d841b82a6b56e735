/* A plan as stable text, as in tests/golden/plans.txt: a head line, then one line for each tile. */
#ifndef PLAN_DUMP_H
#define PLAN_DUMP_H

#include "base/text.h"
#include "convshim/plan.h"

static void put_extents(struct cs_text *text, const char *before, const struct cs_tensor *tensor)
{
    const int64_t *dims = tensor->dims;
    cs_text_put(text, "%s%lldx%lldx%lldx%lldx%lld", before, (long long)dims[CS_N],
                (long long)dims[CS_C], (long long)dims[CS_D], (long long)dims[CS_H],
                (long long)dims[CS_W]);
}

static void put_runs(struct cs_text *text, const struct cs_cut *cut)
{
    for (int i = 0; i < cut->runs; i++)
        cs_text_put(text, "%s%lldx%lld", i ? "+" : " by ", (long long)cut->run[i].tiles,
                    (long long)cut->run[i].step);
}

static void put_head(struct cs_text *text, const struct cs_plan *plan)
{
    const struct cs_problem *problem = &plan->problem;
    cs_text_put(text, "%s", cs_problem_direction_name(problem->direction));
    put_extents(text, " x ", &problem->tensor[CS_X]);
    put_extents(text, " w ", &problem->tensor[CS_FILTER]);
    put_extents(text, " y ", &problem->tensor[CS_Y]);
    cs_text_put(text, " %s %s cut %s", cs_problem_dtype_name(problem->tensor[CS_X].dtype),
                cs_problem_layout(problem), cs_axis_tiling_name(&plan->tiling));
    for (int c = 0; c < plan->cuts; c++)
        put_runs(text, &plan->cut[c]);
    cs_text_put(
        text, " tiles %lld lanes %d kinds %lld workspace %lld staged %lld copied %lld halo %lld\n",
        (long long)plan->tiles, plan->lanes, (long long)plan->shapes, (long long)plan->workspace,
        (long long)plan->staged, (long long)plan->copied, (long long)plan->halo);
}

static void put_range(struct cs_text *text, enum cs_axis axis, const struct cs_range *range)
{
    cs_text_put(text, " %s %lld+%lld", cs_axis_name(axis), (long long)range->first,
                (long long)range->count);
    if (range->every > 1)
        cs_text_put(text, " every %lld", (long long)range->every);
    if (cs_axis_dim(axis, CS_X) >= CS_D && cs_axis_dim(axis, CS_X) < CS_DIMS)
        cs_text_put(text, " with %lld+%lld pad %lld,%lld", (long long)range->in_first,
                    (long long)range->in_count, (long long)range->pre, (long long)range->post);
}

static void put_stages(struct cs_text *text, const struct cs_plan *plan, int shape)
{
    struct cs_stage stage[CS_MAX_TENSORS];
    int stages = cs_plan_stages(plan, shape, stage);
    for (int i = 0; i < stages; i++) {
        const struct cs_copy *copy = &stage[i].copy;
        cs_text_put(text, " stage %d at %lld %s%s %lldx%lldx%lldx%lld", stage[i].tensor,
                    (long long)plan->staged_at[stage[i].tensor], stage[i].in ? "in" : "",
                    stage[i].out ? "out" : "", (long long)copy->times, (long long)copy->depth,
                    (long long)copy->height, (long long)copy->width);
    }
}

static void put_tile(struct cs_text *text, const struct cs_plan *plan, int64_t index)
{
    struct cs_tile tile;
    struct cs_problem shape;
    cs_plan_tile(plan, index, &tile);
    cs_plan_problem(plan, tile.shape, &shape);
    cs_text_put(text, "tile %lld kind %d", (long long)index, tile.shape);
    for (int c = 0; c < plan->cuts; c++)
        put_range(text, plan->cut[c].axis, &tile.range[c]);
    cs_text_put(text, " beta %g offset", shape.beta);
    for (int i = 0; i < shape.tensors; i++)
        cs_text_put(text, "%c%lld", i ? ',' : ' ', (long long)tile.offset[i]);
    cs_text_put(text, " align");
    for (int i = 0; i < shape.tensors; i++)
        cs_text_put(text, "%c%lld", i ? ',' : ' ', (long long)shape.tensor[i].alignment);
    put_stages(text, plan, tile.shape);
    cs_text_put(text, " workspace %lld\n", (long long)plan->shape[tile.shape].workspace);
}

/* Like snprintf, returns the length it needs. */
static inline int plan_dump(const struct cs_plan *plan, char *text, size_t size)
{
    struct cs_text out = {text, size, 0};
    put_head(&out, plan);
    for (int64_t i = 0; i < plan->tiles; i++)
        put_tile(&out, plan, i);
    return out.length;
}

#endif
