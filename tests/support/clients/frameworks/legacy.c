#include "legacy.h"

#define DO(call)                                                                                   \
    do {                                                                                           \
        cudnnStatus_t do_status = (call);                                                          \
        if (do_status != CUDNN_STATUS_SUCCESS)                                                     \
            return do_status;                                                                      \
    } while (0)

static cudnnStatus_t describe_filter(const struct tensor *w, cudnnFilterDescriptor_t desc)
{
    int size[CLIENT_MAX_DIMS];
    for (int i = 0; i < w->dims; i++)
        size[i] = (int)w->size[i];
    return cudnnSetFilterNdDescriptor(desc, w->type, CUDNN_TENSOR_NCHW, w->dims, size);
}

cudnnStatus_t legacy_open(const struct operands *operands, cudnnMathType_t math,
                          struct legacy *legacy)
{
    const struct layer *layer = &operands->layer;
    DO(cudnnCreateTensorDescriptor(&legacy->x));
    DO(cudnnCreateTensorDescriptor(&legacy->y));
    DO(cudnnCreateTensorDescriptor(&legacy->bias));
    DO(cudnnCreateFilterDescriptor(&legacy->w));
    DO(cudnnCreateConvolutionDescriptor(&legacy->conv));
    DO(tensor_describe(&operands->tensor[ROLE_X], legacy->x));
    DO(tensor_describe(&operands->tensor[ROLE_Y], legacy->y));
    DO(tensor_describe(&operands->bias_tensor, legacy->bias));
    DO(describe_filter(&operands->tensor[ROLE_W], legacy->w));
    DO(cudnnSetConvolution2dDescriptor(legacy->conv, (int)layer->pre[0], (int)layer->pre[1],
                                       (int)layer->stride[0], (int)layer->stride[1], 1, 1,
                                       CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    return cudnnSetConvolutionMathType(legacy->conv, math);
}

void legacy_close(struct legacy *legacy)
{
    if (legacy->conv != NULL)
        cudnnDestroyConvolutionDescriptor(legacy->conv);
    if (legacy->w != NULL)
        cudnnDestroyFilterDescriptor(legacy->w);
    if (legacy->bias != NULL)
        cudnnDestroyTensorDescriptor(legacy->bias);
    if (legacy->y != NULL)
        cudnnDestroyTensorDescriptor(legacy->y);
    if (legacy->x != NULL)
        cudnnDestroyTensorDescriptor(legacy->x);
}

/* The rows of the three directions have the same fields in different types. */
#define TAKE(answers, perf, returned)                                                              \
    do {                                                                                           \
        (answers)->count = (returned);                                                             \
        for (int take_i = 0; take_i < (returned); take_i++)                                        \
            (answers)->row[take_i] = (struct answer){                                              \
                (int)(perf)[take_i].algo, (perf)[take_i].status,      (perf)[take_i].time,         \
                (perf)[take_i].memory,    (perf)[take_i].determinism, (perf)[take_i].mathType};    \
    } while (0)

static int rows(int most)
{
    return most < LEGACY_ANSWERS ? most : LEGACY_ANSWERS;
}

cudnnStatus_t legacy_get(const struct session *session, const struct legacy *l,
                         enum direction direction, struct answers *answers)
{
    cudnnConvolutionFwdAlgoPerf_t forward[LEGACY_ANSWERS];
    cudnnConvolutionBwdDataAlgoPerf_t data[LEGACY_ANSWERS];
    cudnnConvolutionBwdFilterAlgoPerf_t filter[LEGACY_ANSWERS];
    cudnnHandle_t handle = session->handle;
    int most = 0, returned = 0;
    switch (direction) {
    case BACKWARD_DATA:
        DO(cudnnGetConvolutionBackwardDataAlgorithmMaxCount(handle, &most));
        DO(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, l->w, l->y, l->conv, l->x,
                                                       rows(most), &returned, data));
        TAKE(answers, data, returned);
        break;
    case BACKWARD_FILTER:
        DO(cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(handle, &most));
        DO(cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, l->x, l->y, l->conv, l->w,
                                                         rows(most), &returned, filter));
        TAKE(answers, filter, returned);
        break;
    default:
        DO(cudnnGetConvolutionForwardAlgorithmMaxCount(handle, &most));
        DO(cudnnGetConvolutionForwardAlgorithm_v7(handle, l->x, l->w, l->conv, l->y, rows(most),
                                                  &returned, forward));
        TAKE(answers, forward, returned);
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t legacy_find(const struct session *session, const struct legacy *l,
                          enum direction direction, struct answers *answers)
{
    cudnnConvolutionFwdAlgoPerf_t forward[LEGACY_ANSWERS];
    cudnnConvolutionBwdDataAlgoPerf_t data[LEGACY_ANSWERS];
    cudnnConvolutionBwdFilterAlgoPerf_t filter[LEGACY_ANSWERS];
    cudnnHandle_t handle = session->handle;
    int returned = 0;
    switch (direction) {
    case BACKWARD_DATA:
        DO(cudnnFindConvolutionBackwardDataAlgorithm(handle, l->w, l->y, l->conv, l->x,
                                                     LEGACY_ANSWERS, &returned, data));
        TAKE(answers, data, returned);
        break;
    case BACKWARD_FILTER:
        DO(cudnnFindConvolutionBackwardFilterAlgorithm(handle, l->x, l->y, l->conv, l->w,
                                                       LEGACY_ANSWERS, &returned, filter));
        TAKE(answers, filter, returned);
        break;
    default:
        DO(cudnnFindConvolutionForwardAlgorithm(handle, l->x, l->w, l->conv, l->y, LEGACY_ANSWERS,
                                                &returned, forward));
        TAKE(answers, forward, returned);
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t legacy_find_ex(const struct session *session, const struct legacy *l,
                             enum direction direction, const struct operands *operands,
                             void *workspace, size_t bytes, struct answers *answers)
{
    cudnnConvolutionFwdAlgoPerf_t forward[LEGACY_ANSWERS];
    cudnnConvolutionBwdDataAlgoPerf_t data[LEGACY_ANSWERS];
    cudnnConvolutionBwdFilterAlgoPerf_t filter[LEGACY_ANSWERS];
    void *const *at = operands->device;
    cudnnHandle_t handle = session->handle;
    int returned = 0;
    switch (direction) {
    case BACKWARD_DATA:
        DO(cudnnFindConvolutionBackwardDataAlgorithmEx(handle, l->w, at[ROLE_W], l->y, at[ROLE_Y],
                                                       l->conv, l->x, at[ROLE_X], LEGACY_ANSWERS,
                                                       &returned, data, workspace, bytes));
        TAKE(answers, data, returned);
        break;
    case BACKWARD_FILTER:
        DO(cudnnFindConvolutionBackwardFilterAlgorithmEx(handle, l->x, at[ROLE_X], l->y, at[ROLE_Y],
                                                         l->conv, l->w, at[ROLE_W], LEGACY_ANSWERS,
                                                         &returned, filter, workspace, bytes));
        TAKE(answers, filter, returned);
        break;
    default:
        DO(cudnnFindConvolutionForwardAlgorithmEx(handle, l->x, at[ROLE_X], l->w, at[ROLE_W],
                                                  l->conv, l->y, at[ROLE_Y], LEGACY_ANSWERS,
                                                  &returned, forward, workspace, bytes));
        TAKE(answers, forward, returned);
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t legacy_size(const struct session *session, const struct legacy *l,
                          enum direction direction, int algorithm, size_t *bytes_p)
{
    switch (direction) {
    case BACKWARD_DATA:
        return cudnnGetConvolutionBackwardDataWorkspaceSize(
            session->handle, l->w, l->y, l->conv, l->x, (cudnnConvolutionBwdDataAlgo_t)algorithm,
            bytes_p);
    case BACKWARD_FILTER:
        return cudnnGetConvolutionBackwardFilterWorkspaceSize(
            session->handle, l->x, l->y, l->conv, l->w, (cudnnConvolutionBwdFilterAlgo_t)algorithm,
            bytes_p);
    default:
        return cudnnGetConvolutionForwardWorkspaceSize(session->handle, l->x, l->w, l->conv, l->y,
                                                       (cudnnConvolutionFwdAlgo_t)algorithm,
                                                       bytes_p);
    }
}

cudnnStatus_t legacy_run(const struct session *session, const struct legacy *l,
                         enum direction direction, const struct operands *operands,
                         const struct brought *b, float alpha, float beta)
{
    void *const *at = operands->device;
    switch (direction) {
    case BACKWARD_DATA:
        return cudnnConvolutionBackwardData(session->handle, &alpha, l->w, at[ROLE_W], l->y,
                                            at[ROLE_Y], l->conv,
                                            (cudnnConvolutionBwdDataAlgo_t)b->algorithm,
                                            b->workspace, b->bytes, &beta, l->x, at[ROLE_X]);
    case BACKWARD_FILTER:
        return cudnnConvolutionBackwardFilter(session->handle, &alpha, l->x, at[ROLE_X], l->y,
                                              at[ROLE_Y], l->conv,
                                              (cudnnConvolutionBwdFilterAlgo_t)b->algorithm,
                                              b->workspace, b->bytes, &beta, l->w, at[ROLE_W]);
    default:
        return cudnnConvolutionForward(session->handle, &alpha, l->x, at[ROLE_X], l->w, at[ROLE_W],
                                       l->conv, (cudnnConvolutionFwdAlgo_t)b->algorithm,
                                       b->workspace, b->bytes, &beta, l->y, at[ROLE_Y]);
    }
}

cudnnStatus_t legacy_run_fused(const struct session *session, const struct legacy *l,
                               const struct operands *operands, const struct brought *b,
                               float alpha2, cudnnActivationMode_t activation)
{
    const float one = 1.0F;
    void *const *at = operands->device;
    cudnnActivationDescriptor_t desc;
    DO(cudnnCreateActivationDescriptor(&desc));
    cudnnStatus_t status =
        cudnnSetActivationDescriptor(desc, activation, CUDNN_NOT_PROPAGATE_NAN, 0.0);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnConvolutionBiasActivationForward(
            session->handle, &one, l->x, at[ROLE_X], l->w, at[ROLE_W], l->conv,
            (cudnnConvolutionFwdAlgo_t)b->algorithm, b->workspace, b->bytes, &alpha2, l->y,
            at[ROLE_Y], l->bias, operands->bias, desc, l->y, at[ROLE_Y]);
    cudnnDestroyActivationDescriptor(desc);
    return status;
}

bool legacy_convolve(struct session *session, struct operands *operands, enum direction direction,
                     legacy_choose *choose)
{
    struct legacy legacy = {0};
    struct answer chosen;
    struct brought brought = {0};
    bool good = false;
    TRY_CUDNN(legacy_open(operands, CUDNN_DEFAULT_MATH, &legacy), close);
    if (!choose(session, &legacy, direction, operands, &chosen))
        goto close;
    TRY_CUDNN(cudnnSetConvolutionMathType(legacy.conv, chosen.math), close);
    brought = (struct brought){chosen.algorithm, NULL, chosen.memory};
    if (!session_workspace(session, brought.bytes, &brought.workspace))
        goto close;
    TRY_CUDNN(legacy_run(session, &legacy, direction, operands, &brought, 1.0F, 0.0F), close);
    good =
        operands_verify(session, operands, &(struct formula){direction, 1.0F, 0.0F, false, false});
close:
    cudaFree(brought.workspace);
    legacy_close(&legacy);
    return good;
}
