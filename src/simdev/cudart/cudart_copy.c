/* cudaMemcpy* and cudaMemset* (CUDA Runtime API, Memory Management). Every copy is a box of rows:
 * width x height x depth. */
#include "cudart_account.h"
#include "cudart_bytes.h"
#include "cudart_caller.h"
#include "cudart_context.h"
#include "cudart_device.h"
#include <stdlib.h>
#include <string.h>

struct side {
    unsigned char *begin;
    size_t pitch, slice; /* bytes from row to row, from slice to slice */
};

struct box {
    struct side to, from; /* from.begin NULL: set to `value` */
    size_t width, height, depth;
    uint32_t value;
    unsigned element;            /* bytes of the value: 1, 2 or 4 */
    const char *function;        /* for the violation's text */
    struct simdev_tally *reader; /* caller whose host read this is in account mode; NULL: none */
};

static bool is_empty(const struct box *box)
{
    return box->width == 0 || box->height == 0 || box->depth == 0;
}

/* Bytes from the first to the last that the box touches on this side; SIZE_MAX if that overflows.
 */
static size_t span_of(const struct box *box, const struct side *side)
{
    size_t slices, rows, bytes;
    if (__builtin_mul_overflow(side->slice, box->depth - 1, &slices) ||
        __builtin_mul_overflow(side->pitch, box->height - 1, &rows) ||
        __builtin_add_overflow(slices, rows, &bytes) ||
        __builtin_add_overflow(bytes, box->width, &bytes))
        return SIZE_MAX;
    return bytes;
}

static enum simdev_place place_of(const struct box *box, const struct side *side)
{
    return simdev_mem_place(side->begin, span_of(box, side));
}

static void fill_row(const struct box *box, unsigned char *row)
{
    if (box->element <= 1)
        memset(row, (int)(unsigned char)box->value, box->width);
    else
        for (size_t x = 0; x < box->width; x += box->element)
            memcpy(row + x, &box->value, box->element);
}

/* True if cudart_bytes.c holds the bytes of a side instead of memory. */
static bool is_kept_apart(const struct side *side)
{
    struct simdev_mem_info info;
    return simdev_account_on() && side->begin && simdev_mem_block(side->begin, &info) &&
           info.place == SIMDEV_DEVICE && info.kind != SIMDEV_KIND_MANAGED;
}

static void read_row(const struct box *box, unsigned char *to, const unsigned char *from)
{
    if (simdev_bytes_read(to, from, box->width) > 0)
        (void)simdev_tally_add(box->reader);
}

static void move_row(const struct box *box, unsigned char *to, const unsigned char *from,
                     bool to_apart, bool from_apart)
{
    if (!from && to_apart)
        simdev_bytes_set(to, &box->value, box->element ? box->element : 1, box->width);
    else if (!from)
        fill_row(box, to);
    else if (to_apart && from_apart)
        simdev_bytes_move(to, from, box->width);
    else if (to_apart)
        simdev_bytes_write(to, from, box->width);
    else if (from_apart)
        read_row(box, to, from);
    else
        memcpy(to, from, box->width);
}

static void move_box(const struct box *box)
{
    const bool to_apart = is_kept_apart(&box->to), from_apart = is_kept_apart(&box->from);
    for (size_t z = 0; z < box->depth; z++) {
        for (size_t y = 0; y < box->height; y++) {
            unsigned char *to = box->to.begin + z * box->to.slice + y * box->to.pitch;
            const unsigned char *from = box->from.begin;
            if (from)
                from += z * box->from.slice + y * box->from.pitch;
            move_row(box, to, from, to_apart, from_apart);
        }
    }
}

static void touch_side(const struct box *box, const struct side *side, bool write)
{
    for (size_t z = 0; simdev_racing() && z < box->depth; z++)
        for (size_t y = 0; y < box->height; y++) {
            const unsigned char *row = side->begin + z * side->slice + y * side->pitch;
            if (simdev_mem_place(row, box->width) == SIMDEV_DEVICE)
                simdev_touch(row, box->width, write);
        }
}

static bool check_alive(const struct box *box, const struct side *side, const char *name)
{
    if (!side->begin || place_of(box, side) != SIMDEV_DEAD)
        return true;
    simdev_violation("%s: when it ran, the %s [%p, +%zu) was no longer inside a live allocation",
                     box->function, name, (void *)side->begin, span_of(box, side));
    return false;
}

static void run_copy(void *arg)
{
    const struct box *box = arg;
    simdev_count(SIMDEV_COPIES);
    const bool to_alive = check_alive(box, &box->to, "destination");
    const bool from_alive = check_alive(box, &box->from, "source");
    if (to_alive)
        touch_side(box, &box->to, true);
    if (from_alive && box->from.begin)
        touch_side(box, &box->from, false);
    if (to_alive && from_alive)
        move_box(box);
    else
        simdev_fault(cudaErrorIllegalAddress);
}

/* `on_device`: the caller states that this side is device memory. */
static bool check_place(const struct box *box, const struct side *side, bool on_device,
                        const char *name, enum simdev_place *found)
{
    *found = place_of(box, side);
    if (*found != SIMDEV_DEAD && !(on_device && *found == SIMDEV_PAGEABLE))
        return true;
    simdev_violation("%s: the %s [%p, +%zu) is not inside a live allocation", box->function, name,
                     (void *)side->begin, span_of(box, side));
    return false;
}

static bool is_overlapping(const struct box *box)
{
    const uintptr_t to = (uintptr_t)box->to.begin, from = (uintptr_t)box->from.begin;
    return box->height == 1 && box->depth == 1 && to < from + box->width && from < to + box->width;
}

/* Sets `*pageable` if the host has to wait, because CUDA may still read or write the program's
 * pages. */
static cudaError_t check_copy(const struct box *box, enum cudaMemcpyKind kind, bool *pageable,
                              bool *on_device)
{
    if ((unsigned)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    enum simdev_place to, from;
    if (!check_place(box, &box->to, to_device, "destination", &to) ||
        !check_place(box, &box->from, from_device, "source", &from))
        return cudaErrorInvalidValue;
    if (is_overlapping(box))
        simdev_violation("%s: destination %p and source %p overlap", box->function,
                         (void *)box->to.begin, (void *)box->from.begin);
    *pageable = to == SIMDEV_PAGEABLE || from == SIMDEV_PAGEABLE;
    *on_device = to == SIMDEV_DEVICE && from == SIMDEV_DEVICE;
    return cudaSuccess;
}

/* Device memory is read and written. The bus to the host is slower by this factor. */
static struct simdev_cost cost_of(const struct box *box)
{
    const struct simdev_rates rates = simdev_device_rates();
    const double bytes = (double)box->width * (double)box->height * (double)box->depth;
    const bool inside = simdev_mem_place(box->to.begin, 1) == SIMDEV_DEVICE &&
                        (!box->from.begin || simdev_mem_place(box->from.begin, 1) == SIMDEV_DEVICE);
    return (struct simdev_cost){.bytes = inside ? 2 * bytes : bytes * rates.memory / rates.bus};
}

static bool make_work(const struct box *box, struct simdev_work *work)
{
    struct box *own = malloc(sizeof(*own));
    if (!own)
        return false;
    *own = *box;
    *work = (struct simdev_work){.type = box->from.begin ? cudaGraphNodeTypeMemcpy
                                                         : cudaGraphNodeTypeMemset,
                                 .run = run_copy,
                                 .release = free,
                                 .arg = own,
                                 .cost = cost_of(box)};
    return true;
}

static cudaError_t submit_box(const struct box *box, cudaStream_t stream, bool wait)
{
    struct simdev_op *op = NULL;
    struct simdev_work work;
    if (!make_work(box, &work))
        return cudaErrorMemoryAllocation;
    cudaError_t error = simdev_capture_submit(stream, &work, wait ? &op : NULL);
    if (error != cudaSuccess) {
        free(work.arg);
        return error;
    }
    if (!op)
        return cudaSuccess;
    simdev_op_wait(op);
    simdev_op_release(op);
    return simdev_faulted();
}

/* Reads the caller's name from the stack, which is valid only during the call. */
static void name_reader(struct box *box)
{
    char name[128];
    if (!simdev_account_on() || !is_kept_apart(&box->from) || is_kept_apart(&box->to))
        return;
    simdev_caller_name(name, sizeof(name));
    box->reader = simdev_tally(SIMDEV_TALLY_READER, name);
}

/* `async`: the call is one of the ...Async functions. The others wait unless both sides are on the
 * device. */
static cudaError_t copy_box(const struct box *box, enum cudaMemcpyKind kind, cudaStream_t stream,
                            bool async)
{
    if (is_empty(box))
        return cudaSuccess;
    if ((box->height > 1 && (box->width > box->to.pitch || box->width > box->from.pitch)))
        return cudaErrorInvalidPitchValue;
    if (!box->to.begin || !box->from.begin)
        return cudaErrorInvalidValue;
    bool pageable, on_device;
    struct box named = *box;
    cudaError_t error = check_copy(box, kind, &pageable, &on_device);
    name_reader(&named);
    if (error == cudaSuccess)
        error = submit_box(&named, stream, pageable || (!async && !on_device));
    return error;
}

static struct box flat_box(const char *function, void *to, const void *from, size_t bytes)
{
    return (struct box){.to = {.begin = to},
                        .from = {.begin = (unsigned char *)(uintptr_t)from},
                        .width = bytes,
                        .height = 1,
                        .depth = 1,
                        .function = function};
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    cudaError_t error = simdev_enter(__func__);
    const struct box box = flat_box(__func__, to, from, bytes);
    return simdev_leave(error != cudaSuccess ? error
                                             : copy_box(&box, kind, cudaStreamLegacy, false));
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    cudaError_t error = simdev_enter(__func__);
    const struct box box = flat_box(__func__, to, from, bytes);
    return simdev_leave(error != cudaSuccess ? error : copy_box(&box, kind, stream, true));
}

static cudaError_t copy_2d(const char *function, const struct box *rows, enum cudaMemcpyKind kind,
                           cudaStream_t stream, bool async)
{
    cudaError_t error = simdev_enter(function);
    struct box box = *rows;
    box.function = function;
    box.depth = 1;
    if (error == cudaSuccess && (box.width > box.to.pitch || box.width > box.from.pitch))
        error = cudaErrorInvalidPitchValue;
    return simdev_leave(error != cudaSuccess ? error : copy_box(&box, kind, stream, async));
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind)
{
    const struct box rows = {
        .to = {.begin = to, .pitch = to_pitch},
        .from = {.begin = (unsigned char *)(uintptr_t)from, .pitch = from_pitch},
        .width = width,
        .height = height};
    return copy_2d(__func__, &rows, kind, cudaStreamLegacy, false);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    const struct box rows = {
        .to = {.begin = to, .pitch = to_pitch},
        .from = {.begin = (unsigned char *)(uintptr_t)from, .pitch = from_pitch},
        .width = width,
        .height = height};
    return copy_2d(__func__, &rows, kind, stream, true);
}

static struct side pitched_side(struct cudaPitchedPtr ptr, struct cudaPos pos)
{
    struct side side = {.pitch = ptr.pitch, .slice = ptr.pitch * ptr.ysize};
    if (ptr.ptr)
        side.begin = (unsigned char *)ptr.ptr + pos.z * side.slice + pos.y * side.pitch + pos.x;
    return side;
}

static cudaError_t describe_box(const char *function, const struct cudaMemcpy3DParms *p,
                                struct box *box)
{
    if (!p || p->srcArray || p->dstArray)
        return cudaErrorInvalidValue; /* no arrays here */
    *box = (struct box){.to = pitched_side(p->dstPtr, p->dstPos),
                        .from = pitched_side(p->srcPtr, p->srcPos),
                        .width = p->extent.width,
                        .height = p->extent.height,
                        .depth = p->extent.depth,
                        .function = function};
    const bool rows_fit = box->depth <= 1 || (p->extent.height <= p->dstPtr.ysize &&
                                              p->extent.height <= p->srcPtr.ysize);
    return rows_fit ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t copy_3d(const char *function, const struct cudaMemcpy3DParms *p,
                           cudaStream_t stream, bool async)
{
    struct box box = {.width = 0};
    cudaError_t error = simdev_enter(function);
    if (error == cudaSuccess)
        error = describe_box(function, p, &box);
    return simdev_leave(error != cudaSuccess ? error : copy_box(&box, p->kind, stream, async));
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
    return copy_3d(__func__, p, cudaStreamLegacy, false);
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    return copy_3d(__func__, p, stream, true);
}

/* Returns before the device has set the memory, as CUDA does, unless the memory is the host's. */
static cudaError_t set_memory(const char *function, void *to, int value, size_t bytes,
                              cudaStream_t stream, bool async)
{
    cudaError_t error = simdev_enter(function);
    if (error != cudaSuccess || bytes == 0)
        return simdev_leave(error);
    struct box box = flat_box(function, to, NULL, bytes);
    box.value = (unsigned char)value;
    enum simdev_place found;
    if (!check_place(&box, &box.to, true, "destination", &found))
        return simdev_leave(cudaErrorInvalidValue);
    return simdev_leave(submit_box(&box, stream, !async && found == SIMDEV_PINNED));
}

cudaError_t simdev_memset(const char *function, void *to, unsigned value, unsigned element,
                          size_t bytes, cudaStream_t stream)
{
    cudaError_t error = simdev_enter(function);
    struct box box = flat_box(function, to, NULL, bytes);
    enum simdev_place found;
    box.value = value;
    box.element = element;
    if (error != cudaSuccess || bytes == 0)
        return simdev_leave(error);
    if (!check_place(&box, &box.to, true, "destination", &found))
        return simdev_leave(cudaErrorInvalidValue);
    return simdev_leave(submit_box(&box, stream, false));
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    return set_memory(__func__, to, value, bytes, cudaStreamLegacy, false);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    return set_memory(__func__, to, value, bytes, stream, true);
}

static cudaError_t add_node(const struct box *box, cudaGraphNode_t *node, cudaGraph_t graph,
                            const cudaGraphNode_t *dependencies, size_t count)
{
    struct simdev_work work;
    if (!make_work(box, &work))
        return cudaErrorMemoryAllocation;
    cudaError_t error = simdev_graph_add_work(node, graph, dependencies, count, &work);
    if (error != cudaSuccess)
        free(work.arg);
    return error;
}

static cudaError_t change_node(const struct box *box, cudaGraphNode_t node)
{
    struct simdev_work work;
    if (!node)
        return cudaErrorInvalidValue;
    if (!make_work(box, &work))
        return cudaErrorMemoryAllocation;
    cudaError_t error = simdev_graph_set_work(node, &work);
    if (error != cudaSuccess)
        free(work.arg);
    return error;
}

static cudaError_t check_copy_node(const struct box *box, enum cudaMemcpyKind kind)
{
    bool pageable, on_device;
    if (is_empty(box) || !box->to.begin || !box->from.begin)
        return cudaErrorInvalidValue;
    return check_copy(box, kind, &pageable, &on_device);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph,
                                     const cudaGraphNode_t *dependencies, size_t count, void *to,
                                     const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    cudaError_t error = simdev_enter(__func__);
    const struct box box = flat_box(__func__, to, from, bytes);
    if (error == cudaSuccess)
        error = check_copy_node(&box, kind);
    if (error == cudaSuccess)
        error = add_node(&box, node, graph, dependencies, count);
    return simdev_leave(error);
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from,
                                           size_t bytes, enum cudaMemcpyKind kind)
{
    cudaError_t error = simdev_enter(__func__);
    const struct box box = flat_box(__func__, to, from, bytes);
    if (error == cudaSuccess)
        error = check_copy_node(&box, kind);
    if (error == cudaSuccess)
        error = change_node(&box, node);
    return simdev_leave(error);
}

static cudaError_t describe_copy_node(const char *function, const struct cudaMemcpy3DParms *params,
                                      struct box *box)
{
    const cudaError_t error = describe_box(function, params, box);
    return error == cudaSuccess ? check_copy_node(box, params->kind) : error;
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                   const cudaGraphNode_t *dependencies, size_t count,
                                   const struct cudaMemcpy3DParms *params)
{
    struct box box = {.width = 0};
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = describe_copy_node(__func__, params, &box);
    if (error == cudaSuccess)
        error = add_node(&box, node, graph, dependencies, count);
    return simdev_leave(error);
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                         const struct cudaMemcpy3DParms *params)
{
    struct box box = {.width = 0};
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = describe_copy_node(__func__, params, &box);
    if (error == cudaSuccess)
        error = change_node(&box, node);
    return simdev_leave(error);
}

static cudaError_t describe_set_node(const char *function, const struct cudaMemsetParams *params,
                                     struct box *box)
{
    enum simdev_place found;
    if (!params || !params->dst ||
        (params->elementSize != 1 && params->elementSize != 2 && params->elementSize != 4))
        return cudaErrorInvalidValue;
    *box = flat_box(function, params->dst, NULL, params->width * params->elementSize);
    box->to.pitch = params->pitch;
    box->height = params->height;
    box->value = params->value;
    box->element = params->elementSize;
    if (is_empty(box) || (box->height > 1 && box->width > box->to.pitch) ||
        !check_place(box, &box->to, true, "destination", &found))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                   const cudaGraphNode_t *dependencies, size_t count,
                                   const struct cudaMemsetParams *params)
{
    struct box box = {.width = 0};
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = describe_set_node(__func__, params, &box);
    if (error == cudaSuccess)
        error = add_node(&box, node, graph, dependencies, count);
    return simdev_leave(error);
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
                                         const struct cudaMemsetParams *params)
{
    struct box box = {.width = 0};
    cudaError_t error = simdev_enter(__func__);
    if (error == cudaSuccess)
        error = describe_set_node(__func__, params, &box);
    if (error == cudaSuccess)
        error = change_node(&box, node);
    return simdev_leave(error);
}
