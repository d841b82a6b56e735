/* Find... queries: tiled algorithms are timed tiled, in tensors and a workspace of the right
 * sizes. */
#include "intercept/legacy/dispatch.h"

#include "legacy_fixture.h"

enum {
    ANSWERS = 3
};

static cs_legacy_result answer[ANSWERS];            /* of cuDNN */
static size_t required[ANSWERS], reported[ANSWERS]; /* by algorithm */
static bool tiled[ANSWERS];
static cudnnStatus_t status;
static float time_now; /* of each tiled run */
static int tries, events, searches, corrected;
static size_t taken[8]; /* sizes of allocations */
static int allocations, held, fails_at;
static struct cs_legacy_call seen; /* by cuDNN's search, then by the tiled run */

static cudnnStatus_t find_ex(cudnnHandle_t handle, const cudnnTensorDescriptor_t x_,
                             const void *x_data, const cudnnFilterDescriptor_t w_,
                             const void *w_data, const cudnnConvolutionDescriptor_t conv_,
                             const cudnnTensorDescriptor_t y_, void *y_data, const int most,
                             int *count, cudnnConvolutionFwdAlgoPerf_t *to, void *workspace,
                             size_t bytes)
{
    (void)handle, (void)x_, (void)w_, (void)conv_, (void)y_, (void)most;
    seen.execution = (struct cs_legacy_execution){
        .data = {(void *)(uintptr_t)x_data, (void *)(uintptr_t)w_data, y_data},
        .workspace = workspace,
        .provided = bytes};
    memcpy(to, answer, sizeof answer);
    *count = ANSWERS;
    return status;
}

static cudnnStatus_t find(cudnnHandle_t handle, const cudnnTensorDescriptor_t x_,
                          const cudnnFilterDescriptor_t w_,
                          const cudnnConvolutionDescriptor_t conv_,
                          const cudnnTensorDescriptor_t y_, const int most, int *count,
                          cudnnConvolutionFwdAlgoPerf_t *to)
{
    (void)handle, (void)x_, (void)w_, (void)conv_, (void)y_, (void)most;
    searches++;
    to[0] = answer[0];
    *count = 1;
    return status;
}

static cudnnStatus_t size_of(cudnnHandle_t handle, const cudnnTensorDescriptor_t x_,
                             const cudnnFilterDescriptor_t w_,
                             const cudnnConvolutionDescriptor_t conv_,
                             const cudnnTensorDescriptor_t y_, cudnnConvolutionFwdAlgo_t algorithm,
                             size_t *bytes)
{
    (void)handle, (void)x_, (void)w_, (void)conv_, (void)y_;
    if ((int)algorithm >= ANSWERS)
        return CUDNN_STATUS_BAD_PARAM;
    *bytes = required[algorithm];
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t math_of(cudnnConvolutionDescriptor_t descriptor, cudnnMathType_t *math)
{
    *math = CUDNN_FMA_MATH;
    return descriptor ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

static cudnnStatus_t stream_of(cudnnHandle_t handle, cudaStream_t *stream)
{
    *stream = NULL;
    return handle ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}

WRAPPED(size_t, cs_legacy_report_as, struct cs *cs, const struct cs_legacy_call *call, size_t bytes)
{
    CHECK(!cs);
    CHECK_INT(bytes, required[call->algorithm]);
    return reported[call->algorithm];
}

WRAPPED(bool, cs_legacy_try, struct cs *cs, const struct cs_legacy_call *call, int *status_p)
{
    CHECK(!cs);
    seen = *call;
    tries++;
    *status_p = 0;
    return tiled[call->algorithm];
}

WRAPPED(void, cs_legacy_report_results, struct cs *cs, const struct cs_legacy_call *call,
        const struct cs_legacy_results *results)
{
    corrected += !cs && call && *results->returned == 1;
}

static CUresult create(CUevent *event, unsigned flags)
{
    events++;
    *event = (CUevent)((uintptr_t)events + flags);
    return CUDA_SUCCESS;
}

static CUresult destroy(CUevent event)
{
    events -= event != NULL;
    return CUDA_SUCCESS;
}

static CUresult record(CUevent event, CUstream stream)
{
    return event && !stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult synchronize(CUevent event)
{
    return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult elapsed(float *milliseconds, CUevent begin, CUevent end)
{
    *milliseconds = time_now + (tries % 2 ? 100 : 0); /* the first run loads kernels */
    return begin != end ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult allocate(CUdeviceptr *address, size_t bytes)
{
    if (allocations + 1 == fails_at)
        return CUDA_ERROR_OUT_OF_MEMORY;
    taken[allocations++ % 8] = bytes;
    held++;
    *address = (CUdeviceptr)(0x1000 * allocations);
    return CUDA_SUCCESS;
}

static CUresult release(CUdeviceptr address)
{
    held -= address != 0;
    return CUDA_SUCCESS;
}

static struct cs_legacy_call start(void)
{
    struct cs_legacy_call call = sound(CS_FORWARD);
    vendor.cudnnFindConvolutionForwardAlgorithmEx = find_ex;
    vendor.cudnnFindConvolutionForwardAlgorithm = find;
    vendor.cudnnGetConvolutionForwardWorkspaceSize = size_of;
    vendor.cudnnGetConvolutionMathType = math_of;
    vendor.cudnnGetStream = stream_of;
    driver = (struct cs_driver){.cuEventCreate = create,
                                .cuEventDestroy_v2 = destroy,
                                .cuEventRecord = record,
                                .cuEventSynchronize = synchronize,
                                .cuEventElapsedTime = elapsed,
                                .cuMemAlloc_v2 = allocate,
                                .cuMemFree_v2 = release};
    for (int i = 0; i < ANSWERS; i++) {
        required[i] = reported[i] = (size_t)(i + 1) * 1000;
        answer[i] = (cs_legacy_result){.algo = (cudnnConvolutionFwdAlgo_t)i,
                                       .time = (float)(i + 1),
                                       .memory = required[i],
                                       .mathType = CUDNN_TENSOR_OP_MATH};
        tiled[i] = false;
    }
    status = CUDNN_STATUS_SUCCESS;
    tries = searches = corrected = allocations = held = fails_at = 0;
    time_now = 1.5F;
    call.execution = (struct cs_legacy_execution){.provided = 5000};
    return call;
}

static void a_tiled_algorithm_has_the_time_and_size_of_its_tiles(void)
{
    struct cs_legacy_call call = start();
    cs_legacy_result result[ANSWERS];
    int count = 0;
    const struct cs_legacy_results to = {ANSWERS, &count, result};
    reported[2] = 500;
    tiled[2] = true;
    CHECK_INT(cs_find_algorithm_ex(NULL, &call, &to), CUDNN_STATUS_SUCCESS);
    CHECK(count == 3 && tries == 2 && events == 0);
    CHECK(result[0].algo == 0 && result[0].time == 1.0F && result[0].memory == 1000);
    CHECK(result[1].algo == 2 && result[1].time == 1.5F && result[1].memory == 500);
    CHECK(result[2].algo == 1 && result[2].memory == 2000);
    CHECK_INT(seen.execution.provided, 500);
    CHECK_INT(seen.math, CUDNN_TENSOR_OP_MATH);
    /* As many as requested, and only what cuDNN answered if its search failed. */
    const struct cs_legacy_results one_result = {1, &count, result};
    CHECK_INT(cs_find_algorithm_ex(NULL, &call, &one_result), CUDNN_STATUS_SUCCESS);
    CHECK_INT(count, 1);
    status = CUDNN_STATUS_EXECUTION_FAILED;
    tries = 0;
    CHECK_INT(cs_find_algorithm_ex(NULL, &call, &to), CUDNN_STATUS_EXECUTION_FAILED);
    CHECK_INT(tries, 0);
}

/* cuDNN could not run it in the program's workspace; its tiles can. */
static void an_algorithm_without_room_is_tried_tiled(void)
{
    struct cs_legacy_call call = start();
    cs_legacy_result result[ANSWERS];
    int count = 0;
    const struct cs_legacy_results to = {ANSWERS, &count, result};
    answer[2].status = answer[1].status = answer[0].status = CUDNN_STATUS_ALLOC_FAILED;
    answer[2].time = answer[1].time = answer[0].time = -1;
    required[0] = 5000; /* it had room, so it failed for another reason */
    required[1] = required[2] = 5001;
    reported[0] = reported[1] = 4000;
    reported[2] = 5001;
    tiled[0] = tiled[1] = tiled[2] = true;
    CHECK_INT(cs_find_algorithm_ex(NULL, &call, &to), CUDNN_STATUS_SUCCESS);
    CHECK(result[0].algo == 1 && result[0].status == CUDNN_STATUS_SUCCESS);
    CHECK(result[0].time == 1.5F && result[0].memory == 4000);
    CHECK_INT(result[0].mathType, CUDNN_FMA_MATH);
    CHECK(result[1].status == CUDNN_STATUS_ALLOC_FAILED && tries == 2);
}

static void tensors_are_allocated_with_their_strides(void)
{
    struct cs_legacy_call call = start();
    cs_legacy_result result[ANSWERS];
    int count = 0;
    const struct cs_legacy_results to = {ANSWERS, &count, result};
    x.stride[0] = 1000; /* two images of 4 x 8 x 8, apart */
    reported[2] = 2500;
    CHECK_INT(cs_find_algorithm(NULL, &call, &to), CUDNN_STATUS_SUCCESS);
    CHECK(allocations == 4 && held == 0 && searches == 0);
    CHECK_INT(taken[CS_X], 2 * (1000 + 256));
    CHECK_INT(taken[CS_FILTER], 2 * 6 * 4 * 9);
    CHECK_INT(taken[CS_Y], 2 * 2 * 6 * 64);
    CHECK_INT(taken[3], 2500); /* the largest that is reported */
    CHECK_INT(seen.execution.provided, 2500);
    CHECK(seen.execution.data[CS_X] == (void *)0x1000 &&
          seen.execution.workspace == (void *)0x4000);
}

static void without_memory_or_tiles_cudnn_searches(void)
{
    struct cs_legacy_call call = start();
    cs_legacy_result result[ANSWERS];
    int count = 0;
    const struct cs_legacy_results to = {ANSWERS, &count, result};
    CHECK_INT(cs_find_algorithm(NULL, &call, &to), CUDNN_STATUS_SUCCESS);
    CHECK(searches == 1 && allocations == 0 && corrected == 0);
    for (int i = 1; i <= 4; i++) {
        call = start();
        reported[2] = 500;
        fails_at = i;
        CHECK_INT(cs_find_algorithm(NULL, &call, &to), CUDNN_STATUS_SUCCESS);
        CHECK(searches == 1 && held == 0 && corrected == 1);
    }
}

int main(void)
{
    TEST(a_tiled_algorithm_has_the_time_and_size_of_its_tiles);
    TEST(an_algorithm_without_room_is_tried_tiled);
    TEST(tensors_are_allocated_with_their_strides);
    TEST(without_memory_or_tiles_cudnn_searches);
    return REPORT();
}
