/* Calls the legacy functions of any direction, and finds the engines that an algorithm allows. */
#include "cudnn/plan/legacy_call.h"

#include <stddef.h>

#define SAME_RESULT(type)                                                                          \
    _Static_assert(sizeof(type) == sizeof(cs_legacy_result) &&                                     \
                       offsetof(type, algo) == offsetof(cs_legacy_result, algo) &&                 \
                       sizeof(((type *)0)->algo) == sizeof(((cs_legacy_result *)0)->algo) &&       \
                       offsetof(type, status) == offsetof(cs_legacy_result, status) &&             \
                       offsetof(type, time) == offsetof(cs_legacy_result, time) &&                 \
                       offsetof(type, memory) == offsetof(cs_legacy_result, memory) &&             \
                       offsetof(type, mathType) == offsetof(cs_legacy_result, mathType),           \
                   "results differ by direction")
SAME_RESULT(cudnnConvolutionBwdDataAlgoPerf_t);
SAME_RESULT(cudnnConvolutionBwdFilterAlgoPerf_t);

/* Indices of the operands' addresses. */
enum {
    AT_x = CS_X,
    AT_w = CS_FILTER,
    AT_y = CS_Y
};

cudnnMathType_t cs_legacy_call_math(cudnnConvolutionDescriptor_t conv)
{
    cudnnMathType_t math = CUDNN_DEFAULT_MATH;
    if (CS_REAL(cudnnGetConvolutionMathType, conv, &math) != CUDNN_STATUS_SUCCESS)
        math = CUDNN_DEFAULT_MATH;
    return math;
}

static cudnnStatus_t run_fused(const struct cs_legacy_call *c)
{
    const struct cs_legacy_execution *run = &c->execution;
    const struct cs_legacy_fusion *f = c->fusion;
    return CS_REAL(cudnnConvolutionBiasActivationForward, c->handle, run->alpha, c->x,
                   run->data[CS_X], c->w, run->data[CS_FILTER], c->conv,
                   (cudnnConvolutionFwdAlgo_t)c->algorithm, run->workspace, run->provided,
                   f->alpha2, f->z, f->z_data, f->bias, f->bias_data, f->activation, c->y,
                   run->data[CS_Y]);
}

cudnnStatus_t cs_legacy_call_run(const struct cs_legacy_call *c)
{
    const struct cs_legacy_execution *run = &c->execution;
    if (c->fusion)
        return run_fused(c);
    switch (c->direction) {
#define CS_DIRECTION(name, way, kind, t1, o1, t2, o2, t3, o3)                                      \
    case way:                                                                                      \
        return CS_REAL(cudnnConvolution##name, c->handle, run->alpha, c->o1, run->data[AT_##o1],   \
                       c->o2, run->data[AT_##o2], c->conv,                                         \
                       (cudnnConvolution##kind##Algo_t)c->algorithm, run->workspace,               \
                       run->provided, run->beta, c->o3, run->data[AT_##o3]);
#include "cudnn/plan/directions.def"
#undef CS_DIRECTION
    default:
        return CUDNN_STATUS_BAD_PARAM;
    }
}

cudnnStatus_t cs_legacy_call_size(const struct cs_legacy_call *c, size_t *bytes_p)
{
    switch (c->direction) {
#define CS_DIRECTION(name, way, kind, t1, o1, t2, o2, t3, o3)                                      \
    case way:                                                                                      \
        return CS_REAL(cudnnGetConvolution##name##WorkspaceSize, c->handle, c->o1, c->o2, c->conv, \
                       c->o3, (cudnnConvolution##kind##Algo_t)c->algorithm, bytes_p);
#include "cudnn/plan/directions.def"
#undef CS_DIRECTION
    default:
        return CUDNN_STATUS_BAD_PARAM;
    }
}

cudnnStatus_t cs_legacy_call_get(const struct cs_legacy_call *c, const struct cs_legacy_results *to)
{
    switch (c->direction) {
#define CS_DIRECTION(name, way, kind, t1, o1, t2, o2, t3, o3)                                      \
    case way:                                                                                      \
        return CS_REAL(cudnnGetConvolution##name##Algorithm_v7, c->handle, c->o1, c->o2, c->conv,  \
                       c->o3, to->requested, to->returned,                                         \
                       (cudnnConvolution##kind##AlgoPerf_t *)(void *)to->result);
#include "cudnn/plan/directions.def"
#undef CS_DIRECTION
    default:
        return CUDNN_STATUS_BAD_PARAM;
    }
}

cudnnStatus_t cs_legacy_call_find(const struct cs_legacy_call *c,
                                  const struct cs_legacy_results *to)
{
    switch (c->direction) {
#define CS_DIRECTION(name, way, kind, t1, o1, t2, o2, t3, o3)                                      \
    case way:                                                                                      \
        return CS_REAL(cudnnFindConvolution##name##Algorithm, c->handle, c->o1, c->o2, c->conv,    \
                       c->o3, to->requested, to->returned,                                         \
                       (cudnnConvolution##kind##AlgoPerf_t *)(void *)to->result);
#include "cudnn/plan/directions.def"
#undef CS_DIRECTION
    default:
        return CUDNN_STATUS_BAD_PARAM;
    }
}

cudnnStatus_t cs_legacy_call_find_ex(const struct cs_legacy_call *c,
                                     const struct cs_legacy_results *to)
{
    const struct cs_legacy_execution *run = &c->execution;
    switch (c->direction) {
#define CS_DIRECTION(name, way, kind, t1, o1, t2, o2, t3, o3)                                      \
    case way:                                                                                      \
        return CS_REAL(cudnnFindConvolution##name##AlgorithmEx, c->handle, c->o1,                  \
                       run->data[AT_##o1], c->o2, run->data[AT_##o2], c->conv, c->o3,              \
                       run->data[AT_##o3], to->requested, to->returned,                            \
                       (cudnnConvolution##kind##AlgoPerf_t *)(void *)to->result, run->workspace,   \
                       run->provided);
#include "cudnn/plan/directions.def"
#undef CS_DIRECTION
    default:
        return CUDNN_STATUS_BAD_PARAM;
    }
}

#define NOTE(name) (1u << CUDNN_NUMERICAL_NOTE_##name)

/* The numerical notes that an algorithm allows in addition to plain sums of products in a fixed
 * order. */
static unsigned allowed_notes(const struct cs_legacy_call *call)
{
    const unsigned winograd = NOTE(WINOGRAD) | NOTE(WINOGRAD_TILE_4x4) | NOTE(WINOGRAD_TILE_6x6) |
                              NOTE(WINOGRAD_TILE_13x13);
    static const struct {
        unsigned fft, winograd, nondeterministic; /* bits of algorithm numbers */
    } algorithms[CS_DIRECTIONS] = {
        [CS_FORWARD] = {1u << CUDNN_CONVOLUTION_FWD_ALGO_FFT |
                            1u << CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING,
                        1u << CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD |
                            1u << CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED,
                        0},
        [CS_BACKWARD_DATA] = {1u << CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT |
                                  1u << CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING,
                              1u << CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD |
                                  1u << CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED,
                              1u << CUDNN_CONVOLUTION_BWD_DATA_ALGO_0},
        [CS_BACKWARD_FILTER] = {1u << CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT |
                                    1u << CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING,
                                1u << CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD |
                                    1u << CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED,
                                1u << CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 |
                                    1u << CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3},
    };
    unsigned bit = call->algorithm >= 0 && call->algorithm < 32 ? 1u << call->algorithm : 0;
    unsigned notes = 0;
    if (bit & algorithms[call->direction].fft)
        notes |= NOTE(FFT);
    if (bit & algorithms[call->direction].winograd)
        notes |= winograd;
    if (bit & algorithms[call->direction].nondeterministic)
        notes |= NOTE(NONDETERMINISTIC);
    return notes;
}

unsigned cs_legacy_call_forbidden(const struct cs_legacy_call *call, enum cs_dtype compute)
{
    unsigned notes = NOTE(NONDETERMINISTIC) | NOTE(FFT) | NOTE(WINOGRAD) | NOTE(WINOGRAD_TILE_4x4) |
                     NOTE(WINOGRAD_TILE_6x6) | NOTE(WINOGRAD_TILE_13x13);
    if (call->math == CUDNN_FMA_MATH)
        notes |= NOTE(TENSOR_CORE);
    if (call->math != CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION)
        notes |= NOTE(DOWN_CONVERT_INPUTS);
    if (compute == CS_F32)
        notes |= NOTE(REDUCED_PRECISION_REDUCTION);
    return notes & ~allowed_notes(call);
}
