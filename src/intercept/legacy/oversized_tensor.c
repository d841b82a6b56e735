/* Records the extents of tensors with 2^31 elements or more, which a legacy descriptor refuses. */
#include "intercept/legacy/oversized_tensor.h"

#include "base/checked.h"
#include "base/lock.h"
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    MAX_NOTES = 4096, /* tensors beyond these are refused as by cuDNN */
    SENTINEL_RANK = CUDNN_DIM_MAX
};

struct note {
    struct note *next;
    cudnnTensorDescriptor_t descriptor;
    struct cs_oversized_tensor large;
};

static struct cs_lock lock = CS_LOCK_INITIALIZER(OVERSIZED);
static struct note *notes;
static atomic_int count;

/* Removes the record of a descriptor from the list, and returns it or NULL. The caller holds the
 * lock. */
static struct note *unlink_locked(cudnnTensorDescriptor_t descriptor)
{
    struct note **link = &notes;
    while (*link && (*link)->descriptor != descriptor)
        link = &(*link)->next;
    struct note *found = *link;
    if (found) {
        *link = found->next;
        atomic_fetch_sub_explicit(&count, 1, memory_order_relaxed);
    }
    return found;
}

void cs_oversized_tensor_drop(cudnnTensorDescriptor_t descriptor)
{
    if (atomic_load_explicit(&count, memory_order_relaxed) == 0)
        return;
    cs_lock(&lock);
    struct note *found = unlink_locked(descriptor);
    cs_unlock(&lock);
    free(found);
}

/* Records a tensor, and frees an earlier record of its descriptor. False if memory is short or
 * MAX_NOTES tensors are recorded. */
static bool add_tensor(cudnnTensorDescriptor_t descriptor, const struct cs_oversized_tensor *large)
{
    struct note *note = malloc(sizeof *note);
    if (!note)
        return false;
    *note = (struct note){.descriptor = descriptor, .large = *large};
    cs_lock(&lock);
    struct note *stale = unlink_locked(descriptor);
    bool fits = atomic_load_explicit(&count, memory_order_relaxed) < MAX_NOTES;
    if (fits) {
        note->next = notes;
        notes = note;
        atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    }
    cs_unlock(&lock);
    free(stale);
    if (!fits)
        free(note);
    return fits;
}

bool cs_oversized_tensor_find(cudnnTensorDescriptor_t descriptor, struct cs_oversized_tensor *large)
{
    if (atomic_load_explicit(&count, memory_order_relaxed) == 0)
        return false;
    cs_lock(&lock);
    const struct note *note = notes;
    while (note && note->descriptor != descriptor)
        note = note->next;
    if (note)
        *large = note->large;
    cs_unlock(&lock);
    return note;
}

bool cs_oversized_tensor_in(const struct cs_legacy_call *call)
{
    struct cs_oversized_tensor large;
    if (atomic_load_explicit(&count, memory_order_relaxed) == 0)
        return false;
    return cs_oversized_tensor_find(call->x, &large) || cs_oversized_tensor_find(call->y, &large) ||
           (call->fusion && cs_oversized_tensor_find(call->fusion->z, &large));
}

/* Sets packed strides. False for a format that has none, or if they exceed 64 bits. */
static bool pack_tensor(cudnnTensorFormat_t format, struct cs_oversized_tensor *large)
{
    int64_t next = 1;
    bool last = format == CUDNN_TENSOR_NHWC;
    if (!last && format != CUDNN_TENSOR_NCHW)
        return false;
    if (last) {
        large->stride[1] = 1;
        next = large->extent[1];
    }
    for (int i = large->rank - 1; i >= 0; i--) {
        if (last && i == 1)
            continue;
        large->stride[i] = next;
        if (!cs_mul(next, large->extent[i], &next))
            return false;
    }
    return true;
}

/* Converts the arguments of a setter. False if they are invalid or no convolution's. */
static bool describe_set(const struct cs_oversized_tensor_set *set,
                         struct cs_oversized_tensor *large)
{
    if (!set->extent || set->rank < CS_D + 1 || set->rank > CS_DIMS)
        return false;
    *large = (struct cs_oversized_tensor){.type = set->type, .rank = set->rank};
    for (int i = 0; i < set->rank; i++) {
        large->extent[i] = set->extent[i];
        large->stride[i] = set->stride ? set->stride[i] : 0;
        if (set->extent[i] < 1 || (set->stride && set->stride[i] < 1))
            return false;
    }
    return set->stride || pack_tensor(set->format, large);
}

/* True if cuDNN accepts the type with small extents, so that only the extents were refused.
 * Overwrites the descriptor. */
static bool takes_small(const struct cs_oversized_tensor_set *set)
{
    const int ones[CS_DIMS] = {1, 1, 1, 1, 1};
    return CS_REAL(cudnnSetTensorNdDescriptor, set->descriptor, set->type, set->rank, ones, ones) ==
           CUDNN_STATUS_SUCCESS;
}

/* Sets the descriptor to a tensor of bytes with more dimensions than any function accepts. Its type
 * alone cannot make it unusable: cuDNN (9.19) refuses 64-bit integers, booleans and 8-bit floats in
 * legacy descriptors. */
static bool disarm_tensor(cudnnTensorDescriptor_t descriptor)
{
    const int ones[SENTINEL_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    return CS_REAL(cudnnSetTensorNdDescriptor, descriptor, CUDNN_DATA_UINT8, SENTINEL_RANK, ones,
                   ones) == CUDNN_STATUS_SUCCESS;
}

int cs_oversized_tensor_settle(const struct cs_oversized_tensor_set *set, int status)
{
    struct cs_oversized_tensor large;
    if (status == CUDNN_STATUS_SUCCESS)
        cs_oversized_tensor_drop(set->descriptor);
    if (status != CUDNN_STATUS_NOT_SUPPORTED || !describe_set(set, &large))
        return status;
    cs_oversized_tensor_drop(set->descriptor);
    bool carried =
        takes_small(set) && disarm_tensor(set->descriptor) && add_tensor(set->descriptor, &large);
    return carried ? CUDNN_STATUS_SUCCESS : status;
}

/* Bytes of an element of a floating-point type of 16, 32 or 64 bits. 0 for other types. */
static int64_t bytes_of(cudnnDataType_t type)
{
    switch (type) {
    case CUDNN_DATA_FLOAT:
        return 4;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
        return 2;
    case CUDNN_DATA_DOUBLE:
        return 8;
    default:
        return 0;
    }
}

bool cs_oversized_tensor_bytes(const struct cs_oversized_tensor *large, size_t *bytes_p)
{
    int64_t sum = 1, step, size = bytes_of(large->type);
    for (int i = 0; i < large->rank; i++)
        if (!cs_mul(large->extent[i] - 1, large->stride[i], &step) || !cs_add(sum, step, &sum))
            return false;
    if (size == 0 || !cs_mul(sum, size, &sum))
        return false;
    *bytes_p = (size_t)sum;
    return true;
}

/* One spatial extent of the output. 0 if the window does not fit. */
static int64_t slide_window(int64_t x, int64_t w, int64_t pad, int64_t stride, int64_t dilation)
{
    int64_t room =
        x + 2 * pad - (w - 1) * dilation - 1; /* a sum of products of ints, so 64 bits suffice */
    return room < 0 ? 0 : room / stride + 1;
}

int cs_oversized_tensor_output(const struct cs_oversized_tensor *x,
                               cudnnConvolutionDescriptor_t conv, cudnnFilterDescriptor_t w,
                               int rank, int *extent)
{
    int pad[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX], dilation[CUDNN_DIM_MAX], spatial, dims, groups;
    int filter[CUDNN_DIM_MAX];
    cudnnConvolutionMode_t mode;
    cudnnDataType_t type;
    cudnnTensorFormat_t format;
    cudnnStatus_t status = CS_REAL(cudnnGetConvolutionNdDescriptor, conv, CUDNN_DIM_MAX - 2,
                                   &spatial, pad, stride, dilation, &mode, &type);
    if (status == CUDNN_STATUS_SUCCESS)
        status = CS_REAL(cudnnGetConvolutionGroupCount, conv, &groups);
    if (status == CUDNN_STATUS_SUCCESS)
        status =
            CS_REAL(cudnnGetFilterNdDescriptor, w, CUDNN_DIM_MAX, &type, &format, &dims, filter);
    if (status != CUDNN_STATUS_SUCCESS)
        return (int)status;
    if (!extent || rank != x->rank || dims != rank || spatial != rank - CS_D ||
        x->extent[1] != (int64_t)filter[1] * groups)
        return CUDNN_STATUS_BAD_PARAM;
    extent[0] = x->extent[0];
    extent[1] = filter[0];
    for (int i = 0; i < spatial; i++) {
        int64_t out =
            slide_window(x->extent[CS_D + i], filter[CS_D + i], pad[i], stride[i], dilation[i]);
        if (out < 1 || out > INT_MAX)
            return CUDNN_STATUS_BAD_PARAM;
        extent[CS_D + i] = (int)out;
    }
    return CUDNN_STATUS_SUCCESS;
}

void cs_oversized_tensor_fork(bool before)
{
    if (before)
        cs_lock(&lock);
    else
        cs_unlock(&lock);
}
