/* The time of a plan's tiles: each shape runs four times in its own scratch, and the median of the
 * last three counts. No failure leaves an object. Also the launcher of tiles. */
#include "cudnn/run/timing.h"

#include "base/hash.h"
#include "cudnn/plan/engine_choice.h"
#include "cudnn/plan/execution_plan.h"
#include "cudnn/run/launcher.h"
#include "recorded_cudnn.h"
#include "sample_problem.h"

enum {
    WORKSPACE = 1000,
    ROOM = 1 << 20,
    STREAM = 7001, /* the application's */
    OURS,
    MORE_RUNS = 80
};

static _Alignas(256) char memory[ROOM];
static char handle[16];
static struct cs_engine_choice choice;
static struct cs_plan plan;

static struct {
    int calls, fails_at; /* of the device and the driver; 0: none fails */
    int events, streams, blocks, waits, records;
    int64_t bytes;    /* of the last block */
    uint64_t context; /* that is current */
    uint64_t capture; /* of the application's stream */
    intptr_t stream;  /* of the handle */
    int chosen;       /* how often that was set */
    int executed;
    int modes; /* set for captures */
    bool mode_unknown;
    CUstreamCaptureMode mode, mode_of_runs; /* now, and as tiles were executed */
    float milliseconds[MORE_RUNS];          /* by run */
    int told;
    cudnnStatus_t stream_known;
    bool misplaced; /* an address outside the memory, or not aligned */
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
    *to = fake.context ? (CUcontext)(void *)handle : NULL;
    return CUDA_SUCCESS;
}

static CUresult context_number(CUcontext of, unsigned long long *to)
{
    CHECK((void *)of == handle);
    *to = fake.context;
    return CUDA_SUCCESS;
}

static CUresult capture_of(CUstream stream, CUstreamCaptureStatus *state, cuuint64_t *id,
                           CUgraph *graph, const CUgraphNode **nodes, size_t *count)
{
    (void)graph, (void)nodes, (void)count;
    CHECK_INT((intptr_t)stream, STREAM);
    *state = fake.capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    *id = fake.capture;
    return fails() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult stream_make(CUstream *to, unsigned flags, int priority)
{
    (void)flags, (void)priority;
    if (fails())
        return CUDA_ERROR_OUT_OF_MEMORY;
    fake.streams++;
    *to = (CUstream)(intptr_t)OURS;
    return CUDA_SUCCESS;
}

static CUresult stream_destroy(CUstream stream)
{
    CHECK_INT((intptr_t)stream, OURS);
    fake.streams--;
    return CUDA_SUCCESS;
}

static CUresult event_make(CUevent *to, unsigned flags)
{
    (void)flags;
    if (fails())
        return CUDA_ERROR_OUT_OF_MEMORY;
    *to = (CUevent)(void *)&memory[++fake.events];
    return CUDA_SUCCESS;
}

static CUresult event_destroy(CUevent event)
{
    (void)event;
    fake.events--;
    return CUDA_SUCCESS;
}

static CUresult wait(CUstream stream, CUevent event, unsigned flags)
{
    (void)event, (void)flags;
    CHECK_INT((intptr_t)stream, OURS);
    fake.waits++;
    return fails() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult allocate(CUdeviceptr *to, size_t bytes)
{
    CHECK(bytes <= ROOM);
    if (fails())
        return CUDA_ERROR_OUT_OF_MEMORY;
    fake.blocks++;
    fake.bytes = (int64_t)bytes;
    *to = (CUdeviceptr)(uintptr_t)memory;
    return CUDA_SUCCESS;
}

static CUresult release(CUdeviceptr block)
{
    CHECK((void *)block == memory);
    fake.blocks--;
    return CUDA_SUCCESS;
}

static CUresult set_bytes(CUdeviceptr at, unsigned char value, size_t bytes, CUstream stream)
{
    CHECK((void *)at == memory && value == 0x3b && (int64_t)bytes == fake.bytes);
    CHECK_INT((intptr_t)stream, OURS);
    return fails() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream)
{
    (void)event;
    fake.records += stream == (CUstream)(intptr_t)OURS;
    return fails() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult event_synchronize(CUevent event)
{
    (void)event;
    return fails() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult elapsed(float *to, CUevent start, CUevent end)
{
    CHECK(start != end);
    *to = fake.milliseconds[fake.told++ % MORE_RUNS];
    return fails() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
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

static CUresult current_device(CUdevice *device)
{
    *device = 3;
    return fails() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

static CUresult device_name(char *name, int size, CUdevice device)
{
    CHECK(device == 3 && size == 255);
    snprintf(name, (size_t)size, "a GPU");
    return fails() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
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
    fake.chosen++;
    return CUDNN_STATUS_SUCCESS;
}

/* Each tensor at its own place, in its part of the scratch. */
static cudnnStatus_t execute(cudnnHandle_t of, cudnnBackendDescriptor_t execution_plan,
                             cudnnBackendDescriptor_t pack)
{
    const struct recorded *tile = recorded_at(execution_plan), *addresses = recorded_at(pack);
    const struct attribute_set *pointers =
        attribute_of(addresses, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    CHECK((void *)of == handle && tile->finalized && addresses->finalized);
    if (fake.bytes > 0) {
        CHECK_INT(fake.stream, OURS);
        CHECK_SET(addresses, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 'x', 'w', 'y');
        for (int64_t i = 0; pointers && i < pointers->count; i++)
            fake.misplaced = fake.misplaced || (char *)pointers->value[i] < memory ||
                             (char *)pointers->value[i] >= memory + fake.bytes ||
                             pointers->value[i] % 256 != 0 ||
                             (i > 0 && pointers->value[i] <= pointers->value[i - 1]);
        const struct attribute_set *scratch =
            attribute_of(addresses, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
        const char *workspace = scratch ? (const char *)scratch->value[0] : NULL;
        fake.misplaced = fake.misplaced || !pointers || !workspace ||
                         workspace + WORKSPACE > memory + fake.bytes ||
                         workspace < (const char *)pointers->value[2];
    }
    fake.mode_of_runs = fake.mode;
    fake.executed++;
    return fails() ? CUDNN_STATUS_EXECUTION_FAILED : CUDNN_STATUS_SUCCESS;
}

static size_t version(void)
{
    return 91002;
}

static void start(void)
{
    static const int64_t uid[CS_MAX_TENSORS] = {'x', 'w', 'y'};
    const struct cs_problem problem = rows(CS_FORWARD, 1);
    const struct cs_tiling tiling = {.axis = {CS_AXIS_H}, .step = {16, 1}};
    recorded_start();
    memset(&fake, 0, sizeof fake);
    fake.context = 5;
    fake.stream = STREAM;
    cudnn.own.workspace = WORKSPACE;
    for (int i = 0; i < MORE_RUNS; i++)
        fake.milliseconds[i] = 1;
    vendor.cudnnBackendExecute = execute;
    vendor.cudnnGetStream = get_stream;
    vendor.cudnnSetStream = set_stream;
    vendor.cudnnGetVersion = version;
    driver = (struct cs_driver){.cuCtxGetCurrent = current_context,
                                .cuCtxGetId = context_number,
                                .cuStreamGetCaptureInfo_v2 = capture_of,
                                .cuStreamCreateWithPriority = stream_make,
                                .cuStreamDestroy_v2 = stream_destroy,
                                .cuStreamWaitEvent = wait,
                                .cuEventDestroy_v2 = event_destroy,
                                .cuMemAlloc_v2 = allocate,
                                .cuMemFree_v2 = release,
                                .cuMemcpy3DAsync_v2 = start_copy,
                                .cuEventCreate = event_make,
                                .cuEventRecord = event_record,
                                .cuEventSynchronize = event_synchronize,
                                .cuEventElapsedTime = elapsed,
                                .cuMemsetD8Async = set_bytes,
                                .cuThreadExchangeStreamCaptureMode = exchange_mode,
                                .cuCtxGetDevice = current_device,
                                .cuDeviceGetName = device_name};
    cs_engine_choice_init(&choice, &problem, uid, (cudnnHandle_t)(void *)handle);
    CHECK_INT(cs_plan_cut(&problem, &tiling, &plan), CS_OK);
    CHECK_INT(plan.shapes, 3); /* the first, the last, and two between */
    CHECK_INT(plan.tiles, 4);
}

static enum cs_status time_plan(int64_t limit, double *seconds_p)
{
    struct cs_vendor timing = cs_timing_vendor(&choice);
    *seconds_p = -1;
    return timing.time(timing.ctx, &plan, limit, seconds_p);
}

/* All is as it was before; a stream that the handle still has is there. */
static void check_nothing_left(void)
{
    CHECK_INT(fake.events, 0);
    CHECK_INT(fake.streams, fake.stream == OURS);
    CHECK_INT(fake.blocks, 0);
    CHECK_INT(cudnn.alive, 0);
}

/* Of each shape the first run does not count; the median of the others does, for each tile. */
static void median_of_each_shape_counts(void)
{
    static const float orders[6][3] = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3},
                                       {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
    for (int order = 0; order < 6; order++) {
        double seconds, wanted = 0;
        start();
        for (int shape = 0; shape < 3; shape++) {
            fake.milliseconds[4 * shape] = 1000;
            for (int i = 0; i < 3; i++)
                fake.milliseconds[4 * shape + 1 + i] = orders[order][i] * (float)(1 + shape * 10);
            wanted += 2e-3 * (1 + shape * 10) * (double)plan.shape[shape].tiles;
        }
        CHECK_INT(time_plan(ROOM, &seconds), CS_OK);
        CHECK(seconds > wanted * (1 - 1e-6) && seconds < wanted * (1 + 1e-6));
        CHECK_INT(fake.executed, 12);
        CHECK_INT(fake.stream, STREAM);
        CHECK_INT(fake.chosen, 2);
        CHECK(!fake.misplaced);
        CHECK_INT(fake.waits, 1);
        CHECK_INT(fake.mode_of_runs, CU_STREAM_CAPTURE_MODE_RELAXED);
        CHECK_INT(fake.mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
        check_nothing_left();
    }
}

/* The widest of each tensor in any shape, rounded, and the largest workspace. */
static void scratch_is_as_large_as_the_widest_tiles(void)
{
    double seconds;
    int64_t wanted = 0, span, widest;
    start();
    for (int i = 0; i < CS_OPERANDS; i++) {
        widest = 0;
        for (int64_t shape = 0; shape < plan.shapes; shape++) {
            struct cs_problem tile;
            cs_plan_problem(&plan, shape, &tile);
            CHECK_INT(cs_problem_tensor_span(&tile.tensor[i], &span), CS_OK);
            widest = span > widest ? span : widest;
        }
        wanted += (widest + 255) / 256 * 256;
    }
    wanted += 1024; /* of the workspace */
    CHECK_INT(time_plan(wanted, &seconds), CS_OK);
    CHECK_INT(fake.bytes, wanted);
    start();
    CHECK_INT(time_plan(wanted - 1, &seconds), CS_REFUSED);
    CHECK_INT(fake.bytes, 0);
    check_nothing_left();
}

/* A time that is not measurable, or a failing call, ends the measurement. */
static void no_failure_leaves_an_object(void)
{
    double seconds;
    start();
    CHECK_INT(time_plan(ROOM, &seconds), CS_OK);
    int calls = fake.calls, refused = 0, astray = 0;
    CHECK(calls > 60);
    for (int at = 1; at <= calls; at++) {
        start();
        fake.fails_at = at;
        enum cs_status status = time_plan(ROOM, &seconds);
        refused += status == CS_REFUSED;
        astray += fake.stream != STREAM;
        check_nothing_left();
    }
    /* All but the last record and the wait for it. */
    CHECK_INT(refused, calls - 2);
    CHECK_INT(astray, 1); /* where the very call fails that sets the stream back */
    start();
    fake.milliseconds[5] = -1;
    CHECK_INT(time_plan(ROOM, &seconds), CS_REFUSED);
    check_nothing_left();
    start();
    fake.milliseconds[5] = 0;
    CHECK_INT(time_plan(ROOM, &seconds), CS_OK);
    start();
    cudnn.own.plan = CUDNN_STATUS_ALLOC_FAILED;
    CHECK_INT(time_plan(ROOM, &seconds), CS_NOMEM);
    CHECK_INT(fake.calls, 0);
    check_nothing_left();
}

static void forbidden_runs_are_refused(void)
{
    double seconds;
    for (int i = 0; i < 5; i++) {
        start();
        if (i == 0)
            fake.context = 0;
        else if (i == 1)
            fake.capture = 9;
        else if (i == 2)
            fake.stream_known = CUDNN_STATUS_NOT_SUPPORTED;
        else if (i == 3)
            plan.stages = true;
        else
            choice.target.handle = NULL;
        CHECK_INT(time_plan(ROOM, &seconds), CS_REFUSED);
        CHECK_INT(fake.executed, 0);
        CHECK_INT(fake.bytes, 0);
        CHECK_INT(fake.mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
        check_nothing_left();
    }
}

static void model_has_a_number(void)
{
    start();
    struct cs_vendor timing = cs_timing_vendor(&choice);
    uint64_t name = cs_hash_bytes(CS_HASH_START, "a GPU", 5);
    CHECK_INT(timing.model(timing.ctx), (int64_t)((name ^ UINT64_C(91002) << 32) | 1));
    vendor.cudnnGetVersion = NULL;
    CHECK_INT(timing.model(timing.ctx), (int64_t)(name | 1));
    for (int at = 1; at <= 2; at++) {
        fake.calls = 0;
        fake.fails_at = at;
        CHECK_INT(timing.model(timing.ctx), 0);
    }
    fake.fails_at = 0;
    choice.target.handle = NULL;
    CHECK_INT(timing.model(timing.ctx), 0);
}

/* --- the launcher of tiles --- */

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
    gpu_of();
    cudnn.own.plan = CUDNN_STATUS_NOT_SUPPORTED;
    fake.mode_unknown = true; /* nothing is set back */
    CHECK_INT(cs_launcher_prepare(&launcher, 0), CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_INT(fake.modes, 0);
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
    TEST(median_of_each_shape_counts);
    TEST(scratch_is_as_large_as_the_widest_tiles);
    TEST(no_failure_leaves_an_object);
    TEST(forbidden_runs_are_refused);
    TEST(model_has_a_number);
    TEST(a_pack_names_all_but_virtual_tensors);
    TEST(tiles_and_fallback_are_launched);
    TEST(a_plan_is_made_ready_in_relaxed_mode);
    TEST(launches_use_the_chosen_stream);
    return REPORT();
}
