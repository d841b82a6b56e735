/* Breaks the copy of a strided view into the boxes that a 3-D memcpy can express. */
#include "convshim/copy.h"

#include "base/checked.h"
#include <stddef.h>

/* A loop of the copy: `count` steps of `bytes` on each side. */
struct level {
    int64_t count;
    int64_t bytes[CS_COPY_SIDES];
};

struct levels {
    int count;
    struct level level[CS_DIMS + 1]; /* the first is a row: bytes in steps of one */
};

/* True if the last level's steps together are one step of `next`, on both sides. */
static bool is_continued(const struct level *last, const struct level *next)
{
    for (int side = 0; side < CS_COPY_SIDES; side++) {
        int64_t end;
        if (!cs_mul(last->count, last->bytes[side], &end) || end != next->bytes[side])
            return false;
    }
    return true;
}

static enum cs_status add_level(struct levels *levels, const struct level *next)
{
    struct level *last = &levels->level[levels->count - 1];
    if (!is_continued(last, next)) {
        levels->level[levels->count++] = *next;
        return CS_OK;
    }
    return cs_mul(last->count, next->count, &last->count) ? CS_OK : CS_OVERFLOW;
}

/* The dimension of the least packed stride that is not done; CS_DIMS if none is left. */
static int next_dim(const struct cs_tensor *packed, const bool done[CS_DIMS])
{
    int next = CS_DIMS;
    for (int dim = 0; dim < CS_DIMS; dim++) {
        bool before = next == CS_DIMS || packed->strides[dim] < packed->strides[next];
        if (!done[dim] && packed->dims[dim] > 1 && before)
            next = dim;
    }
    return next;
}

/* Lists the loops of a copy, the smallest steps first. Consecutive loops are joined if they are one
 * on both sides. */
static enum cs_status find_levels(const struct cs_tensor *view, const struct cs_tensor *packed,
                                  struct levels *levels)
{
    bool done[CS_DIMS] = {false};
    int64_t size = cs_problem_dtype_size(view->dtype);
    *levels = (struct levels){.count = 1, .level = {{size, {1, 1}}}};
    for (int dim = next_dim(packed, done); dim < CS_DIMS; dim = next_dim(packed, done)) {
        struct level next = {.count = view->dims[dim]};
        done[dim] = true;
        if (!cs_mul(view->strides[dim], size, &next.bytes[CS_COPY_VIEW]) ||
            !cs_mul(packed->strides[dim], size, &next.bytes[CS_COPY_PACKED]))
            return CS_OVERFLOW;
        enum cs_status status = add_level(levels, &next);
        if (status != CS_OK)
            return status;
    }
    return CS_OK;
}

static bool can_be_rows(int64_t width, const struct level *level)
{
    for (int side = 0; side < CS_COPY_SIDES; side++)
        if (level->bytes[side] < width || level->bytes[side] > CS_COPY_PITCH)
            return false;
    return true;
}

/* True if planes are whole numbers of rows apart, because devices count planes in rows. */
static bool can_be_planes(const struct level *rows, const struct level *level)
{
    for (int side = 0; side < CS_COPY_SIDES; side++)
        if (level->bytes[side] % rows->bytes[side] != 0 ||
            level->bytes[side] / rows->bytes[side] < rows->count)
            return false;
    return true;
}

/* The levels of a copy. `boxes` NULL: no copy is possible. */
struct boxed {
    const struct level *rows, *planes, *boxes;
};

static const struct level one_level = {1, {0, 0}};

/* Makes boxes of one level, or of none (NULL), and rows and planes of the others in their order. */
static struct boxed box_levels(const struct levels *levels, const struct level *boxes)
{
    struct boxed made = {&one_level, &one_level, boxes ? boxes : &one_level};
    int64_t width = levels->level[0].count;
    for (int at = 1; at < levels->count; at++) {
        const struct level *level = &levels->level[at];
        if (level == boxes)
            continue;
        if (made.rows == &one_level && can_be_rows(width, level))
            made.rows = level;
        else if (made.rows != &one_level && made.planes == &one_level &&
                 can_be_planes(made.rows, level))
            made.planes = level;
        else
            return (struct boxed){.boxes = NULL};
    }
    return made;
}

enum cs_status cs_copy_between(const struct cs_tensor *view, const struct cs_tensor *packed,
                               struct cs_copy *copy)
{
    struct levels levels;
    enum cs_status status = find_levels(view, packed, &levels);
    if (status != CS_OK)
        return status;
    struct boxed best = {.boxes = NULL};
    for (int boxed = 0; boxed < levels.count; boxed++) {
        struct boxed one = box_levels(&levels, boxed > 0 ? &levels.level[boxed] : NULL);
        if (one.boxes && (!best.boxes || one.boxes->count < best.boxes->count))
            best = one;
    }
    int64_t width = levels.level[0].count;
    if (!best.boxes || best.boxes->count > CS_COPY_TIMES || width > CS_COPY_PITCH)
        return CS_ILLEGAL;
    *copy = (struct cs_copy){
        width, best.rows->count, best.planes->count, best.boxes->count, {0}, {0}, {0}};
    for (int side = 0; side < CS_COPY_SIDES; side++) {
        copy->pitch[side] = best.rows->bytes[side];
        copy->slice[side] = best.planes->bytes[side];
        copy->step[side] = best.boxes->bytes[side];
    }
    return CS_OK;
}
