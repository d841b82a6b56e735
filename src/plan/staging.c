/* Chooses the tensors that are staged and gives them places in the scratch. */
#include "plan/axis.h"

#include "base/checked.h"
#include <string.h>

static bool is_cut(const struct cs_plan *plan, int tensor)
{
    for (int c = 0; c < CS_MAX_CUTS && c < plan->cuts; c++)
        if (cs_axis_cuts(&plan->problem, plan->cut[c].axis, tensor) != CS_DIMS)
            return true;
    return false;
}

/* True for a filter that is cut along C, because cuDNN takes only packed filters. */
static bool must_be_staged(const struct cs_plan *plan, int tensor)
{
    for (int c = 0; c < CS_MAX_CUTS && c < plan->cuts; c++)
        if (plan->cut[c].axis == CS_AXIS_C && tensor == CS_FILTER)
            return true;
    return false;
}

/* True if the elements are contiguous, and aligned as staged tensors are. */
static bool is_contiguous(const struct cs_tensor *view)
{
    int64_t span, bytes;
    return cs_problem_tensor_span(view, &span) == CS_OK &&
           cs_problem_tensor_bytes(view, &bytes) == CS_OK && span == bytes &&
           view->alignment >= CS_STAGED_ALIGNMENT;
}

/* Chooses the tensors that are staged in all shapes: sets `is_staged` and `stages`. Until then all
 * tensors of tile shapes are views. */
static void choose_staging(struct cs_plan *plan, bool required)
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
                !view->is_virtual && !view->by_value && is_cut(plan, i) && !is_contiguous(view);
        }
    }
    memcpy(plan->is_staged, chosen, sizeof chosen);
    for (int i = 0; i < plan->problem.tensors; i++)
        plan->stages |= chosen[i] && !must_be_staged(plan, i);
}

/* The slice of a tile shape along a cut. */
static const struct cs_slice *slice_of(const struct cs_plan *plan, int64_t shape, int cut)
{
    int64_t inner = plan->cuts > 1 ? plan->cut[1].slices : 1;
    return &plan->cut[cut].slice[cut == 0 ? shape / inner : shape % inner];
}

/* The dimension along which the tensor has a tile shape's spare elements of a cut; CS_DIMS if there
 * are none. */
static enum cs_dim spare_dim(const struct cs_plan *plan, int64_t shape, int cut, int tensor)
{
    const struct cs_problem *problem = &plan->problem;
    const struct cs_slice *slice = slice_of(plan, shape, cut);
    bool spare = slice->spare_before > 0 || slice->spare_after > 0;
    return spare && problem->tensor[tensor].side == cs_axis_divided_side(problem)
               ? cs_axis_cuts(problem, plan->cut[cut].axis, tensor)
               : CS_DIMS;
}

bool cs_plan_is_staged(const struct cs_plan *plan, int64_t shape, int tensor)
{
    const struct cs_tensor *untiled = &plan->problem.tensor[tensor];
    bool spare = false;
    for (int c = 0; c < CS_MAX_CUTS && c < plan->cuts; c++)
        spare |= spare_dim(plan, shape, c, tensor) != CS_DIMS;
    return plan->is_staged[tensor] || (spare && !untiled->is_virtual && !untiled->by_value);
}

/* The part of a staged tensor that is the application's, without spare elements. */
struct true_part {
    struct cs_tensor view, packed; /* the part in the application's tensor and in the packed copy */
    int64_t skipped;               /* bytes of spare elements before it */
};

/* The strides of a tile's part as a view; see take_slice in tile_shape.c. */
static void view_strides(const struct cs_plan *plan, int tensor, int64_t strides[CS_DIMS])
{
    memcpy(strides, plan->problem.tensor[tensor].strides, CS_DIMS * sizeof *strides);
    for (int c = 0; c < CS_MAX_CUTS && c < plan->cuts; c++) {
        enum cs_dim dim = cs_axis_cuts(&plan->problem, plan->cut[c].axis, tensor);
        if (dim != CS_DIMS && !cs_mul(strides[dim], plan->cut[c].spacing, &strides[dim]))
            strides[dim] = 0;
    }
}

/* Finds the true part of the tensor `staged` of tile shape `k`. */
static enum cs_status find_true_part(const struct cs_plan *plan, int64_t k,
                                     const struct cs_tensor *staged, int tensor,
                                     struct true_part *part)
{
    int64_t skipped;
    *part = (struct true_part){.view = *staged, .packed = *staged};
    for (int c = 0; c < CS_MAX_CUTS && c < plan->cuts; c++) {
        const struct cs_slice *slice = slice_of(plan, k, c);
        enum cs_dim dim = spare_dim(plan, k, c, tensor);
        if (dim == CS_DIMS)
            continue;
        part->packed.dims[dim] = part->view.dims[dim] = slice->count;
        if (!cs_mul(slice->spare_before, staged->strides[dim], &skipped) ||
            !cs_mul(skipped, cs_problem_dtype_size(staged->dtype), &skipped) ||
            !cs_add(part->skipped, skipped, &part->skipped))
            return CS_OVERFLOW;
    }
    view_strides(plan, tensor, part->view.strides);
    return CS_OK;
}

/* True if a launch reads the tensor. A written tensor is read only if the launch adds to it. */
static bool is_read(const struct cs_problem *shape, int tensor)
{
    return !shape->tensor[tensor].written ||
           (tensor == (int)cs_result(shape->direction) && shape->beta != 0);
}

/* Adds a staged tensor of one tile shape to the copied bytes, and finds the bytes that it needs. */
static enum cs_status add_shape(struct cs_plan *plan, int64_t k, int tensor, int64_t *bytes_p)
{
    struct cs_problem shape;
    struct true_part part;
    struct cs_copy copy;
    int64_t all;
    cs_plan_problem(plan, k, &shape);
    const struct cs_tensor *packed = &shape.tensor[tensor];
    enum cs_status status = find_true_part(plan, k, packed, tensor, &part);
    if (status == CS_OK)
        status = cs_copy_between(&part.view, &part.packed, &copy);
    if (status != CS_OK)
        return status;
    int64_t ways = is_read(&shape, tensor) + packed->written;
    if (cs_problem_tensor_bytes(&part.view, &all) != CS_OK || !cs_mul(all, ways, &all) ||
        !cs_mul(all, plan->shape[k].tiles, &all) || !cs_add(plan->copied, all, &plan->copied))
        return CS_OVERFLOW;
    return cs_problem_tensor_bytes(packed, bytes_p);
}

/* Places a staged tensor behind the earlier ones, because all of a tile's are in use while it runs.
 */
static enum cs_status lay_out(struct cs_plan *plan, int tensor)
{
    int64_t most = 0;
    for (int64_t k = 0; k < plan->shapes; k++) {
        int64_t bytes;
        if (!cs_plan_is_staged(plan, k, tensor))
            continue;
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

/* True if no virtual tensor of a tile shape has larger extents than the whole one. It keeps the
 * strides of the whole problem, so it cannot have more elements. */
static bool fits_virtual(const struct cs_plan *plan, int64_t k)
{
    struct cs_problem shape;
    cs_plan_problem(plan, k, &shape);
    for (int i = 0; i < shape.tensors; i++)
        for (int dim = 0; dim < CS_DIMS; dim++)
            if (shape.tensor[i].is_virtual &&
                shape.tensor[i].dims[dim] > plan->problem.tensor[i].dims[dim])
                return false;
    return true;
}

enum cs_status cs_plan_stage(struct cs_plan *plan, bool required)
{
    choose_staging(plan, required);
    for (int i = 0; i < plan->problem.tensors; i++) {
        bool some = false;
        for (int64_t k = 0; k < plan->shapes; k++)
            some |= cs_plan_is_staged(plan, k, i);
        enum cs_status status = some ? lay_out(plan, i) : CS_OK;
        if (status != CS_OK)
            return status;
    }
    for (int64_t k = 0; k < plan->shapes; k++) {
        if (!fits_virtual(plan, k))
            return CS_ILLEGAL;
        for (int i = 0; i < plan->problem.tensors; i++)
            if (cs_plan_is_staged(plan, k, i))
                plan->shape[k].staged = plan->staged;
    }
    return CS_OK;
}

int cs_plan_stages(const struct cs_plan *plan, int64_t shape, struct cs_stage stage[CS_MAX_TENSORS])
{
    struct cs_problem problem;
    int stages = 0;
    if (plan->staged == 0)
        return 0;
    cs_plan_problem(plan, shape, &problem);
    for (int i = 0; i < problem.tensors; i++) {
        struct cs_stage *next = &stage[stages];
        struct true_part part;
        if (!cs_plan_is_staged(plan, shape, i) ||
            find_true_part(plan, shape, &problem.tensor[i], i, &part) != CS_OK ||
            cs_copy_between(&part.view, &part.packed, &next->copy) != CS_OK)
            continue;
        next->tensor = i;
        next->in = is_read(&problem, i);
        next->out = problem.tensor[i].written;
        next->skipped = part.skipped;
        stages++;
    }
    return stages;
}
