/* Chooses the tensors that are staged and gives them places in the scratch. */
#include "plan/staging.h"

#include "base/checked.h"
#include "plan/axis.h"
#include <string.h>

static bool is_cut(const struct cs_plan *plan, int tensor)
{
    for (int c = 0; c < CS_MAX_CUTS && c < plan->cuts; c++)
        if (cs_axis_cuts(&plan->problem, plan->cut[c].axis, tensor) != CS_DIMS)
            return true;
    return false;
}

/* cuDNN takes only packed filters. */
static bool must_be_staged(const struct cs_plan *plan, int tensor)
{
    for (int c = 0; c < CS_MAX_CUTS && c < plan->cuts; c++)
        if (plan->cut[c].axis == CS_AXIS_C && tensor == CS_FILTER)
            return true;
    return false;
}

static bool is_whole_piece(const struct cs_tensor *view)
{
    int64_t span, bytes;
    return cs_problem_tensor_span(view, &span) == CS_OK &&
           cs_problem_tensor_bytes(view, &bytes) == CS_OK && span == bytes &&
           view->alignment >= CS_STAGED_ALIGNMENT;
}

/* Kinds are views as long as nothing is staged. */
static void choose(struct cs_plan *plan, bool required)
{
    bool chosen[CS_MAX_TENSORS] = {false};
    struct cs_problem shape;
    for (int i = 0; i < plan->problem.tensors; i++)
        chosen[i] = must_be_staged(plan, i);
    for (int64_t k = 0; required && k < plan->shapes; k++) {
        cs_plan_problem(plan, k, &shape);
        for (int i = 0; i < shape.tensors; i++) {
            const struct cs_tensor *view = &shape.tensor[i];
            chosen[i] |=
                !view->is_virtual && !view->by_value && is_cut(plan, i) && !is_whole_piece(view);
        }
    }
    memcpy(plan->is_staged, chosen, sizeof chosen);
    for (int i = 0; i < plan->problem.tensors; i++)
        plan->stages |= chosen[i] && !must_be_staged(plan, i);
}

/* What a tile has of the application's tensor: the packed one's extents with the application's
 * strides. */
static struct cs_tensor view_of(const struct cs_plan *plan, const struct cs_problem *shape,
                                int tensor)
{
    struct cs_tensor view = shape->tensor[tensor];
    memcpy(view.strides, plan->problem.tensor[tensor].strides, sizeof view.strides);
    return view;
}

/* A written tensor is read only where the launch adds to it. */
static bool is_read(const struct cs_problem *shape, int tensor)
{
    return !shape->tensor[tensor].written ||
           (tensor == (int)cs_result(shape->direction) && shape->beta != 0);
}

/* Adds a staged tensor of one kind to what is copied, and finds the bytes that it needs. */
static enum cs_status add_shape(struct cs_plan *plan, int64_t k, int tensor, int64_t *bytes_p)
{
    struct cs_problem shape;
    struct cs_copy copy;
    int64_t bytes, all;
    cs_plan_problem(plan, k, &shape);
    const struct cs_tensor *packed = &shape.tensor[tensor];
    const struct cs_tensor view = view_of(plan, &shape, tensor);
    enum cs_status status = cs_copy_between(&view, packed, &copy);
    if (status != CS_OK)
        return status;
    int64_t ways = is_read(&shape, tensor) + packed->written;
    if (cs_problem_tensor_bytes(packed, &bytes) != CS_OK || !cs_mul(bytes, ways, &all) ||
        !cs_mul(all, plan->shape[k].tiles, &all) || !cs_add(plan->copied, all, &plan->copied))
        return CS_OVERFLOW;
    *bytes_p = bytes;
    return CS_OK;
}

/* All of a tile's staged tensors are in use while it runs: they lie one behind the other. */
static enum cs_status lay_out(struct cs_plan *plan, int tensor)
{
    int64_t most = 0;
    for (int64_t k = 0; k < plan->shapes; k++) {
        int64_t bytes;
        enum cs_status status = add_shape(plan, k, tensor, &bytes);
        if (status != CS_OK)
            return status;
        most = bytes > most ? bytes : most;
    }
    plan->staged_at[tensor] = plan->staged;
    if (!cs_mul(cs_ceil_div(most, CS_SCRATCH_ALIGNMENT), CS_SCRATCH_ALIGNMENT, &most) ||
        !cs_add(plan->staged, most, &plan->staged))
        return CS_OVERFLOW;
    return CS_OK;
}

enum cs_status cs_plan_stage(struct cs_plan *plan, bool required)
{
    choose(plan, required);
    for (int i = 0; i < plan->problem.tensors; i++) {
        enum cs_status status = plan->is_staged[i] ? lay_out(plan, i) : CS_OK;
        if (status != CS_OK)
            return status;
    }
    return CS_OK;
}

int cs_plan_stages(const struct cs_plan *plan, int64_t shape, struct cs_stage stage[CS_MAX_TENSORS])
{
    struct cs_problem part;
    int stages = 0;
    if (plan->staged == 0)
        return 0;
    cs_plan_problem(plan, shape, &part);
    for (int i = 0; i < part.tensors; i++) {
        struct cs_stage *next = &stage[stages];
        const struct cs_tensor view = view_of(plan, &part, i);
        if (!plan->is_staged[i] || cs_copy_between(&view, &part.tensor[i], &next->copy) != CS_OK)
            continue;
        next->tensor = i;
        next->in = is_read(&part, i);
        next->out = part.tensor[i].written;
        stages++;
    }
    return stages;
}
