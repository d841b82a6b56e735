/* Operation graphs and engines of tiles, kept for the next question about them: the plans that
 * benchmark modes make of one convolution differ in little but knobs, and making a tile's graph and
 * engine takes longer than asking about one more configuration of it. Thread-safe: who takes one
 * has it alone. */
#ifndef CS_CUDNN_PLAN_KEPT_ENGINE_H
#define CS_CUDNN_PLAN_KEPT_ENGINE_H

#include "cudnn/plan/descriptors.h"

struct cs_kept_engine {
    struct cs_descriptor_builder builder; /* with what the engine is made of */
    cudnnBackendDescriptor_t engine;      /* none after an error */
    uint64_t hash;
    int words; /* 0: not to be kept */
    int64_t word[];
};

/* An engine by its index on a problem's graph, made if none is kept; NULL without memory.
 * `handle_number` is that of the target's handle (cs_handle_number): addresses of handles come
 * again. For a target without handle nothing is kept. */
struct cs_kept_engine *cs_kept_engine_take(const struct cs_target *target, int64_t handle_number,
                                           const struct cs_problem *problem, int64_t index);

/* Gives it back, to be kept unless it could not be made. */
void cs_kept_engine_give(struct cs_kept_engine *engine);

/* Destroys all that are kept: before a handle goes. */
void cs_kept_engine_forget(void);

#endif
