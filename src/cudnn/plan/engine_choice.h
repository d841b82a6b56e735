/* The plan that is tiled: its problem, its device, and the engine that the application chose. */
#ifndef CS_CUDNN_PLAN_ENGINE_CHOICE_H
#define CS_CUDNN_PLAN_ENGINE_CHOICE_H

#include "convshim/vendor.h"
#include "cudnn/bind/real.h"
#include "cudnn/plan/descriptors.h"
#include "cudnn/plan/device_profile.h"
#include "cudnn/plan/handle_id.h"

struct cs_engine_choice {
    struct cs_problem problem;    /* the whole */
    struct cs_target target;      /* target.device is owned */
    struct cs_engine engine;      /* the application's */
    struct cs_engine_notes notes; /* notes of the application's engine */
    struct cs_profile profile;    /* profile of the target's device, if it was queried */
    struct cs_handle_id id;       /* of target.handle */
    bool known;                   /* engine and notes were read */
    enum {
        CS_SUMS_UNKNOWN,
        CS_SUMS_WHOLE,
        CS_SUMS_DIVIDED
    } sums;    /* of the untiled plan (cs_divided_sums); not queried before the first tile */
    bool many; /* plans of other engines for the same graph are made too, and most of them never run
                */
};

/* Begins a choice for a described problem and the application's names for its tensors. Plans are
 * made with the handle or, without one, for the device of the descriptor that is read next. `id`:
 * of the handle. */
void cs_engine_choice_init(struct cs_engine_choice *choice, const struct cs_problem *problem,
                           const int64_t uid[CS_MAX_TENSORS], cudnnHandle_t handle,
                           struct cs_handle_id id);
void cs_engine_choice_fini(struct cs_engine_choice *choice);

/* Reads the engine and its settings from an engine configuration. False if cuDNN does not report
 * them all. */
bool cs_engine_choice_read(struct cs_engine_choice *choice, cudnnBackendDescriptor_t configuration);

/* Reads the engine and its knobs, without settings. */
bool cs_engine_choice_engine_of(cudnnBackendDescriptor_t configuration, struct cs_engine *engine);

/* Reads engine, knobs and settings of a finalized execution plan. */
bool cs_engine_choice_read_plan(struct cs_engine_choice *choice, cudnnBackendDescriptor_t plan);

/* Chooses an engine by heuristics: the first whose numerical notes have none of the `forbidden`
 * bits and whose plan can be built. For the legacy API, which names no engine. */
bool cs_engine_choice_pick(struct cs_engine_choice *choice, unsigned forbidden);

/* Returns a number that differs for different GPUs and engine settings, for the keys of decisions.
 */
int64_t cs_engine_choice_scope(const struct cs_engine_choice *choice);

/* --- divided sums ---
 *
 * Engines that divide the sums of their last thread blocks (stream-K).
 *
 * The thread blocks of a plan rarely fill all multiprocessors a whole number of times. Some engines
 * made for capability 9.0 and later divide the sums of the remaining blocks among all
 * multiprocessors, and add the parts in the workspace. Where a sum is divided depends on the number
 * of blocks, so on the extents of the problem. So tiles have other last bits than the untiled call
 * if it divides sums, or if they do.
 *
 * On an H200 this holds without exception for engine 67: 18 compared tilings with parts of sums in
 * the workspace of the untiled plan or of the tiles have other last bits, and 15 without are equal
 * (docs/design/decisions.md). */

/* True if plans of the engine with its knobs may divide sums. *undivided_p is then the same engine
 * with a knob by which it divides none. */
bool cs_divided_sums(const struct cs_engine *engine, struct cs_engine *undivided_p);

#endif
