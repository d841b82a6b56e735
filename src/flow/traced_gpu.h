/* Wraps a call's launches with a trace of them, invisible to the executor. */
#ifndef CS_FLOW_TRACED_GPU_H
#define CS_FLOW_TRACED_GPU_H

#include "account/trace.h"
#include "exec/exec.h"

struct cs_traced {
    struct cs_gpu gpu;
    const struct cs_gpu *inner;
    struct cs_trace *trace;
    void *stream[CS_MAX_LANES]; /* stream of each lane; the first is the application's */
    int lanes, lane;            /* lanes used so far, and the current one */
    int64_t tiles;              /* launched so far */
};

/* Wraps `gpu` in one that traces its launches. `traced` holds the result and must live as long.
 * `call` may be NULL. */
const struct cs_gpu *cs_traced_gpu(struct cs_traced *traced, struct cs_trace *trace,
                                   const struct cs_gpu *gpu, const struct cs_call *call);

/* Traces an event of an arena: the callback of its watch (convshim/scratch.h). `trace` is a struct
 * cs_trace. */
void cs_traced_scratch(void *trace, const struct cs_scratch_event *event);

#endif
