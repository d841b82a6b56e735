/* Whose plan is being rewritten: the problem, the device, and the engine that the client chose. */
#ifndef CS_CUDNN_PLAN_ENGINE_CHOICE_H
#define CS_CUDNN_PLAN_ENGINE_CHOICE_H

#include "convshim/vendor.h"
#include "cudnn/bind/real.h"
#include "cudnn/plan/device_profile.h"

struct cs_maker {
    struct cs_problem problem; /* the whole */
    struct cs_target target;   /* target.device is owned */
    struct cs_engine engine;   /* the client's */
    struct cs_notes notes;     /* of that engine */
    struct cs_profile profile; /* of the target, where one was asked for */
    bool known;                /* engine and notes were read */
};

/* Begins with a described problem and the client's names for its tensors; plans are for the handle
 * or, without one, for the device of what is read next. */
void cs_maker_init(struct cs_maker *maker, const struct cs_problem *problem,
                   const int64_t uid[CS_MAX_TENSORS], cudnnHandle_t handle);
void cs_maker_fini(struct cs_maker *maker);

/* Reads the engine and its settings from an engine configuration. False if cuDNN does not tell them
 * all. */
bool cs_maker_read(struct cs_maker *maker, cudnnBackendDescriptor_t configuration);

/* The same from a finalized execution plan. */
bool cs_maker_read_plan(struct cs_maker *maker, cudnnBackendDescriptor_t plan);

/* Picks the engine by heuristics: the first whose numerical notes have none of the `forbidden` bits
 * and whose plan is built. For the legacy API, which names none. */
bool cs_maker_pick(struct cs_maker *maker, unsigned forbidden);

/* A number that separates the devices that plans are made for. */
int64_t cs_maker_scope(const struct cs_maker *maker);

/* A handle is about to be destroyed: its address may mean another device soon. */
void cs_maker_retire(void);

#endif
