/* One convolution on the GPU of `convshim verify`: its memory is the test's, and its cuDNN is the
 * recorded one. */
#include "cudnn/standalone/trial.h"

#include "cudnn/standalone/open_gpu.h"
#include "cudnn/standalone/standalone.h"
#include "recorded_cudnn.h"
#include "sample_problem.h"
#include <dlfcn.h>

static int allocations, held, fails_at, events, calls, changes_at; /* this call's result differs */
static size_t space = 1 << 30;
static float milliseconds[64]; /* by timed call */
static struct cs_problem problem;
static bool reads_result; /* beta is not 0 */

#define HANDLE ((cudnnHandle_t)(void *)&problem)

static CUresult allocate(CUdeviceptr *memory, size_t bytes)
{
    if (++allocations == fails_at)
        return CUDA_ERROR_OUT_OF_MEMORY;
    held++;
    space -= bytes;
    *memory = (CUdeviceptr)(uintptr_t)malloc(bytes);
    return CUDA_SUCCESS;
}

static CUresult release(CUdeviceptr memory)
{
    held--;
    free((void *)(uintptr_t)memory);
    return CUDA_SUCCESS;
}

static CUresult memory_info(size_t *available, size_t *total)
{
    *available = space;
    *total = 1 << 30;
    return CUDA_SUCCESS;
}

static CUresult to_device(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    CHECK(!stream);
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}

static CUresult on_device(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return to_device(to, (const void *)(uintptr_t)from, bytes, stream);
}

static CUresult to_host(void *to, CUdeviceptr from, size_t bytes)
{
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

static CUresult set_bytes(CUdeviceptr to, unsigned char byte, size_t bytes, CUstream stream)
{
    CHECK(!stream);
    memset((void *)(uintptr_t)to, byte, bytes);
    return CUDA_SUCCESS;
}

static CUresult synchronize(CUstream stream)
{
    return stream ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

static CUresult create(CUevent *event, unsigned flags)
{
    *event = (CUevent)((uintptr_t)++events + flags);
    return CUDA_SUCCESS;
}

static CUresult destroy(CUevent event)
{
    events -= event != NULL;
    return CUDA_SUCCESS;
}

static CUresult record(CUevent event, CUstream stream)
{
    return event && !stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult elapsed(float *time, CUevent begin, CUevent end)
{
    CHECK_INT((uintptr_t)end - (uintptr_t)begin, 1);
    *time = milliseconds[(uintptr_t)begin - 1];
    return CUDA_SUCCESS;
}

/* Every call finds the result as the trial must leave it before: NaNs, or the first numbers. */
static cudnnStatus_t execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                             cudnnBackendDescriptor_t pack)
{
    static unsigned char first[2];
    const int64_t *pointer =
        attribute_of(recorded_at(pack), CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)->value;
    unsigned char *result = (unsigned char *)(uintptr_t)pointer[CS_Y];
    CHECK(handle == HANDLE && recorded_at(plan)->finalized);
    if (calls == 0)
        memcpy(first, result, sizeof first);
    if (calls == 0 || calls >= 9) { /* of which the result is read */
        CHECK_INT(result[0] == 0xff && result[1] == 0xff, !reads_result);
        CHECK_INT(memcmp(result, first, sizeof first), 0);
    }
    result[0] = (unsigned char)(calls == changes_at);
    calls++;
    return CUDNN_STATUS_SUCCESS;
}

static struct cs_trial_result run(int64_t memory, float beta)
{
    const struct cs_trial_settings settings = {
        .iterations = 5, .repeats = 4, .seconds = 100, .memory = memory};
    struct cs_trial_result result;
    problem.beta = (double)beta;
    reads_result = beta != 0;
    allocations = held = events = calls = 0;
    space = 1 << 30;
    cs_trial_run(&problem, &settings, &result);
    CHECK(held == 0 && events == 0);
    CHECK_INT(cudnn.alive, 0);
    return result;
}

static void start(void)
{
    recorded_start();
    vendor.cudnnBackendExecute = execute;
    problem = rows(CS_FORWARD, 1);
    cs_trial_session = (struct cs_trial_session){.calls = {.cuMemAlloc_v2 = allocate,
                                                           .cuMemFree_v2 = release,
                                                           .cuMemGetInfo_v2 = memory_info,
                                                           .cuMemcpyHtoDAsync_v2 = to_device,
                                                           .cuMemcpyDtoDAsync_v2 = on_device,
                                                           .cuMemcpyDtoH_v2 = to_host,
                                                           .cuMemsetD8Async = set_bytes,
                                                           .cuStreamSynchronize = synchronize,
                                                           .cuEventCreate = create,
                                                           .cuEventDestroy_v2 = destroy,
                                                           .cuEventRecord = record,
                                                           .cuEventElapsedTime = elapsed},
                                                 .handle = HANDLE,
                                                 .simulated = true};
    cudnn.offer[0][0] =
        (struct offer){.engine.index = 34, .workspace = 100, .plan = CUDNN_STATUS_NOT_SUPPORTED};
    cudnn.offer[0][1] = (struct offer){.engine.index = 35, .workspace = 4096};
    cudnn.offers[0] = 2;
    fails_at = 0;
    changes_at = -1;
    for (int i = 0; i < 64; i++)
        milliseconds[i] = (float)((i * 3 + 1) % 5 + 1); /* 2, 5, 3, 1, 4 */
}

static void the_first_engine_that_plans_is_measured(void)
{
    for (int beta = 0; beta < 2; beta++) {
        start();
        struct cs_trial_result result = run(1 << 30, (float)beta);
        CHECK_STR(result.error, "");
        CHECK(result.status == CS_TRIAL_OK && result.engine == 35 && result.workspace == 4096);
        CHECK_INT(calls, 1 + 3 + 5 + 4); /* checked, warm, timed, repeated */
        CHECK(result.calls == 5 && result.differing == 0);
        CHECK(result.median_us == 3000 && result.p10_us == 1000 && result.p90_us == 5000);
        CHECK(result.checksum == result.repeated && result.checksum != 0);
        CHECK_INT(result.device_peak, (1 << 30) - (int64_t)space);
    }
}

static void results_that_differ_are_counted(void)
{
    start();
    uint64_t same = run(1 << 30, 0).checksum;
    changes_at = 10;
    struct cs_trial_result result = run(1 << 30, 0);
    CHECK(result.differing == 1 && result.checksum == same && result.repeated == same);
    changes_at = 12;
    result = run(1 << 30, 0);
    CHECK(result.differing == 1 && result.repeated != same);
}

static void problems_that_do_not_fit_are_not_run(void)
{
    int64_t bytes = 0, span;
    start();
    for (int i = 0; i < CS_OPERANDS; i++) {
        CHECK_INT(cs_problem_tensor_span(&problem.tensor[i], &span), CS_OK);
        bytes += span;
    }
    struct cs_trial_result result = run(bytes - 1, 0);
    CHECK(result.status == CS_TRIAL_TOO_LARGE && allocations == 0);
    CHECK_STR(result.error, "its tensors exceed --memory");
    result = run(bytes + 4095, 0);
    CHECK(result.status == CS_TRIAL_TOO_LARGE && calls == 0);
    CHECK_STR(result.error, "its tensors and its workspace exceed --memory");
    CHECK_INT(run(bytes + 4096, 0).status, CS_TRIAL_OK);
    for (fails_at = 1; fails_at <= 4; fails_at++) {
        result = run(1 << 30, 0);
        CHECK(result.status == CS_TRIAL_OUT_OF_MEMORY && calls == 0);
        CHECK_STR(result.error, "cuMemAlloc_v2: out of memory (CUDA error 2)");
    }
    fails_at = 0;
    cudnn.offers[0] = 1;
    CHECK_INT(run(1 << 30, 0).status, CS_TRIAL_REFUSED);
    CHECK_STR(cs_trial_status_name(CS_TRIAL_REFUSED), "refused");
}

/* --- the handle --- */

static cudnnStatus_t made;
static int driver_version;

static cudnnStatus_t create_handle(cudnnHandle_t *handle)
{
    *handle = HANDLE;
    return made;
}

static size_t cudart_version(void)
{
    return 13010;
}

static CUresult get_driver(int *version)
{
    *version = driver_version;
    return CUDA_SUCCESS;
}

static CUresult create_stream(CUstream *stream, unsigned flags)
{
    *stream = NULL;
    return flags == CU_STREAM_NON_BLOCKING ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static cudnnStatus_t set_stream(cudnnHandle_t handle, cudaStream_t stream)
{
    return handle != HANDLE || stream ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}

WRAPPED(size_t, cs_standalone_version, void)
{
    return 91900;
}

WRAPPED(const char *, cs_standalone_file, void)
{
    return "libcudnn.so.9";
}

WRAPPED(void *, dlopen, const char *file, int flags)
{
    CHECK(flags & RTLD_NOLOAD);
    return strcmp(file, "libcudnn.so.9") == 0 ? &made : NULL;
}

WRAPPED(void *, dlsym, void *library, const char *name)
{
    CHECK(library == &made);
    return strcmp(name, "cudnnCreate") == 0             ? (void *)(uintptr_t)create_handle
           : strcmp(name, "cudnnGetCudartVersion") == 0 ? (void *)(uintptr_t)cudart_version
                                                        : NULL;
}

WRAPPED(int, dlclose, void *library)
{
    return library != &made;
}

static void a_driver_that_is_too_old_is_named(void)
{
    char error[300];
    start();
    cs_trial_session.calls.cuDriverGetVersion = get_driver;
    cs_trial_session.calls.cuStreamCreate = create_stream;
    vendor.cudnnSetStream = set_stream;
    made = CUDNN_STATUS_SUCCESS;
    CHECK(cs_trial_open(error, sizeof error));
    made = CUDNN_STATUS_NOT_INITIALIZED;
    driver_version = 12080;
    CHECK(!cs_trial_open(error, sizeof error));
    CHECK(strstr(error, "driver supports CUDA 12.8, but this cuDNN 91900 needs CUDA 13.") != NULL);
    driver_version = 13000;
    CHECK(!cs_trial_open(error, sizeof error));
    CHECK_STR(error, "cudnnCreate: cuDNN returned status 1001");
}

int main(void)
{
    TEST(the_first_engine_that_plans_is_measured);
    TEST(results_that_differ_are_counted);
    TEST(problems_that_do_not_fit_are_not_run);
    TEST(a_driver_that_is_too_old_is_named);
    return REPORT();
}
