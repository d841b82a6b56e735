#include "cudnn/run/timing.h"

#include "base/checked.h"
#include "cudnn/bind/driver.h"
#include "cudnn/plan/execution_plan.h"
#include "cudnn/run/device_cuda.h"
#include "cudnn/run/launcher.h"
#include <stdlib.h>

enum {
    RUNS = 3,       /* timed, after one that is not */
    PATTERN = 0x3b, /* a number below one in every type */
    NAME_BYTES = 256
};

/* A measuring under way. */
struct bench {
    const struct cs_device *device;
    void *stream, *client; /* ours and the handle's own */
    void *memory;
    void *start, *end, *behind; /* events; only the first two tell times */
    struct cs_launcher launcher;
    struct cs_gpu gpu;
};

/* Where the parts of the scratch begin; any kind finds room. */
struct layout {
    int64_t tensor[CS_MAX_TENSORS];
    int64_t staged, workspace, bytes;
};

/* Puts a part behind the others. */
static bool append(int64_t bytes, int64_t *end, int64_t *first_p)
{
    int64_t rounded;
    *first_p = *end;
    return cs_add(bytes, CS_SCRATCH_ALIGNMENT - 1, &rounded) &&
           cs_add(*end, rounded - rounded % CS_SCRATCH_ALIGNMENT, end);
}

/* The most that a tensor spans in any kind: as much as nothing where it has no address. */
static bool widest(const struct cs_plan *plan, int tensor, int64_t *bytes_p)
{
    const struct cs_tensor *whole = &plan->problem.tensor[tensor];
    *bytes_p = 0;
    for (int64_t kind = 0; kind < plan->kinds && !whole->is_virtual && !whole->by_value; kind++) {
        struct cs_problem problem;
        int64_t bytes;
        cs_plan_problem(plan, kind, &problem);
        if (cs_tensor_span(&problem.tensor[tensor], &bytes) != CS_OK)
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
    for (int64_t kind = 0; kind < plan->kinds; kind++)
        if (plan->kind[kind].workspace > workspace)
            workspace = plan->kind[kind].workspace;
    return append(plan->staged, &layout->bytes, &layout->staged) &&
           append(workspace, &layout->bytes, &layout->workspace);
}

/* A thread that captures, or whose client's stream is captured, must not be kept waiting, and what
 * is started would become part of the graph. */
static bool may_run(const struct bench *bench)
{
    struct cs_capture capture;
    return bench->device->context(bench->device->ctx) != 0 && bench->gpu.choose &&
           bench->device->capture(bench->device->ctx, bench->client, &capture) == 0 &&
           capture.id == 0;
}

static bool succeeded(CUresult result)
{
    return result == CUDA_SUCCESS;
}

static bool make_events(struct bench *bench)
{
    CUevent start = NULL, end = NULL;
    bool made = succeeded(CS_CU(cuEventCreate, &start, CU_EVENT_DEFAULT));
    bench->start = start;
    made = made && succeeded(CS_CU(cuEventCreate, &end, CU_EVENT_DEFAULT));
    bench->end = end;
    return made && bench->device->event_create(bench->device->ctx, &bench->behind) == 0;
}

/* Behind what the client has started already: its work would be timed with ours. */
static bool make_stream(struct bench *bench)
{
    const struct cs_device *device = bench->device;
    return device->stream_create(device->ctx, bench->client, &bench->stream) == 0 &&
           device->record(device->ctx, bench->behind, bench->client) == 0 &&
           device->wait(device->ctx, bench->stream, bench->behind) == 0;
}

static bool make_memory(struct bench *bench, const struct layout *layout)
{
    const struct cs_device *device = bench->device;
    return device->allocate(device->ctx, layout->bytes, &bench->memory) == 0 &&
           succeeded(CS_CU(cuMemsetD8Async, (CUdeviceptr)(uintptr_t)bench->memory, PATTERN,
                           (size_t)layout->bytes, bench->stream));
}

/* Waits before it frees: what was started may still be running, also after an error. */
static void clear(struct bench *bench)
{
    const struct cs_device *device = bench->device;
    if (bench->stream && bench->end && succeeded(CS_CU(cuEventRecord, bench->end, bench->stream)))
        (void)CS_CU(cuEventSynchronize, bench->end);
    if (bench->memory)
        device->free(device->ctx, bench->memory);
    if (bench->stream)
        device->stream_destroy(device->ctx, bench->stream);
    void *events[] = {bench->start, bench->end, bench->behind};
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
static double run_once(struct bench *bench, int kind, void *launch)
{
    float milliseconds = -1;
    if (!succeeded(CS_CU(cuEventRecord, bench->start, bench->stream)) ||
        bench->gpu.launch(bench->gpu.ctx, kind, launch) != 0 ||
        !succeeded(CS_CU(cuEventRecord, bench->end, bench->stream)) ||
        !succeeded(CS_CU(cuEventSynchronize, bench->end)) ||
        !succeeded(CS_CU(cuEventElapsedTime, &milliseconds, bench->start, bench->end)))
        return -1;
    return (double)milliseconds * 1e-3;
}

/* The seconds of one tile of a kind, or less than 0. Copies of a staged filter gradient, which is
 * little beside the images, are left out. */
static double run_kind(struct bench *bench, const struct cs_plan *plan, int kind,
                       const struct layout *layout)
{
    static float one = 1;
    char *base = bench->memory;
    struct cs_addresses addresses = {.workspace = base + layout->workspace};
    double seconds[RUNS + 1];
    void *launch;
    for (int i = 0; i < plan->problem.tensors; i++)
        if (!plan->problem.tensor[i].is_virtual)
            addresses.tensor[i] = plan->problem.tensor[i].by_value ? (void *)&one
                                  : plan->is_staged[i] ? base + layout->staged + plan->staged_at[i]
                                                       : base + layout->tensor[i];
    if (bench->gpu.bind(bench->gpu.ctx, kind, &addresses, &launch) != 0)
        return -1;
    bool ran = true;
    for (int i = 0; i <= RUNS && ran; i++) {
        seconds[i] = run_once(bench, kind, launch);
        ran = seconds[i] >= 0;
    }
    bench->gpu.release(bench->gpu.ctx, launch);
    return ran ? median(seconds[1], seconds[2], seconds[3]) : -1;
}

static enum cs_status run_kinds(struct bench *bench, const struct cs_plan *plan,
                                const struct layout *layout, double *seconds_p)
{
    double sum = 0;
    for (int kind = 0; kind < plan->kinds; kind++) {
        double seconds = run_kind(bench, plan, kind, layout);
        if (seconds < 0)
            return CS_REFUSED;
        sum += seconds * (double)plan->kind[kind].tiles;
    }
    *seconds_p = sum;
    return CS_OK;
}

static enum cs_status build_kinds(struct cs_rewrite *rewrite, const struct cs_vendor *vendor)
{
    struct cs_plan *plan = &rewrite->plan;
    enum cs_status status = CS_OK;
    for (int64_t i = 0; i < plan->kinds && status == CS_OK; i++) {
        struct cs_problem kind;
        cs_plan_problem(plan, i, &kind);
        status = vendor->build(vendor->ctx, &kind, plan->kind[i].latitude, &rewrite->kernel[i],
                               &plan->kind[i].workspace);
    }
    return status;
}

static enum cs_status run_bench(struct bench *bench, const struct cs_plan *plan, int64_t limit,
                                double *seconds_p)
{
    struct layout layout;
    enum cs_status status = CS_REFUSED;
    if (plan->stages || !lay_out(plan, &layout) || layout.bytes > limit)
        return CS_REFUSED;
    if (make_events(bench) && make_stream(bench) && make_memory(bench, &layout) &&
        bench->gpu.choose(bench->gpu.ctx, bench->stream) == 0) {
        status = run_kinds(bench, plan, &layout, seconds_p);
        if (bench->gpu.choose(bench->gpu.ctx, bench->client) != 0)
            status = CS_REFUSED;
    }
    clear(bench);
    return status;
}

/* Relaxed: while other threads capture, waiting and allocating would end their captures. */
static enum cs_status run_relaxed(struct bench *bench, const struct cs_plan *plan, int64_t limit,
                                  double *seconds_p)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool relaxed = succeeded(CS_CU(cuThreadExchangeStreamCaptureMode, &mode));
    enum cs_status status = CS_REFUSED;
    if (relaxed && may_run(bench))
        status = run_bench(bench, plan, limit, seconds_p);
    if (relaxed)
        (void)CS_CU(cuThreadExchangeStreamCaptureMode, &mode);
    return status;
}

static enum cs_status time_plan(void *ctx, const struct cs_plan *plan, int64_t limit,
                                double *seconds_p)
{
    struct cs_maker *maker = ctx;
    const struct cs_vendor vendor = cs_kernel_vendor(maker);
    /* Without a handle plans are made for a device that may be elsewhere. */
    struct cs_rewrite *rewrite = maker->target.handle ? calloc(1, sizeof *rewrite) : NULL;
    if (!rewrite)
        return CS_REFUSED;
    rewrite->plan = *plan;
    rewrite->destroy = vendor.destroy;
    enum cs_status status = build_kinds(rewrite, &vendor);
    struct bench bench = {.device = &cs_device_cuda,
                          .launcher = {.handle = maker->target.handle,
                                       .rewrite = rewrite,
                                       .problem = &maker->problem,
                                       .uid = maker->target.uid}};
    bench.gpu = cs_launcher_gpu(&bench.launcher, &bench.client);
    if (status == CS_OK)
        status = run_relaxed(&bench, &rewrite->plan, limit, seconds_p);
    cs_rewrite_discard(rewrite);
    return status;
}

/* Two models of one name have not been seen; parts of a card have names of their own. */
static int64_t model(void *ctx)
{
    const struct cs_maker *maker = ctx;
    char name[NAME_BYTES] = "";
    CUdevice device;
    uint64_t hash = 0xcbf29ce484222325u;
    if (!maker->target.handle || !succeeded(CS_CU(cuCtxGetDevice, &device)) ||
        !succeeded(CS_CU(cuDeviceGetName, name, sizeof name - 1, device)))
        return 0;
    for (const char *text = name; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    hash ^= cs_real()->cudnnGetVersion ? (uint64_t)cs_real()->cudnnGetVersion() << 32 : 0;
    return (int64_t)(hash | 1);
}

struct cs_vendor cs_timing_vendor(struct cs_maker *maker)
{
    struct cs_vendor vendor = cs_kernel_vendor(maker);
    vendor.time = time_plan;
    vendor.model = model;
    return vendor;
}
