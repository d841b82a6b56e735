/* Tensors that are too large for a legacy descriptor (cuDNN refuses 2^31 elements), noted beside
 * it: the descriptor itself then holds what other functions refuse. Thread-safe; a descriptor is
 * one thread's while it is being set. */
#ifndef CS_INTERCEPT_LEGACY_OVERSIZED_TENSOR_H
#define CS_INTERCEPT_LEGACY_OVERSIZED_TENSOR_H

#include "convshim/problem.h"
#include "intercept/legacy/legacy_call.h"

/* Extents and strides count elements; the dimensions in cuDNN's own order. */
struct cs_oversized_tensor {
    cudnnDataType_t type;
    int rank;
    int extent[CS_DIMS];
    int64_t stride[CS_DIMS];
};

/* How an application set a tensor: `stride` NULL for a packed one of `format`. */
struct cs_oversized_tensor_set {
    cudnnTensorDescriptor_t descriptor;
    cudnnDataType_t type;
    cudnnTensorFormat_t format;
    int rank;
    const int *extent, *stride;
};

/* What a setter is to answer where the real one answered `status`: a success drops the note, a
 * refusal for the extents alone becomes a success with a note. Where it answers a refusal the
 * descriptor's contents are lost. */
int cs_oversized_tensor_settle(const struct cs_oversized_tensor_set *set, int status);

/* Copies the note of a descriptor; false if it has none. One load where there are no notes. */
bool cs_oversized_tensor_find(cudnnTensorDescriptor_t descriptor,
                              struct cs_oversized_tensor *large);

/* True if a call brings a tensor with recorded extents. */
bool cs_oversized_tensor_in(const struct cs_legacy_call *call);

/* Drops the note of a descriptor, if it has one. */
void cs_oversized_tensor_drop(cudnnTensorDescriptor_t descriptor);

/* Bytes from the first element to the end of the last. False where 64 bits are not enough. */
bool cs_oversized_tensor_bytes(const struct cs_oversized_tensor *large, size_t *bytes_p);

/* The extents of a forward convolution's output, `rank` of them; cuDNN's status. */
int cs_oversized_tensor_output(const struct cs_oversized_tensor *x,
                               cudnnConvolutionDescriptor_t conv, cudnnFilterDescriptor_t w,
                               int rank, int *extent);

/* Holds (before) or frees (after) the notes across a fork. */
void cs_oversized_tensor_fork(bool before);

#endif
