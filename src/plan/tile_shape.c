/* Derives the problem that a tile of one shape is. */
#include "base/checked.h"
#include "plan/axis.h"

/* Applies the slice of one cut to a tile shape: extents, strides, alignments, beta and window. A
 * stride that leaves 64 bits belongs to a single element, and is not used. */
static void take_slice(const struct cs_problem *untiled, const struct cs_cut *cut,
                       const struct cs_slice *slice, struct cs_problem *shape)
{
    for (int i = 0; i < untiled->tensors; i++) {
        struct cs_tensor *tensor = &shape->tensor[i];
        enum cs_dim dim = cs_axis_cuts(untiled, cut->axis, i);
        if (dim != CS_DIMS) {
            tensor->dims[dim] = tensor->side == cs_axis_divided_side(untiled)
                                    ? slice->spare_before + slice->count + slice->spare_after
                                    : slice->in_count;
            if (!cs_mul(tensor->strides[dim], cut->spacing, &tensor->strides[dim]))
                tensor->strides[dim] = 0;
        }
        if (slice->alignment[i] < tensor->alignment)
            tensor->alignment = slice->alignment[i];
    }
    if (slice->accumulates)
        shape->beta = 1;
    enum cs_dim dim = cs_axis_dim(cut->axis, CS_X);
    if (dim >= CS_D && dim < CS_DIMS) {
        shape->pre[dim - CS_D] = slice->pre;
        shape->post[dim - CS_D] = slice->post;
        if (cut->spacing > 1)
            shape->dilation[dim - CS_D] /= cut->spacing;
    }
}

/* Sets packed strides in the order of the untiled ones. Of equal strides the later dimension is the
 * inner one. */
static void pack_tensor(const struct cs_tensor *untiled, int spatial, struct cs_tensor *packed)
{
    bool done[CS_DIMS] = {false};
    int64_t stride = 1;
    for (int turn = 0; turn < CS_DIMS; turn++) {
        int inner = -1;
        for (int dim = CS_DIMS - 1; dim >= 0; dim--) {
            bool absent = dim >= CS_D && dim < CS_DIMS - spatial;
            if (!done[dim] && !absent &&
                (inner < 0 || untiled->strides[dim] < untiled->strides[inner]))
                inner = dim;
        }
        if (inner < 0)
            return;
        done[inner] = true;
        packed->strides[inner] = stride;
        if (!cs_mul(stride, packed->dims[inner], &stride))
            return;
    }
}

/* Reduces the stride between images to the extent of one image, if the tile has only one. This
 * stride has no meaning then, but cuDNN uses it to judge tensors: with the smaller one, a slice of
 * channels is packed, and can have less than 2^31 elements. */
static void shorten_tensor(struct cs_tensor *tensor)
{
    int64_t reach = 1, bytes;
    if (tensor->dims[CS_N] != 1)
        return;
    for (int dim = CS_C; dim < CS_DIMS; dim++) {
        if (!cs_mul(tensor->dims[dim], tensor->strides[dim], &bytes))
            return;
        reach = bytes > reach ? bytes : reach;
    }
    if (reach < tensor->strides[CS_N])
        tensor->strides[CS_N] = reach;
}

void cs_plan_problem(const struct cs_plan *plan, int64_t shape, struct cs_problem *problem)
{
    int64_t inner = plan->cuts > 1 ? plan->cut[1].slices : 1;
    const int64_t at[CS_MAX_CUTS] = {shape / inner, shape % inner};
    *problem = plan->problem;
    for (int c = 0; c < CS_MAX_CUTS && c < plan->cuts; c++) {
        const struct cs_cut *cut = &plan->cut[c];
        take_slice(&plan->problem, cut, &cut->slice[at[c]], problem);
    }
    for (int i = 0; i < problem->tensors; i++) {
        if (!cs_plan_is_staged(plan, shape, i)) {
            shorten_tensor(&problem->tensor[i]);
            continue;
        }
        pack_tensor(&plan->problem.tensor[i], problem->spatial, &problem->tensor[i]);
        problem->tensor[i].alignment = CS_STAGED_ALIGNMENT;
    }
}
