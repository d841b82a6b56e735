/* Workspaces of plans on the recorded cuDNN: in proportion to the output, except for engine 0. */
#ifndef RECORDED_SIZES_H
#define RECORDED_SIZES_H

#include "cudnn/plan/handle_id.h"
#include "flow/instance.h"
#include "policies.h"
#include "recorded_cudnn.h"

enum {
    TILES = 8,
    N = 8, /* images */
    EXTENT = 128,
    WHOLE = 80 << 20 /* bytes that the untiled plan requires */
};

static inline CUresult gpu_attribute(int *value, CUdevice_attribute which, CUdevice gpu)
{
    (void)which;
    CHECK_INT(gpu, 0);
    *value = 1;
    return CUDA_SUCCESS;
}

/* A handle of a known GPU. */
static inline void know_gpu(void *handle)
{
    driver.cuDeviceGetAttribute = gpu_attribute;
    cs_handle_created((cudnnHandle_t)handle, 0);
}

/* With these options such a convolution runs in that many tiles. */
static inline void set_sized_options(void)
{
    char text[200];
    snprintf(text, sizeof text, "summary=off;policy=%s;tiles=%d;threshold=0;lanes=1;backing=client",
             policy_with_tiles()->name, TILES);
    setenv("CONVSHIM_CONFIG", text, 1);
}

static inline const struct recorded *link_of(const struct recorded *from, int name)
{
    return &cudnn.descriptor[attribute_of(from, name)->value[0]];
}

static inline const struct recorded *configuration_of(const struct recorded *of)
{
    return of->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR
               ? link_of(of, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
               : of;
}

/* Pixels of the output of a plan or a configuration. */
static inline int64_t pixels_of(const struct recorded *of)
{
    const struct recorded *configuration = configuration_of(of);
    const struct recorded *engine = attribute_of(configuration, CUDNN_ATTR_ENGINECFG_ENGINE)
                                        ? link_of(configuration, CUDNN_ATTR_ENGINECFG_ENGINE)
                                        : configuration;
    if (!attribute_of(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH))
        return N * EXTENT * EXTENT; /* of the heuristics */
    const struct recorded *graph = link_of(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
    const struct recorded *operation = link_of(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    const int64_t *dims =
        attribute_of(link_of(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y),
                     CUDNN_ATTR_TENSOR_DIMENSIONS)
            ->value;
    return dims[0] * dims[2] * dims[3];
}

static inline int64_t index_of(const struct recorded *of)
{
    const struct recorded *configuration = configuration_of(of);
    if (configuration->offer)
        return configuration->offer->engine.index;
    const struct recorded *engine = link_of(configuration, CUDNN_ATTR_ENGINECFG_ENGINE);
    return attribute_of(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX)->value[0];
}

/* Engine 0 requires nothing, another one as much as it has pixels. */
static inline int64_t sized(const struct recorded *plan)
{
    return index_of(plan) == 0 ? 0 : WHOLE * pixels_of(plan) / (N * EXTENT * EXTENT);
}

/* True if a plan is of the whole convolution, in the whole workspace. */
static inline bool is_untiled(const struct recorded *plan)
{
    return pixels_of(plan) == N * EXTENT * EXTENT && index_of(plan) != 0;
}

/* Checks the calls and the tiled ones that were counted since the last time, or since
 * counted_start. */
static int64_t counted_calls, counted_tiled;
static uint64_t counted_turns;

static inline void counted_start(void)
{
    const struct cs *cs = cs_instance_made();
    counted_calls = cs ? cs->account.calls : 0;
    counted_tiled = cs ? cs->account.tiled_calls : 0;
    counted_turns = cs ? cs->peak.turns : 0;
}

/* Checks the calls that were added to the peak of convolutions since then. */
static inline void check_watched(int calls)
{
    CHECK_INT(cs_instance_made()->peak.turns - counted_turns, calls);
}

static inline void check_counted(int calls, int tiled)
{
    const struct cs_account *account = &cs_instance_made()->account;
    CHECK_INT(account->calls - counted_calls, calls);
    CHECK_INT(account->tiled_calls - counted_tiled, tiled);
    counted_start();
}

#endif
