/* Keeps operation graphs and engines of tiles for the next query. The plans that benchmark modes
 * make of one convolution differ mainly in knobs. Making a tile's graph and engine takes longer
 * than the query of one more configuration. Thread-safe: a taken engine belongs to one thread. */
#ifndef CS_CUDNN_PLAN_KEPT_ENGINE_H
#define CS_CUDNN_PLAN_KEPT_ENGINE_H

#include "cudnn/plan/descriptors.h"

struct cs_kept_engine {
    struct cs_descriptor_builder builder; /* owns the descriptors of the engine */
    cudnnBackendDescriptor_t engine;      /* NULL after an error */
    uint64_t hash;                        /* of `word` */
    int words;                            /* length of `word`; 0: the engine is not to be kept */
    int64_t word[];                       /* identifies the engine */
};

/* Returns an engine by its index on a problem's graph, and makes it if none is kept. NULL if memory
 * is short. `handle_number` is that of the target's handle (cs_handle_id), because addresses of
 * handles are reused. For a target without a handle no engine is kept. */
struct cs_kept_engine *cs_kept_engine_take(const struct cs_target *target, int64_t handle_number,
                                           const struct cs_problem *problem, int64_t index);

/* Returns an engine to the table, or destroys it if making it failed. */
void cs_kept_engine_give(struct cs_kept_engine *engine);

/* Destroys all kept engines. Called before a handle is destroyed. */
void cs_kept_engine_forget(void);

#endif
