/* A call's launches with a trace of them. The executor does not know. */
#ifndef CS_FLOW_TRACED_GPU_H
#define CS_FLOW_TRACED_GPU_H

#include "account/trace.h"
#include "exec/exec.h"

struct cs_traced {
    struct cs_gpu gpu;
    const struct cs_gpu *inner;
    struct cs_trace *trace;
    void *stream[CS_MAX_LANES]; /* of lane i; the application's is the first */
    int lanes, lane;
    int64_t tiles;
};

/* `gpu` as one that traces what it launches; `traced` holds it and lasts as long. `call` may be
 * NULL. */
const struct cs_gpu *cs_traced_gpu(struct cs_traced *traced, struct cs_trace *trace,
                                   const struct cs_gpu *gpu, const struct cs_call *call);

/* For an arena that is to be traced: see convshim/scratch.h. `trace` is a struct cs_trace. */
void cs_traced_scratch(void *trace, const struct cs_scratch_event *event);

#endif
