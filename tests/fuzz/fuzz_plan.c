/* Any bytes as a convolution: a problem that passes cs_problem_check can be cut, and every cut
 * passes cs_plan_validate. The check of a damaged plan may have either result, but must not crash.
 */
#include "bytes.h"
#include "convshim/plan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cs_tensor take_tensor(struct bytes *bytes)
{
    struct cs_tensor tensor = {.dtype = (enum cs_dtype)(bytes_byte(bytes) % CS_DTYPES),
                               .alignment = INT64_C(1) << bytes_byte(bytes) % 10};
    for (int dim = 0; dim < CS_DIMS; dim++) {
        tensor.dims[dim] = bytes_number(bytes);
        tensor.strides[dim] = bytes_number(bytes);
    }
    return tensor;
}

static struct cs_problem take_problem(struct bytes *bytes)
{
    struct cs_problem p = {.compute = CS_F32, .spatial = 1 + bytes_byte(bytes) % 3, .alpha = 1};
    p.direction = (enum cs_direction)(bytes_byte(bytes) % CS_DIRECTIONS);
    p.groups = bytes_number(bytes);
    for (int i = 0; i < CS_SPATIAL; i++) {
        p.pre[i] = bytes_number(bytes);
        p.post[i] = bytes_number(bytes);
        p.stride[i] = bytes_number(bytes);
        p.dilation[i] = bytes_number(bytes);
    }
    p.tensors = CS_OPERANDS + bytes_byte(bytes) % 3;
    p.steps = p.tensors - CS_OPERANDS;
    for (int i = 0; i < p.tensors; i++) {
        p.tensor[i] = take_tensor(bytes);
        p.tensor[i].side = (enum cs_operand)(i < CS_OPERANDS ? i : bytes_byte(bytes) % CS_OPERANDS);
        p.tensor[i].is_virtual = i >= CS_OPERANDS && bytes_byte(bytes) % 2;
    }
    p.tensor[cs_result(p.direction)].written = true;
    return p;
}

/* Most random convolutions are invalid. Sets the extents that follow from the others, if they fit
 * 64 bits. */
static void make_consistent(struct cs_problem *p)
{
    int64_t *x = p->tensor[CS_X].dims, *w = p->tensor[CS_FILTER].dims, *y = p->tensor[CS_Y].dims;
    int64_t stride = 1;
    y[CS_N] = x[CS_N];
    y[CS_C] = w[CS_N];
    x[CS_C] = (int64_t)((uint64_t)w[CS_C] * (uint64_t)p->groups);
    for (int i = 0; i < CS_SPATIAL; i++) {
        int64_t room, reach, taps = w[CS_D + i] - (w[CS_D + i] > 0);
        if (!__builtin_add_overflow(x[CS_D + i], p->pre[i], &room) &&
            !__builtin_add_overflow(room, p->post[i], &room) &&
            !__builtin_mul_overflow(taps, p->dilation[i], &reach) && reach >= 0 && room > reach &&
            p->stride[i] > 0)
            y[CS_D + i] = (room - reach - 1) / p->stride[i] + 1;
    }
    struct cs_tensor *result = &p->tensor[cs_result(p->direction)];
    for (int i = CS_OPERANDS; i < p->tensors; i++)
        memcpy(p->tensor[i].dims, p->tensor[p->tensor[i].side].dims, sizeof p->tensor[i].dims);
    for (int dim = CS_DIMS - 1; dim >= 0; dim--) {
        result->strides[dim] = stride;
        if (__builtin_mul_overflow(stride, result->dims[dim], &stride))
            return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cs_plan plan;
    struct bytes bytes = {data, size};
    bool mended = bytes_byte(&bytes) % 8 != 0;
    struct cs_tiling tiling = {.step = {1, 1}};
    for (int c = 0; c < CS_MAX_CUTS; c++) {
        tiling.axis[c] = (enum cs_axis)(bytes_byte(&bytes) % CS_AXES);
        tiling.step[c] = bytes_number(&bytes);
    }
    int64_t damage[2] = {bytes_number(&bytes), bytes_number(&bytes)};
    struct cs_problem problem = take_problem(&bytes);
    if (mended)
        make_consistent(&problem);
    if (cs_problem_check(&problem) != CS_OK || cs_plan_cut(&problem, &tiling, &plan) != CS_OK)
        return 0;
    cs_plan_settle(&plan);
    if (cs_plan_validate(&plan, plan.staged) != CS_OK)
        abort();
    struct cs_cut *cut = &plan.cut[(uint64_t)damage[1] % CS_MAX_CUTS];
    struct cs_slice *slice = &cut->slice[0];
    int64_t *field[] = {&cut->run[0].step, &cut->run[0].tiles, &cut->tiles,
                        &cut->slices,      &plan.tiles,        &plan.shapes,
                        &plan.halo,        &plan.staged,       &slice->count,
                        &slice->in_count,  &slice->pre,        &slice->alignment[CS_X]};
    *field[(uint64_t)damage[0] % (sizeof field / sizeof *field)] = damage[1];
    (void)!cs_plan_validate(&plan, 0);
    return 0;
}
