/* Breaks the copy of a strided view into the boxes that a 3-D memcpy can express. */
#include "convshim/copy.h"

#include "base/checked.h"

/* A dimension that is left: so many steps of so many bytes on either side. */
struct level {
    int64_t count;
    int64_t bytes[CS_COPY_SIDES];
};

struct levels {
    int count;
    struct level level[CS_DIMS + 1]; /* the first is a row: bytes in steps of one */
};

/* True if the last level's steps together are one step of `next`, on both sides. */
static bool continues(const struct level *last, const struct level *next)
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
    if (!continues(last, next)) {
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

/* Devices count planes in rows. */
static bool can_be_planes(const struct level *rows, const struct level *level)
{
    for (int side = 0; side < CS_COPY_SIDES; side++)
        if (level->bytes[side] % rows->bytes[side] != 0 ||
            level->bytes[side] / rows->bytes[side] < rows->count)
            return false;
    return true;
}

enum cs_status cs_copy_between(const struct cs_tensor *view, const struct cs_tensor *packed,
                               struct cs_copy *copy)
{
    struct levels levels;
    enum cs_status status = find_levels(view, packed, &levels);
    if (status != CS_OK)
        return status;
    const struct level one = {1, {0, 0}}, *rows = &one, *planes = &one, *boxes = &one;
    int64_t width = levels.level[0].count;
    int at = 1;
    if (at < levels.count && can_be_rows(width, &levels.level[at]))
        rows = &levels.level[at++];
    if (at < levels.count && rows != &one && can_be_planes(rows, &levels.level[at]))
        planes = &levels.level[at++];
    if (at < levels.count)
        boxes = &levels.level[at++];
    if (at < levels.count || boxes->count > CS_COPY_TIMES || width > CS_COPY_PITCH)
        return CS_ILLEGAL;
    *copy = (struct cs_copy){width, rows->count, planes->count, boxes->count, {0}, {0}, {0}};
    for (int side = 0; side < CS_COPY_SIDES; side++) {
        copy->pitch[side] = rows->bytes[side];
        copy->slice[side] = planes->bytes[side];
        copy->step[side] = boxes->bytes[side];
    }
    return CS_OK;
}
