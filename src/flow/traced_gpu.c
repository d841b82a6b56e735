/* Wraps a struct cs_gpu so that its launches appear in the trace. */
#include "flow/traced_gpu.h"

static int bind(void *ctx, int shape, const struct cs_addresses *addresses, void **launch_p)
{
    const struct cs_traced *traced = ctx;
    return traced->inner->bind(traced->inner->ctx, shape, addresses, launch_p);
}

static int launch(void *ctx, int shape, void *bound)
{
    struct cs_traced *traced = ctx;
    int64_t begin = cs_trace_now();
    int status = traced->inner->launch(traced->inner->ctx, shape, bound);
    cs_trace_tile(traced->trace, traced->lane, traced->tiles++, begin, cs_trace_now());
    return status;
}

static void release(void *ctx, void *bound)
{
    const struct cs_traced *traced = ctx;
    traced->inner->release(traced->inner->ctx, bound);
}

static int fallback(void *ctx)
{
    const struct cs_traced *traced = ctx;
    return traced->inner->fallback(traced->inner->ctx);
}

/* Finds or adds the stream's lane for the trace, and chooses the stream. */
static int choose(void *ctx, void *stream)
{
    struct cs_traced *traced = ctx;
    int lane = 0;
    while (lane < traced->lanes && traced->stream[lane] != stream)
        lane++;
    if (lane == traced->lanes && lane < CS_MAX_LANES)
        traced->stream[traced->lanes++] = stream;
    traced->lane = lane < CS_MAX_LANES ? lane : 0;
    return traced->inner->choose(traced->inner->ctx, stream);
}

static int copy(void *ctx, const struct cs_copy *boxes, void *view, void *packed, bool in)
{
    const struct cs_traced *traced = ctx;
    return traced->inner->copy(traced->inner->ctx, boxes, view, packed, in);
}

const struct cs_gpu *cs_traced_gpu(struct cs_traced *traced, struct cs_trace *trace,
                                   const struct cs_gpu *gpu, const struct cs_call *call)
{
    *traced = (struct cs_traced){.inner = gpu, .trace = trace, .lanes = 1};
    traced->gpu = (struct cs_gpu){.ctx = traced,
                                  .bind = bind,
                                  .launch = launch,
                                  .release = release,
                                  .fallback = fallback,
                                  .choose = gpu->choose ? choose : NULL,
                                  .copy = gpu->copy ? copy : NULL,
                                  .only_records = gpu->only_records};
    traced->stream[0] = call ? call->stream : NULL;
    return &traced->gpu;
}

void cs_traced_scratch(void *trace, const struct cs_scratch_event *event)
{
    if (cs_trace_on(trace))
        cs_trace_scratch(trace, event);
}
