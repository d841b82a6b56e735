/* The exported functions that run a convolution of the legacy API. */
#include "intercept/entry/entry.h"
#include "intercept/legacy/dispatch.h"

/* The three directions differ only in the order of their arguments (directions.def). */
struct run {
    struct cs_entry_call call;
    struct cs_legacy_call what;
};

static int run_replay(struct cs_entry_call *call)
{
    return (int)cs_legacy_call_run(&CS_ARGS(struct run, call)->what);
}

/* Lets cuDNN run a call first, if no query of its kind exceeded the threshold, and describes it
 * only if cuDNN refuses it. Most legacy calls are of this kind, and describing one takes longer
 * than the call. A refusal may be caused by a small workspace that was reported for another shape.
 */
static int run_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct cs_legacy_call *what = &CS_ARGS(struct run, call)->what;
    int status;
    if (cs_legacy_unfiltered(cs, what)) {
        status = run_replay(call);
        if (cs_legacy_settle(cs, status))
            return status;
    }
    return cs_legacy_run(cs, what, &status) ? status : cs_legacy_lend(cs, what, run_replay(call));
}

#define CS_DIRECTION(name, way, kind, t1, o1, t2, o2, t3, o3)                                      \
    CS_EXPORT cudnnStatus_t cudnnConvolution##name(                                                \
        cudnnHandle_t handle, const void *alpha, const cudnn##t1##Descriptor_t o1,                 \
        const void *o1##_data, const cudnn##t2##Descriptor_t o2, const void *o2##_data,            \
        const cudnnConvolutionDescriptor_t conv, cudnnConvolution##kind##Algo_t algorithm,         \
        void *workspace, size_t provided, const void *beta, const cudnn##t3##Descriptor_t o3,      \
        void *o3##_data)                                                                           \
    {                                                                                              \
        struct run a = {{run_replay, run_handle},                                                  \
                        {CS_CALL_OF(way), .algorithm = (int)algorithm, .math = CUDNN_DEFAULT_MATH, \
                         .execution = {.alpha = alpha,                                             \
                                       .beta = beta,                                               \
                                       .data = CS_CALL_DATA,                                       \
                                       .workspace = workspace,                                     \
                                       .provided = provided},                                      \
                         .fusion = NULL}};                                                         \
        return (cudnnStatus_t)cs_intercept(&a.call);                                               \
    }

#include "cudnn/plan/directions.def"
#undef CS_DIRECTION

CS_EXPORT cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void *alpha1, const cudnnTensorDescriptor_t x_descriptor,
    const void *x, const cudnnFilterDescriptor_t w_descriptor, const void *w,
    const cudnnConvolutionDescriptor_t conv, cudnnConvolutionFwdAlgo_t algorithm, void *workspace,
    size_t provided, const void *alpha2, const cudnnTensorDescriptor_t z_descriptor, const void *z,
    const cudnnTensorDescriptor_t bias_descriptor, const void *bias,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t y_descriptor,
    void *y)
{
    const struct cs_legacy_fusion fusion = {.alpha2 = alpha2,
                                            .z = z_descriptor,
                                            .bias = bias_descriptor,
                                            .z_data = CS_ADDRESS(z),
                                            .bias_data = CS_ADDRESS(bias),
                                            .activation = activation};
    struct run a = {{run_replay, run_handle},
                    {.direction = CS_FORWARD,
                     .handle = handle,
                     .x = x_descriptor,
                     .y = y_descriptor,
                     .w = w_descriptor,
                     .conv = conv,
                     .algorithm = (int)algorithm,
                     .math = CUDNN_DEFAULT_MATH,
                     .execution.alpha = alpha1,
                     .execution.data = {CS_ADDRESS(x), CS_ADDRESS(w), y},
                     .execution.workspace = workspace,
                     .execution.provided = provided,
                     .fusion = &fusion}};
    return (cudnnStatus_t)cs_intercept(&a.call);
}
