/* The launcher of tiles: the packs that it binds, the plans that it executes, the streams that it
 * uses. */
#include "cudnn/run/launcher.h"

#include "cudnn/plan/engine_choice.h"
#include "cudnn/plan/execution_plan.h"
#include "recorded_cudnn.h"
#include "sample_problem.h"

enum {
    WORKSPACE = 1000,
    ROOM = 1 << 20,
    STREAM = 7001, /* the application's */
    OURS
};

static _Alignas(256) char memory[ROOM];
static char handle[16];
static struct cs_engine_choice choice;

static struct {
    int calls, fails_at; /* of the device and the driver; 0: none fails */
    intptr_t stream;     /* of the handle */
    int executed;
    int modes; /* set for captures */
    bool mode_unknown;
    CUstreamCaptureMode mode;
    cudnnStatus_t stream_known;
} fake;

static bool fails(void)
{
    return ++fake.calls == fake.fails_at;
}

static struct {
    CUdeviceptr from, to;
    CUstream stream;
} copied;

static CUresult start_copy(const CUDA_MEMCPY3D *box, CUstream stream)
{
    copied.from = box->srcDevice;
    copied.to = box->dstDevice;
    copied.stream = stream;
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult current_context(CUcontext *to)
{
    *to = (CUcontext)(void *)handle;
    return CUDA_SUCCESS;
}

static CUresult exchange_mode(CUstreamCaptureMode *mode)
{
    if (fake.mode_unknown)
        return CUDA_ERROR_INVALID_VALUE;
    const CUstreamCaptureMode before = fake.mode;
    fake.mode = *mode;
    *mode = before;
    fake.modes++;
    return CUDA_SUCCESS;
}

static cudnnStatus_t get_stream(cudnnHandle_t of, cudaStream_t *stream)
{
    CHECK((void *)of == handle);
    *stream = (void *)fake.stream;
    return fake.stream_known;
}

static cudnnStatus_t set_stream(cudnnHandle_t of, cudaStream_t stream)
{
    CHECK((void *)of == handle);
    if (fails())
        return CUDNN_STATUS_INTERNAL_ERROR;
    fake.stream = (intptr_t)stream;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t execute(cudnnHandle_t of, cudnnBackendDescriptor_t execution_plan,
                             cudnnBackendDescriptor_t pack)
{
    const struct recorded *tile = recorded_at(execution_plan), *addresses = recorded_at(pack);
    CHECK((void *)of == handle && tile->finalized && addresses->finalized);
    fake.executed++;
    return fails() ? CUDNN_STATUS_EXECUTION_FAILED : CUDNN_STATUS_SUCCESS;
}

static void start(void)
{
    static const int64_t uid[CS_MAX_TENSORS] = {'x', 'w', 'y'};
    const struct cs_problem problem = rows(CS_FORWARD, 1);
    recorded_start();
    memset(&fake, 0, sizeof fake);
    fake.stream = STREAM;
    cudnn.own.workspace = WORKSPACE;
    vendor.cudnnBackendExecute = execute;
    vendor.cudnnGetStream = get_stream;
    vendor.cudnnSetStream = set_stream;
    driver = (struct cs_driver){.cuCtxGetCurrent = current_context,
                                .cuMemcpy3DAsync_v2 = start_copy,
                                .cuThreadExchangeStreamCaptureMode = exchange_mode};
    cs_engine_choice_init(&choice, &problem, uid, (cudnnHandle_t)(void *)handle,
                          (struct cs_handle_id){1, 0});
}

static struct cs_rewrite rewrite;
static struct cs_launcher launcher;

static struct cs_gpu gpu_of(void)
{
    struct cs_vendor plans = cs_execution_plan_vendor(&choice);
    int64_t bytes;
    rewrite = (struct cs_rewrite){.destroy = plans.destroy};
    CHECK_INT(
        plans.build(plans.ctx, &choice.problem, CS_SAME_KNOBS, &rewrite.execution_plan[0], &bytes),
        CS_OK);
    CHECK_INT(plans.fallback(plans.ctx, 2000, &rewrite.fallback, &bytes), CS_OK);
    launcher = (struct cs_launcher){.handle = choice.target.handle,
                                    .rewrite = &rewrite,
                                    .problem = &choice.problem,
                                    .uid = choice.target.uid,
                                    .provided = bytes};
    void *stream = NULL;
    struct cs_gpu gpu = cs_launcher_gpu(&launcher, &stream);
    CHECK_INT((intptr_t)stream, STREAM);
    return gpu;
}

static void drop_plans(void)
{
    rewrite.destroy(rewrite.execution_plan[0]);
    rewrite.destroy(rewrite.fallback);
    CHECK_INT(cudnn.alive, 0);
}

static void a_pack_names_all_but_virtual_tensors(void)
{
    start();
    choice.problem.tensor[CS_FILTER].is_virtual = true;
    const struct cs_addresses addresses = {.tensor = {memory + 256, NULL, memory + 512},
                                           .workspace = memory + 1024};
    cudnnBackendDescriptor_t pack = NULL;
    launcher = (struct cs_launcher){.problem = &choice.problem, .uid = choice.target.uid};
    CHECK_INT(cs_launcher_pack(&launcher, &addresses, &pack), CUDNN_STATUS_SUCCESS);
    const struct recorded *made = pack;
    CHECK(made && made->finalized && made->type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    CHECK_SET(made, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
              (int64_t)(intptr_t)(memory + 256), (int64_t)(intptr_t)(memory + 512));
    CHECK_SET(made, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 'x', 'y');
    CHECK_SET(made, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
              (int64_t)(intptr_t)(memory + 1024));
    CHECK_INT(cudnn.alive, 1);
    int calls = cudnn.calls;
    for (int at = 1; at <= calls; at++) {
        start();
        cudnn.fails_at = at;
        cudnn.failure = CUDNN_STATUS_ALLOC_FAILED;
        CHECK_INT(cs_launcher_pack(&launcher, &addresses, &pack), CUDNN_STATUS_ALLOC_FAILED);
        CHECK_INT(cudnn.alive, 0);
    }
}

static void tiles_and_fallback_are_launched(void)
{
    for (int own_pack = 0; own_pack <= 1; own_pack++) {
        void *launch = NULL;
        struct cs_addresses addresses = {.workspace = memory};
        start();
        struct cs_gpu gpu = gpu_of();
        CHECK_INT(cudnn.alive, 2);
        CHECK_INT(gpu.bind(gpu.ctx, 0, &addresses, &launch), 0);
        CHECK_INT(cudnn.alive, 3);
        CHECK_INT(gpu.launch(gpu.ctx, 0, launch), 0);
        CHECK_INT(fake.executed, 1);
        if (own_pack)
            launcher.pack = launch;
        CHECK_INT(gpu.fallback(gpu.ctx), 0);
        CHECK_INT(fake.executed, 2);
        CHECK_INT(cudnn.alive, 3);
        CHECK_INT(made_of(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR), own_pack ? 1 : 2);
        fake.fails_at = fake.calls + 1;
        CHECK_INT(gpu.fallback(gpu.ctx), CUDNN_STATUS_EXECUTION_FAILED);
        CHECK_INT(cudnn.alive, 3);
        fake.fails_at = fake.calls + 1;
        CHECK_INT(gpu.launch(gpu.ctx, 0, launch), CUDNN_STATUS_EXECUTION_FAILED);
        if (!own_pack) {
            cudnn.fails_at = cudnn.calls + 1;
            cudnn.failure = CUDNN_STATUS_ALLOC_FAILED;
            int executed = fake.executed;
            CHECK_INT(gpu.fallback(gpu.ctx), CUDNN_STATUS_ALLOC_FAILED);
            cudnn.fails_at = cudnn.calls + 1;
            void *none = NULL;
            CHECK_INT(gpu.bind(gpu.ctx, 0, &addresses, &none), CUDNN_STATUS_ALLOC_FAILED);
            CHECK(none == NULL);
            CHECK_INT(fake.executed, executed);
        }
        fake.executed = 0;
        launcher.provided--;
        CHECK_INT(gpu.fallback(gpu.ctx), CUDNN_STATUS_BAD_PARAM);
        CHECK_INT(fake.executed, 0);
        gpu.release(gpu.ctx, launch);
        CHECK_INT(cudnn.alive, 2);
        drop_plans();
    }
}

/* An unfinalized plan is finalized in relaxed mode, so that captures of other threads stay valid.
 */
static void a_plan_is_made_ready_in_relaxed_mode(void)
{
    start();
    cudnn.tells_workspace = true;
    gpu_of();
    CHECK(!cs_execution_plan_is_ready(rewrite.execution_plan[0]));
    CHECK_INT(cs_launcher_prepare(&launcher, 0), CUDNN_STATUS_SUCCESS);
    CHECK(cs_execution_plan_is_ready(rewrite.execution_plan[0]));
    CHECK_INT(fake.modes, 2);
    CHECK_INT(fake.mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CHECK_INT(cs_launcher_prepare(&launcher, 0), CUDNN_STATUS_SUCCESS);
    CHECK_INT(fake.modes, 2);
    drop_plans();
    start();
    cudnn.tells_workspace = true;
    const struct cs_addresses addresses = {.workspace = memory};
    void *launch = NULL;
    struct cs_gpu gpu = gpu_of();
    cudnn.own.plan = CUDNN_STATUS_NOT_SUPPORTED;
    fake.mode_unknown = true; /* nothing is set back */
    CHECK_INT(gpu.bind(gpu.ctx, 0, &addresses, &launch), CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_INT(cs_launcher_prepare(&launcher, 0), CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_INT(fake.modes + fake.executed, 0);
    drop_plans();
}

static void launches_use_the_chosen_stream(void)
{
    start();
    struct cs_gpu gpu = gpu_of();
    CHECK(gpu.choose && gpu.copy && !gpu.only_records);
    const struct cs_copy copy = {.width = 4, .height = 1, .depth = 1, .times = 1};
    CHECK_INT(gpu.copy(gpu.ctx, &copy, memory, memory + 1, true), CUDNN_STATUS_EXECUTION_FAILED);
    CHECK(copied.from == (uintptr_t)memory && copied.to == (uintptr_t)memory + 1);
    CHECK_INT((intptr_t)copied.stream, STREAM);
    CHECK_INT(gpu.choose(gpu.ctx, (void *)(intptr_t)OURS), 0);
    CHECK_INT(fake.stream, OURS);
    gpu.copy(gpu.ctx, &copy, memory, memory + 1, false);
    CHECK(copied.from == (uintptr_t)memory + 1 && copied.to == (uintptr_t)memory);
    CHECK_INT((intptr_t)copied.stream, OURS);
    fake.fails_at = fake.calls + 1;
    CHECK_INT(gpu.choose(gpu.ctx, (void *)(intptr_t)STREAM), CUDNN_STATUS_INTERNAL_ERROR);
    gpu.copy(gpu.ctx, &copy, memory, memory + 1, false);
    CHECK_INT((intptr_t)copied.stream, OURS);
    drop_plans();
    start();
    fake.stream_known = CUDNN_STATUS_NOT_SUPPORTED;
    gpu = gpu_of();
    CHECK(!gpu.choose && !gpu.copy);
    drop_plans();
}

int main(void)
{
    TEST(a_pack_names_all_but_virtual_tensors);
    TEST(tiles_and_fallback_are_launched);
    TEST(a_plan_is_made_ready_in_relaxed_mode);
    TEST(launches_use_the_chosen_stream);
    return REPORT();
}
