/* The arguments of a legacy call in one form for all directions, and the real functions. */
#ifndef CS_CUDNN_PLAN_LEGACY_CALL_H
#define CS_CUDNN_PLAN_LEGACY_CALL_H

#include "convshim/problem.h"
#include "cudnn/bind/real.h"

/* The arguments that only an execution has. Zeros in a query mean alpha 1, beta 0 and no addresses.
 * FindEx, the search for an algorithm on the caller's tensors, has addresses but no scales. */
struct cs_legacy_execution {
    const void *alpha, *beta;
    void *data[CS_OPERANDS];
    void *workspace;
    size_t provided; /* bytes at that address */
};

/* The arguments that only a fused execution has: y = activation(alpha * convolution + alpha2 * z +
 * bias). */
struct cs_legacy_fusion {
    const void *alpha2;
    cudnnTensorDescriptor_t z, bias;
    void *z_data, *bias_data;
    cudnnActivationDescriptor_t activation;
};

/* A call of the legacy API. Its first six members are arguments of all calls. Descriptors and
 * addresses are named by their operands. A gradient has the name of its tensor. */
struct cs_legacy_call {
    enum cs_direction direction;
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
    int algorithm;        /* cudnnConvolution{Fwd,BwdData,BwdFilter}Algo_t */
    cudnnMathType_t math; /* math type, from cs_legacy_call_math or a query's result */
    struct cs_legacy_execution execution;
    const struct cs_legacy_fusion *fusion; /* NULL: an unfused convolution */
};

/* A result of an algorithm query. The three directions have separate types, which differ only in
 * the type of the algorithm's number. */
typedef cudnnConvolutionFwdAlgoPerf_t cs_legacy_result;

/* Where an algorithm query stores its results. */
struct cs_legacy_results {
    int requested;
    int *returned;
    cs_legacy_result *result;
};

/* The math type of a convolution descriptor. */
cudnnMathType_t cs_legacy_call_math(cudnnConvolutionDescriptor_t conv);

/* The real functions, called with the call's arguments. */
cudnnStatus_t cs_legacy_call_run(const struct cs_legacy_call *call);
cudnnStatus_t cs_legacy_call_size(const struct cs_legacy_call *call, size_t *bytes_p);
cudnnStatus_t cs_legacy_call_get(const struct cs_legacy_call *call,
                                 const struct cs_legacy_results *results);
cudnnStatus_t cs_legacy_call_find(const struct cs_legacy_call *call,
                                  const struct cs_legacy_results *results);
cudnnStatus_t cs_legacy_call_find_ex(const struct cs_legacy_call *call,
                                     const struct cs_legacy_results *results);

/* Returns the numerical notes, one bit each, that an engine must not have if it replaces the call's
 * algorithm. */
unsigned cs_legacy_call_forbidden(const struct cs_legacy_call *call, enum cs_dtype compute);

#endif
