/* Records of tensors that are too large for a legacy descriptor (cuDNN refuses 2^31 elements). The
 * descriptor itself then has contents that other functions refuse. Thread-safe. One thread at a
 * time sets a descriptor. */
#ifndef CS_INTERCEPT_LEGACY_OVERSIZED_TENSOR_H
#define CS_INTERCEPT_LEGACY_OVERSIZED_TENSOR_H

#include "convshim/problem.h"
#include "cudnn/plan/legacy_call.h"

/* Extents and strides count elements. The dimensions are in cuDNN's order. */
struct cs_oversized_tensor {
    cudnnDataType_t type;
    int rank;
    int extent[CS_DIMS];
    int64_t stride[CS_DIMS];
};

/* The arguments of a function that sets a tensor descriptor. `stride` is NULL for a packed tensor
 * of `format`. */
struct cs_oversized_tensor_set {
    cudnnTensorDescriptor_t descriptor;
    cudnnDataType_t type;
    cudnnTensorFormat_t format;
    int rank;
    const int *extent, *stride;
};

/* Returns the status for a setter to return if the real one returned `status`. After a success the
 * descriptor has no record. If cuDNN refuses the extents alone, the tensor is recorded and the
 * status is a success. If the result is a refusal, the descriptor's contents are lost. */
int cs_oversized_tensor_settle(const struct cs_oversized_tensor_set *set, int status);

/* Copies the record of a descriptor. False if it has no record. While no descriptor has one, this
 * is one atomic load. */
bool cs_oversized_tensor_find(cudnnTensorDescriptor_t descriptor,
                              struct cs_oversized_tensor *large);

/* True if a call has a tensor with recorded extents. */
bool cs_oversized_tensor_in(const struct cs_legacy_call *call);

/* Removes the record of a descriptor, if it has one. */
void cs_oversized_tensor_drop(cudnnTensorDescriptor_t descriptor);

/* Sets *bytes_p to the bytes from the first element to the end of the last. False if they exceed 64
 * bits. */
bool cs_oversized_tensor_bytes(const struct cs_oversized_tensor *large, size_t *bytes_p);

/* Computes the `rank` extents of a forward convolution's output. Returns cuDNN's status. */
int cs_oversized_tensor_output(const struct cs_oversized_tensor *x,
                               cudnnConvolutionDescriptor_t conv, cudnnFilterDescriptor_t w,
                               int rank, int *extent);

/* Locks the records before a fork, and unlocks them after it. */
void cs_oversized_tensor_fork(bool before);

#endif
