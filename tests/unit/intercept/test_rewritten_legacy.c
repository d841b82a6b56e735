/* Legacy calls through the exported functions, on a recorded cuDNN: sizes that queries report,
 * executions, and searches that time every algorithm. */
#include "intercept/entry/entry.h"

#include "cudnn/plan/execution_plan.h"
#include "entry_fixture.h"
#include "legacy_fixture.h"
#include "recorded_sizes.h"

/* The algorithm that requires WHOLE. */
#define LARGE CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM

/* Unused addresses, far apart. */
#define PLACE(i) ((void *)((uintptr_t)(i) << 30))

static cudnnHandle_t handle = (cudnnHandle_t)PLACE(9);
static int executed, untiled_calls, calls, fails_at, blocks, allocations, elapsed, asked;
static size_t provided_now;

#define THEM                                                                                       \
    (cudnnTensorDescriptor_t)(void *) & x, (cudnnFilterDescriptor_t)(void *)&w,                    \
        (cudnnConvolutionDescriptor_t)(void *)&conv, (cudnnTensorDescriptor_t)(void *)&y

static cudnnStatus_t execute(cudnnHandle_t of, cudnnBackendDescriptor_t plan,
                             cudnnBackendDescriptor_t pack)
{
    CHECK(of == handle && recorded_at(pack)->finalized && !is_untiled(recorded_at(plan)));
    executed++;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t size_now(cudnnHandle_t of, const cudnnTensorDescriptor_t x_of,
                              const cudnnFilterDescriptor_t w_of,
                              const cudnnConvolutionDescriptor_t conv_of,
                              const cudnnTensorDescriptor_t y_of,
                              cudnnConvolutionFwdAlgo_t algorithm, size_t *bytes)
{
    (void)of, (void)x_of, (void)w_of, (void)conv_of, (void)y_of;
    *bytes = algorithm == LARGE ? WHOLE : 0;
    return algorithm <= LARGE ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

static cudnnStatus_t forward(cudnnHandle_t of, const void *alpha,
                             const cudnnTensorDescriptor_t x_of, const void *x_data,
                             const cudnnFilterDescriptor_t w_of, const void *w_data,
                             const cudnnConvolutionDescriptor_t conv_of,
                             cudnnConvolutionFwdAlgo_t algorithm, void *workspace, size_t bytes,
                             const void *beta, const cudnnTensorDescriptor_t y_of, void *y_data)
{
    (void)of, (void)alpha, (void)x_of, (void)x_data, (void)w_of, (void)w_data, (void)conv_of;
    (void)workspace, (void)beta, (void)y_of, (void)y_data;
    if (algorithm == LARGE && bytes < WHOLE)
        return CUDNN_STATUS_BAD_PARAM;
    untiled_calls++;
    return CUDNN_STATUS_SUCCESS;
}

/* Two results: the large algorithm is the faster one. */
static cudnnStatus_t results(int requested, int *returned, cudnnConvolutionFwdAlgoPerf_t *result)
{
    asked = requested;
    *returned = requested < 2 ? requested : 2;
    for (int i = 0; i < *returned; i++)
        result[i] =
            (cudnnConvolutionFwdAlgoPerf_t){.algo = i == 0 ? LARGE : (cudnnConvolutionFwdAlgo_t)0,
                                            .status = CUDNN_STATUS_SUCCESS,
                                            .time = (float)(i + 1),
                                            .memory = i == 0 ? WHOLE : 0};
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t get_results(cudnnHandle_t of, const cudnnTensorDescriptor_t x_of,
                                 const cudnnFilterDescriptor_t w_of,
                                 const cudnnConvolutionDescriptor_t conv_of,
                                 const cudnnTensorDescriptor_t y_of, const int requested,
                                 int *returned, cudnnConvolutionFwdAlgoPerf_t *result)
{
    (void)of, (void)x_of, (void)w_of, (void)conv_of, (void)y_of;
    return results(requested, returned, result);
}

static cudnnStatus_t find_ex(cudnnHandle_t of, const cudnnTensorDescriptor_t x_of,
                             const void *x_data, const cudnnFilterDescriptor_t w_of,
                             const void *w_data, const cudnnConvolutionDescriptor_t conv_of,
                             const cudnnTensorDescriptor_t y_of, void *y_data, const int requested,
                             int *returned, cudnnConvolutionFwdAlgoPerf_t *result, void *workspace,
                             size_t bytes)
{
    (void)of, (void)x_of, (void)w_of, (void)conv_of, (void)y_of;
    CHECK(x_data && w_data && y_data && (workspace || bytes == 0));
    provided_now = bytes;
    (void)results(requested, returned, result);
    if (bytes < WHOLE) /* cuDNN cannot run it in that */
        result[0] = (cudnnConvolutionFwdAlgoPerf_t){
            .algo = LARGE, .status = CUDNN_STATUS_ALLOC_FAILED, .time = -1, .memory = WHOLE};
    return CUDNN_STATUS_SUCCESS;
}

static CUresult driver_call(void)
{
    return ++calls == fails_at ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult allocate(CUdeviceptr *address, size_t bytes)
{
    CUresult error = driver_call();
    CHECK(bytes > 0);
    if (error == CUDA_SUCCESS) {
        *address = (CUdeviceptr)PLACE(20 + ++allocations % 10);
        blocks++;
    }
    return error;
}

static CUresult release(CUdeviceptr address)
{
    CHECK(address != 0);
    blocks--;
    return CUDA_SUCCESS;
}

static CUresult make_event(CUevent *event, unsigned flags)
{
    CUresult error = driver_call();
    (void)flags;
    if (error == CUDA_SUCCESS) {
        *event = (CUevent)PLACE(40);
        blocks++;
    }
    return error;
}

static CUresult drop_event(CUevent event)
{
    blocks--;
    return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult record_event(CUevent event, CUstream stream)
{
    (void)event, (void)stream;
    return driver_call();
}

static CUresult wait_event(CUevent event)
{
    (void)event;
    return driver_call();
}

static CUresult time_between(float *ms, CUevent begin, CUevent end)
{
    (void)begin, (void)end;
    elapsed++;
    *ms = 7;
    return driver_call();
}

static cudnnStatus_t get_stream(cudnnHandle_t of, cudaStream_t *stream)
{
    CHECK(of == handle);
    *stream = NULL;
    return CUDNN_STATUS_SUCCESS;
}

static void start(void)
{
    static int turn;
    (void)sound(CS_FORWARD);
    const struct cs_real legacy = vendor;
    recorded_start();
    const struct cs_real backend = vendor;
    vendor = legacy;
    vendor.cudnnBackendCreateDescriptor = backend.cudnnBackendCreateDescriptor;
    vendor.cudnnBackendDestroyDescriptor = backend.cudnnBackendDestroyDescriptor;
    vendor.cudnnBackendSetAttribute = backend.cudnnBackendSetAttribute;
    vendor.cudnnBackendFinalize = backend.cudnnBackendFinalize;
    vendor.cudnnBackendGetAttribute = backend.cudnnBackendGetAttribute;
    vendor.cudnnBackendExecute = execute;
    vendor.cudnnConvolutionForward = forward;
    vendor.cudnnGetConvolutionForwardWorkspaceSize = size_now;
    vendor.cudnnGetConvolutionForwardAlgorithm_v7 = get_results;
    vendor.cudnnFindConvolutionForwardAlgorithm = get_results;
    vendor.cudnnFindConvolutionForwardAlgorithmEx = find_ex;
    vendor.cudnnGetStream = get_stream;
    driver = (struct cs_driver){.cuMemAlloc_v2 = allocate,
                                .cuMemFree_v2 = release,
                                .cuEventCreate = make_event,
                                .cuEventDestroy_v2 = drop_event,
                                .cuEventRecord = record_event,
                                .cuEventSynchronize = wait_event,
                                .cuEventElapsedTime = time_between};
    know_gpu(handle);
    /* Another convolution each time, because decisions are remembered. */
    x = packed(N, 8 + turn, EXTENT, EXTENT);
    y = packed(N, 16, EXTENT, EXTENT);
    w = (struct filter){CUDNN_DATA_HALF, CUDNN_TENSOR_NCHW, 4, {16, 8 + turn++, 3, 3}};
    cudnn.sized = sized;
    cudnn.own = (struct offer){.engine.index = 34};
    cudnn.offer[0][cudnn.offers[0]++] = (struct offer){.engine.index = 34, .workspace = WHOLE};
    cudnn.offer[2][cudnn.offers[2]++] = (struct offer){.workspace = 0}; /* engine 0 */
    executed = untiled_calls = calls = fails_at = blocks = elapsed = asked = 0;
    counted_start();
}

/* The objects that a handle keeps are destroyed with it. */
static void finish(void)
{
    vendor.cudnnDestroy = NULL;
    (void)cudnnDestroy(handle);
    CHECK_INT(cudnn.alive, 0);
    CHECK_INT(blocks, 0);
}

static size_t reported(cudnnConvolutionFwdAlgo_t algorithm)
{
    size_t bytes = 1;
    CHECK_INT(cudnnGetConvolutionForwardWorkspaceSize(handle, THEM, algorithm, &bytes),
              CUDNN_STATUS_SUCCESS);
    return bytes;
}

static cudnnStatus_t run_with(const void *alpha, void *x_data, void *y_data, void *workspace,
                              size_t bytes)
{
    return cudnnConvolutionForward(handle, alpha, (cudnnTensorDescriptor_t)(void *)&x, x_data,
                                   (cudnnFilterDescriptor_t)(void *)&w, PLACE(2),
                                   (cudnnConvolutionDescriptor_t)(void *)&conv, LARGE, workspace,
                                   bytes, &zero, (cudnnTensorDescriptor_t)(void *)&y, y_data);
}

static cudnnStatus_t run(void *y_data, size_t bytes)
{
    return run_with(&one, PLACE(1), y_data, PLACE(4), bytes);
}

static void size_of_the_tiles_is_reported_and_is_enough(void)
{
    start();
    CHECK_INT(reported(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM), 0);
    CHECK_INT(reported(LARGE), WHOLE / TILES);
    check_counted(0, 0);
    CHECK_INT(run(PLACE(3), WHOLE / TILES), CUDNN_STATUS_SUCCESS);
    check_watched(1);
    check_counted(1, 1);
    CHECK_INT(executed, TILES);
    CHECK_INT(untiled_calls, 0);
    finish();
}

/* The size is that of another process. cuDNN refuses the call at first. */
static void reported_size_is_enough_without_a_query(void)
{
    start();
    CHECK_INT(run(PLACE(3), WHOLE / TILES), CUDNN_STATUS_SUCCESS);
    check_counted(1, 1);
    CHECK_INT(executed, TILES);
    CHECK_INT(untiled_calls, 0);
    finish();
}

/* cuDNN alone refuses a byte less, too. */
static void call_with_less_is_refused_or_runs_in_it(void)
{
    start();
    CHECK_INT(reported(LARGE), WHOLE / TILES);
    const cudnnStatus_t status = run(PLACE(3), WHOLE / TILES - 1);
    CHECK(status == CUDNN_STATUS_SUCCESS ? executed > 0 : executed == 0);
    CHECK_INT(untiled_calls, 0);
    finish();
}

/* A number of bytes without an address is no workspace. */
static void call_without_a_workspace_runs_on_the_plain_engine(void)
{
    start();
    CHECK_INT(reported(LARGE), WHOLE / TILES);
    CHECK_INT(run_with(&one, PLACE(1), PLACE(3), NULL, WHOLE / TILES), CUDNN_STATUS_SUCCESS);
    CHECK_INT(executed, 1);
    CHECK_INT(untiled_calls, 0);
    finish();
}

static void incomplete_calls_reach_cudnn(void)
{
    const size_t bytes = WHOLE / TILES;
    start();
    CHECK_INT(reported(LARGE), WHOLE / TILES);
    CHECK_INT(run_with(NULL, PLACE(1), PLACE(3), PLACE(4), bytes), CUDNN_STATUS_BAD_PARAM);
    CHECK_INT(run_with(&one, NULL, PLACE(3), PLACE(4), bytes), CUDNN_STATUS_BAD_PARAM);
    CHECK_INT(run_with(&one, PLACE(1), NULL, PLACE(4), bytes), CUDNN_STATUS_BAD_PARAM);
    CHECK_INT(executed, 0);
    check_counted(3, 0);
    finish();
}

static void whole_workspace_runs_the_whole(void)
{
    start();
    CHECK_INT(reported(LARGE), WHOLE / TILES);
    CHECK_INT(run(PLACE(3), WHOLE), CUDNN_STATUS_SUCCESS);
    check_watched(1);
    check_counted(1, 0);
    CHECK_INT(executed, 0);
    CHECK_INT(untiled_calls, 1);
    finish();
}

static void output_over_an_input_runs_on_the_plain_engine(void)
{
    start();
    CHECK_INT(reported(LARGE), WHOLE / TILES);
    CHECK_INT(run(PLACE(1), WHOLE / TILES), CUDNN_STATUS_SUCCESS);
    check_counted(1, 0);
    CHECK_INT(executed, 1);
    CHECK_INT(untiled_calls, 0);
    finish();
}

static void results_of_a_query_have_reported_sizes(void)
{
    cudnnConvolutionFwdAlgoPerf_t result[4];
    int returned = -1;
    start();
    CHECK_INT(cudnnGetConvolutionForwardAlgorithm_v7(handle, THEM, 4, &returned, result),
              CUDNN_STATUS_SUCCESS);
    CHECK_INT(returned, 2);
    CHECK_INT(result[0].memory, WHOLE / TILES);
    CHECK_INT(result[1].memory, 0);
    CHECK_INT(asked, 4);
    finish();
}

/* The large algorithm takes 7 ms in tiles, so it comes behind the other one, which takes 2. */
static void search_times_tiles_in_the_reported_size(void)
{
    cudnnConvolutionFwdAlgoPerf_t result[4] = {{.memory = 1}};
    int returned = -1;
    start();
    CHECK_INT(cudnnFindConvolutionForwardAlgorithm(handle, THEM, 4, &returned, result),
              CUDNN_STATUS_SUCCESS);
    CHECK_INT(returned, 2);
    CHECK_INT(result[0].algo, 0);
    CHECK_INT(result[1].algo, LARGE);
    CHECK_INT(result[1].status, CUDNN_STATUS_SUCCESS);
    CHECK_INT(result[1].memory, WHOLE / TILES);
    CHECK(result[1].time == 7);
    CHECK_INT(provided_now, WHOLE / TILES);
    CHECK_INT(executed, 2 * TILES);
    CHECK_INT(cudnnFindConvolutionForwardAlgorithm(handle, THEM, 1, &returned, result),
              CUDNN_STATUS_SUCCESS);
    CHECK_INT(returned, 1);
    CHECK_INT(result[0].algo, 0);
    CHECK_INT(cudnnFindConvolutionForwardAlgorithmEx(
                  handle, (cudnnTensorDescriptor_t)(void *)&x, PLACE(1),
                  (cudnnFilterDescriptor_t)(void *)&w, PLACE(2),
                  (cudnnConvolutionDescriptor_t)(void *)&conv, (cudnnTensorDescriptor_t)(void *)&y,
                  PLACE(3), 4, &returned, result, PLACE(4), WHOLE / TILES - 1),
              CUDNN_STATUS_SUCCESS);
    CHECK_INT(result[0].algo, 0);
    CHECK_INT(result[1].status, CUDNN_STATUS_ALLOC_FAILED); /* a byte too little for tiles */
    check_counted(0, 0);                                    /* no call of the program */
    finish();
}

/* Without memory for the search, cuDNN's own runs. */
static void failed_search_leaves_no_memory(void)
{
    for (int at = 1; at < 20; at++) {
        cudnnConvolutionFwdAlgoPerf_t result[4];
        int returned = -1;
        CASE("driver call %d fails", at);
        start();
        fails_at = at;
        CHECK_INT(cudnnFindConvolutionForwardAlgorithm(handle, THEM, 4, &returned, result),
                  CUDNN_STATUS_SUCCESS);
        CHECK_INT(returned, 2);
        for (int i = 0; i < 2; i++)
            CHECK(result[i].status != CUDNN_STATUS_SUCCESS || result[i].memory < WHOLE);
        finish();
    }
}

int main(void)
{
    set_sized_options();
    setenv("CONVSHIM_CONFIGFILE", "/dev/null", 1);
    TEST(size_of_the_tiles_is_reported_and_is_enough);
    TEST(reported_size_is_enough_without_a_query);
    TEST(call_with_less_is_refused_or_runs_in_it);
    TEST(call_without_a_workspace_runs_on_the_plain_engine);
    TEST(incomplete_calls_reach_cudnn);
    TEST(whole_workspace_runs_the_whole);
    TEST(output_over_an_input_runs_on_the_plain_engine);
    TEST(results_of_a_query_have_reported_sizes);
    TEST(search_times_tiles_in_the_reported_size);
    TEST(failed_search_leaves_no_memory);
    return REPORT();
}
