/* Follows single bytes of a packed tensor through a copy to their places in the view. */
#include "plan/axis.h"

__extension__ typedef __int128 wide; /* offsets in the view may exceed 64 bits */

enum {
    LOOPS = 4 /* a copy's nested loops: bytes of a row, rows, planes, boxes */
};

/* One of the loops: `count` steps of that many bytes on each side. */
struct loop {
    int64_t count;
    int64_t step[CS_COPY_SIDES];
};

/* Lists the nested loops of a copy. */
static void list_loops(const struct cs_copy *copy, struct loop loop[LOOPS])
{
    const int64_t count[LOOPS] = {copy->width, copy->height, copy->depth, copy->times};
    for (int side = 0; side < CS_COPY_SIDES; side++) {
        const int64_t step[LOOPS] = {1, copy->pitch[side], copy->slice[side], copy->step[side]};
        for (int i = 0; i < LOOPS; i++) {
            loop[i].count = count[i];
            loop[i].step[side] = step[i];
        }
    }
}

/* The loop with the largest step in the packed tensor among those that are not done. Boxes may lie
 * within planes, so the order of the loops does not show it. */
static int outermost_loop(const struct loop loop[LOOPS], const bool done[LOOPS])
{
    int found = -1;
    for (int i = 0; i < LOOPS; i++)
        if (!done[i] &&
            (found < 0 || loop[i].step[CS_COPY_PACKED] > loop[found].step[CS_COPY_PACKED]))
            found = i;
    return found;
}

/* The offset in the view of the byte at `offset` of the packed tensor; -1 if the copy leaves it
 * out. */
static int64_t offset_in_view(const struct cs_copy *copy, int64_t offset)
{
    struct loop loop[LOOPS];
    bool done[LOOPS] = {false};
    wide in_view = 0;
    list_loops(copy, loop);
    for (int turn = 0; turn < LOOPS; turn++) {
        int i = outermost_loop(loop, done);
        int64_t step = loop[i].step[CS_COPY_PACKED];
        done[i] = true;
        if (loop[i].count == 1)
            continue;
        if (loop[i].count < 1 || step < 1 || offset / step >= loop[i].count)
            return -1;
        in_view += (wide)(offset / step) * loop[i].step[CS_COPY_VIEW];
        offset %= step;
    }
    return offset == 0 && in_view <= INT64_MAX ? (int64_t)in_view : -1;
}

/* True if the copy connects the places of element `index` in the view and in the packed tensor. */
static bool connects_element(const struct cs_copy *copy, const struct cs_tensor *view,
                             const struct cs_tensor *packed, const int64_t index[CS_DIMS])
{
    int64_t size = cs_problem_dtype_size(packed->dtype);
    wide in_view = 0, in_packed = 0;
    for (int dim = 0; dim < CS_DIMS; dim++) {
        in_view += (wide)index[dim] * view->strides[dim] * size;
        in_packed += (wide)index[dim] * packed->strides[dim] * size;
    }
    return in_view == offset_in_view(copy, (int64_t)in_packed);
}

/* Copies and tensors are nested loops. So they agree in all elements if they agree in every corner
 * of the tensor and in the corners of the block of two elements along each dimension, and move as
 * many bytes. */
bool cs_copy_connects(const struct cs_copy *copy, const struct cs_tensor *view,
                      const struct cs_tensor *packed)
{
    int64_t size = cs_problem_dtype_size(packed->dtype);
    wide moved = (wide)copy->width * copy->height * copy->depth * copy->times, bytes = size;
    for (int dim = 0; dim < CS_DIMS; dim++)
        bytes *= packed->dims[dim];
    if (moved != bytes || copy->width < size)
        return false;
    for (int small = 0; small < 2; small++) {
        for (int corner = 0; corner < 1 << CS_DIMS; corner++) {
            int64_t index[CS_DIMS];
            for (int dim = 0; dim < CS_DIMS; dim++) {
                int64_t last = packed->dims[dim] - 1;
                int64_t far = small && last > 1 ? 1 : last;
                index[dim] = corner >> dim & 1 ? far : 0;
            }
            if (!connects_element(copy, view, packed, index))
                return false;
        }
    }
    return true;
}
