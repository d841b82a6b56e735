/* Times tiled plans on the GPU with scratch data, for policy `measure`. */
#include "cudnn/run/timing.h"

#include "base/checked.h"
#include "base/hash.h"
#include "cudnn/bind/driver.h"
#include "cudnn/plan/execution_plan.h"
#include "cudnn/run/device_cuda.h"
#include "cudnn/run/launcher.h"
#include <stdlib.h>
#include <string.h>

enum {
    RUNS = 3,       /* timed runs, after one that is not timed */
    PATTERN = 0x3b, /* a number below one in every type */
    NAME_BYTES = 256
};

/* A measurement in progress. */
struct builder {
    const struct cs_device *device;
    void *stream, *caller_stream; /* the builder's stream and the handle's */
    bool stays;                   /* the handle's stream could not be restored */
    void *memory;
    void *start, *end, *behind; /* events; only the first two record times */
    struct cs_launcher launcher;
    struct cs_gpu gpu;
};

/* Offsets of the parts of the scratch, large enough for any shape. */
struct layout {
    int64_t tensor[CS_MAX_TENSORS];
    int64_t staged, workspace, bytes;
};

/* Appends a part after the others. */
static bool append(int64_t bytes, int64_t *end, int64_t *first_p)
{
    int64_t rounded;
    *first_p = *end;
    return cs_add(bytes, CS_SCRATCH_ALIGNMENT - 1, &rounded) &&
           cs_add(*end, rounded - rounded % CS_SCRATCH_ALIGNMENT, end);
}

/* The most bytes that a tensor spans in any shape. 0 if it has no address. */
static bool widest(const struct cs_plan *plan, int tensor, int64_t *bytes_p)
{
    const struct cs_tensor *untiled = &plan->problem.tensor[tensor];
    *bytes_p = 0;
    for (int64_t shape = 0; shape < plan->shapes && !untiled->is_virtual && !untiled->by_value;
         shape++) {
        struct cs_problem problem;
        int64_t bytes;
        cs_plan_problem(plan, shape, &problem);
        if (cs_problem_tensor_span(&problem.tensor[tensor], &bytes) != CS_OK)
            return false;
        *bytes_p = bytes > *bytes_p ? bytes : *bytes_p;
    }
    return true;
}

static bool lay_out(const struct cs_plan *plan, struct layout *layout)
{
    int64_t bytes, workspace = 0;
    layout->bytes = 0;
    for (int i = 0; i < plan->problem.tensors; i++)
        if (!widest(plan, i, &bytes) || !append(bytes, &layout->bytes, &layout->tensor[i]))
            return false;
    for (int64_t shape = 0; shape < plan->shapes; shape++)
        if (plan->shape[shape].workspace > workspace)
            workspace = plan->shape[shape].workspace;
    return append(plan->staged, &layout->bytes, &layout->staged) &&
           append(workspace, &layout->bytes, &layout->workspace);
}

/* A thread that captures, or whose application's stream is captured, must not wait, and launches
 * would become part of the graph. */
static bool may_run(const struct builder *builder)
{
    struct cs_capture capture;
    return builder->device->context(builder->device->ctx) != 0 && builder->gpu.choose &&
           builder->device->capture(builder->device->ctx, builder->caller_stream, &capture) == 0 &&
           capture.id == 0;
}

static bool succeeded(CUresult result)
{
    return result == CUDA_SUCCESS;
}

static bool make_events(struct builder *builder)
{
    CUevent start = NULL, end = NULL;
    bool made = succeeded(CS_CU(cuEventCreate, &start, CU_EVENT_DEFAULT));
    builder->start = start;
    made = made && succeeded(CS_CU(cuEventCreate, &end, CU_EVENT_DEFAULT));
    builder->end = end;
    return made && builder->device->event_create(builder->device->ctx, &builder->behind) == 0;
}

/* The stream begins after the application's earlier work, which would be timed otherwise. */
static bool make_stream(struct builder *builder)
{
    const struct cs_device *device = builder->device;
    return device->stream_create(device->ctx, builder->caller_stream, &builder->stream) == 0 &&
           device->record(device->ctx, builder->behind, builder->caller_stream) == 0 &&
           device->wait(device->ctx, builder->stream, builder->behind) == 0;
}

static bool make_memory(struct builder *builder, const struct layout *layout)
{
    const struct cs_device *device = builder->device;
    return device->allocate(device->ctx, layout->bytes, &builder->memory) == 0 &&
           succeeded(CS_CU(cuMemsetD8Async, (CUdeviceptr)(uintptr_t)builder->memory, PATTERN,
                           (size_t)layout->bytes, builder->stream));
}

/* Waits before it frees memory, because launches may still run, also after an error. A stream that
 * the handle still uses is not destroyed. */
static void clear(struct builder *builder)
{
    const struct cs_device *device = builder->device;
    if (builder->stream && builder->end &&
        succeeded(CS_CU(cuEventRecord, builder->end, builder->stream)))
        (void)CS_CU(cuEventSynchronize, builder->end);
    if (builder->memory)
        device->free(device->ctx, builder->memory);
    if (builder->stream && !builder->stays)
        device->stream_destroy(device->ctx, builder->stream);
    void *events[] = {builder->start, builder->end, builder->behind};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i])
            device->event_destroy(device->ctx, events[i]);
}

static double median(double a, double b, double c)
{
    double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* One launch's seconds, or less than 0. */
static double run_once(struct builder *builder, int shape, void *launch)
{
    float milliseconds = -1;
    if (!succeeded(CS_CU(cuEventRecord, builder->start, builder->stream)) ||
        builder->gpu.launch(builder->gpu.ctx, shape, launch) != 0 ||
        !succeeded(CS_CU(cuEventRecord, builder->end, builder->stream)) ||
        !succeeded(CS_CU(cuEventSynchronize, builder->end)) ||
        !succeeded(CS_CU(cuEventElapsedTime, &milliseconds, builder->start, builder->end)))
        return -1;
    return (double)milliseconds * 1e-3;
}

/* The seconds of one tile of a shape, or less than 0. Copies of a staged filter gradient are left
 * out, because they are short. */
static double run_shape(struct builder *builder, const struct cs_plan *plan, int shape,
                        const struct layout *layout)
{
    static float one = 1;
    char *base = builder->memory;
    struct cs_addresses addresses = {.workspace = base + layout->workspace};
    double seconds[RUNS + 1];
    void *launch;
    for (int i = 0; i < plan->problem.tensors; i++)
        if (!plan->problem.tensor[i].is_virtual)
            addresses.tensor[i] = plan->problem.tensor[i].by_value ? (void *)&one
                                  : cs_plan_is_staged(plan, shape, i)
                                      ? base + layout->staged + plan->staged_at[i]
                                      : base + layout->tensor[i];
    if (builder->gpu.bind(builder->gpu.ctx, shape, &addresses, &launch) != 0)
        return -1;
    bool ran = true;
    for (int i = 0; i <= RUNS && ran; i++) {
        seconds[i] = run_once(builder, shape, launch);
        ran = seconds[i] >= 0;
    }
    builder->gpu.release(builder->gpu.ctx, launch);
    return ran ? median(seconds[1], seconds[2], seconds[3]) : -1;
}

static enum cs_status run_shapes(struct builder *builder, const struct cs_plan *plan,
                                 const struct layout *layout, double *seconds_p)
{
    double sum = 0;
    for (int shape = 0; shape < plan->shapes; shape++) {
        double seconds = run_shape(builder, plan, shape, layout);
        if (seconds < 0)
            return CS_REFUSED;
        sum += seconds * (double)plan->shape[shape].tiles;
    }
    *seconds_p = sum;
    return CS_OK;
}

static enum cs_status build_shapes(struct cs_rewrite *rewrite, const struct cs_vendor *vendor)
{
    struct cs_plan *plan = &rewrite->plan;
    enum cs_status status = CS_OK;
    for (int64_t i = 0; i < plan->shapes && status == CS_OK; i++) {
        struct cs_problem shape;
        cs_plan_problem(plan, i, &shape);
        status = vendor->build(vendor->ctx, &shape, plan->shape[i].relaxation,
                               &rewrite->execution_plan[i], &plan->shape[i].workspace);
    }
    return status;
}

static enum cs_status run_bench(struct builder *builder, const struct cs_plan *plan, int64_t limit,
                                double *seconds_p)
{
    struct layout layout;
    enum cs_status status = CS_REFUSED;
    if (plan->stages || !lay_out(plan, &layout) || layout.bytes > limit)
        return CS_REFUSED;
    if (make_events(builder) && make_stream(builder) && make_memory(builder, &layout) &&
        builder->gpu.choose(builder->gpu.ctx, builder->stream) == 0) {
        status = run_shapes(builder, plan, &layout, seconds_p);
        builder->stays = builder->gpu.choose(builder->gpu.ctx, builder->caller_stream) != 0;
        if (builder->stays)
            status = CS_REFUSED;
    }
    clear(builder);
    return status;
}

/* Relaxed, because waits and allocations would end captures of other threads. */
static enum cs_status run_relaxed(struct builder *builder, const struct cs_plan *plan,
                                  int64_t limit, double *seconds_p)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool relaxed = succeeded(CS_CU(cuThreadExchangeStreamCaptureMode, &mode));
    enum cs_status status = CS_REFUSED;
    if (relaxed && may_run(builder))
        status = run_bench(builder, plan, limit, seconds_p);
    if (relaxed)
        (void)CS_CU(cuThreadExchangeStreamCaptureMode, &mode);
    return status;
}

static enum cs_status time_plan(void *ctx, const struct cs_plan *plan, int64_t limit,
                                double *seconds_p)
{
    struct cs_engine_choice *choice = ctx;
    const struct cs_vendor vendor = cs_execution_plan_vendor(choice);
    /* Without a handle the device of the plans may be absent. */
    struct cs_rewrite *rewrite = choice->target.handle ? calloc(1, sizeof *rewrite) : NULL;
    if (!rewrite)
        return CS_REFUSED;
    rewrite->plan = *plan;
    rewrite->destroy = vendor.destroy;
    enum cs_status status = build_shapes(rewrite, &vendor);
    struct builder builder = {.device = &cs_device_cuda,
                              .launcher = {.handle = choice->target.handle,
                                           .rewrite = rewrite,
                                           .problem = &choice->problem,
                                           .uid = choice->target.uid}};
    builder.gpu = cs_launcher_gpu(&builder.launcher, &builder.caller_stream);
    if (status == CS_OK)
        status = run_relaxed(&builder, &rewrite->plan, limit, seconds_p);
    cs_rewrite_discard(rewrite);
    return status;
}

/* Two models with one name are not known. Parts of a GPU have separate names. */
static int64_t model(void *ctx)
{
    const struct cs_engine_choice *choice = ctx;
    char name[NAME_BYTES] = "";
    CUdevice device;
    if (!choice->target.handle || !succeeded(CS_CU(cuCtxGetDevice, &device)) ||
        !succeeded(CS_CU(cuDeviceGetName, name, sizeof name - 1, device)))
        return 0;
    uint64_t hash = cs_hash_bytes(CS_HASH_START, name, strlen(name));
    hash ^= cs_real()->cudnnGetVersion ? (uint64_t)cs_real()->cudnnGetVersion() << 32 : 0;
    return (int64_t)(hash | 1);
}

struct cs_vendor cs_timing_vendor(struct cs_engine_choice *choice)
{
    struct cs_vendor vendor = cs_execution_plan_vendor(choice);
    vendor.time = time_plan;
    vendor.model = model;
    return vendor;
}
