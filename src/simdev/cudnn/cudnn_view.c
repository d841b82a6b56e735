/* Strided views of device memory: spans, overlaps, accesses. */
#include <stdlib.h>
#include <string.h>

#include "cudnn_internal.h"

size_t simdev_type_size(cudnnDataType_t type)
{
    switch (type) {
    case CUDNN_DATA_FLOAT:
        return 4;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
        return 2;
    default:
        return 0;
    }
}

int64_t simdev_view_elements(const struct simdev_view *view)
{
    int64_t count = 1;
    for (int i = 0; i < view->rank; i++)
        count *= view->dim[i];
    return count;
}

size_t simdev_view_span(const struct simdev_view *view)
{
    int64_t last = 0;
    for (int i = 0; i < view->rank; i++)
        last += (view->dim[i] - 1) * view->stride[i];
    return (size_t)(last + 1) * simdev_type_size(view->type);
}

void simdev_view_pack(const struct simdev_view *model, struct simdev_view *packed)
{
    bool done[SIMDEV_MAX_RANK] = {false};
    int64_t stride = 1;
    *packed = *model;
    packed->data = NULL;
    packed->type = CUDNN_DATA_FLOAT;
    for (int n = 0; n < model->rank; n++) {
        int next = -1;
        for (int i = model->rank - 1; i >= 0; i--)
            if (!done[i] && (next < 0 || model->stride[i] < model->stride[next]))
                next = i;
        done[next] = true;
        packed->stride[next] = stride;
        stride *= model->dim[next];
    }
}

void simdev_view_flip(struct simdev_view *view, int count)
{
    for (int i = view->rank - count; i < view->rank; i++) {
        view->data += (view->dim[i] - 1) * view->stride[i] * (int64_t)simdev_type_size(view->type);
        view->stride[i] = -view->stride[i];
    }
}

bool simdev_views_equal(const struct simdev_view *a, const struct simdev_view *b)
{
    if (a->data != b->data || a->type != b->type || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dim[i] != b->dim[i])
            return false;
        if (a->dim[i] > 1 && a->stride[i] != b->stride[i])
            return false;
    }
    return true;
}

/* Calls `visit` with the address of every element until it returns true. */
static bool any_element(const struct simdev_view *view,
                        bool (*visit)(const char *at, size_t size, void *arg), void *arg)
{
    int64_t index[SIMDEV_MAX_RANK] = {0};
    const int64_t size = (int64_t)simdev_type_size(view->type);
    const char *at = view->data;
    for (;;) {
        if (visit(at, (size_t)size, arg))
            return true;
        int axis = view->rank - 1;
        while (axis >= 0 && ++index[axis] == view->dim[axis]) {
            at -= (view->dim[axis] - 1) * view->stride[axis] * size;
            index[axis--] = 0;
        }
        if (axis < 0)
            return false;
        at += view->stride[axis] * size;
    }
}

struct byte_map {
    const char *base;
    size_t bytes;
    unsigned char *taken; /* one per two bytes, because no element is smaller */
};

static bool is_inside(const struct byte_map *map, const char *at)
{
    return at >= map->base && at < map->base + map->bytes;
}

static bool mark_bytes(const char *at, size_t size, void *arg)
{
    const struct byte_map *map = arg;
    for (size_t i = 0; i < size; i += 2)
        if (is_inside(map, at + i))
            map->taken[(size_t)(at + i - map->base) / 2] = 1;
    return false;
}

static bool is_marked(const char *at, size_t size, void *arg)
{
    const struct byte_map *map = arg;
    for (size_t i = 0; i < size; i += 2)
        if (is_inside(map, at + i) && map->taken[(size_t)(at + i - map->base) / 2])
            return true;
    return false;
}

/* Removes a dimension of stride 1 and returns its extent, so that one call reports the whole row.
 */
static int64_t take_row(struct simdev_view *view)
{
    for (int i = 0; i < view->rank; i++) {
        const int64_t row = view->dim[i];
        if (view->stride[i] == 1 && row > 1) {
            view->dim[i] = 1;
            return row;
        }
    }
    return 1;
}

void simdev_view_touch(const struct simdev_view *whole, bool write)
{
    struct simdev_view view = *whole;
    const size_t element = simdev_type_size(view.type);
    int64_t at[SIMDEV_MAX_RANK] = {0}, offset = 0;
    if (!simdev_racing() || !view.data)
        return;
    const int64_t row = take_row(&view);
    for (int i = 0; i >= 0;) {
        simdev_touch(view.data + (size_t)offset * element, (size_t)row * element, write);
        for (i = view.rank - 1; i >= 0; i--) {
            offset += view.stride[i];
            if (++at[i] < view.dim[i])
                break;
            offset -= at[i] * view.stride[i];
            at[i] = 0;
        }
    }
}

bool simdev_views_overlap(const struct simdev_view *a, const struct simdev_view *b)
{
    const char *end_a = a->data + simdev_view_span(a), *end_b = b->data + simdev_view_span(b);
    const char *low = a->data > b->data ? a->data : b->data;
    const char *high = end_a < end_b ? end_a : end_b;
    if (low >= high)
        return false;
    if (simdev_views_equal(a, b))
        return true;
    struct byte_map map = {low, (size_t)(high - low), NULL};
    map.taken = calloc(map.bytes / 2 + 1, 1);
    if (!map.taken)
        return true;
    any_element(a, mark_bytes, &map);
    const bool overlap = any_element(b, is_marked, &map);
    free(map.taken);
    return overlap;
}
