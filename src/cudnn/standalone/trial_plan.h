/* A plan of one convolution, made as a client of either API of cuDNN makes it. One thread. */
#ifndef CS_CUDNN_STANDALONE_TRIAL_PLAN_H
#define CS_CUDNN_STANDALONE_TRIAL_PLAN_H

#include "cudnn/plan/descriptors.h"
#include "cudnn/plan/legacy_call.h"
#include "cudnn/standalone/open_gpu.h"

/* Zeros: no plan. It must not be moved: descriptors and calls contain addresses of it. */
struct cs_trial_plan {
    enum cs_trial_api api;
    int64_t choice;           /* the number of cuDNN's answer that it was made of, from 0 */
    int64_t engine, required; /* global index (legacy: the algorithm), bytes of workspace */
    struct cs_target target;  /* graph API, with the two descriptors */
    cudnnBackendDescriptor_t plan, pack;
    struct cs_legacy_call call; /* legacy API, with the scales */
    float alpha, beta;
};

/* Makes a plan of the first answer of cuDNN, not before the `first`-th, that becomes one. False:
 * there is none. cs_trial_plan_drop in both cases. */
bool cs_trial_plan_make(const struct cs_trial *trial, enum cs_trial_api api,
                        const struct cs_problem *problem, int64_t first,
                        struct cs_trial_plan *plan);

/* Sets the addresses that the plan runs on. */
cudnnStatus_t cs_trial_plan_bind(struct cs_trial_plan *plan, const CUdeviceptr operand[CS_OPERANDS],
                                 CUdeviceptr workspace);

cudnnStatus_t cs_trial_plan_run(const struct cs_trial *trial, const struct cs_trial_plan *plan);

/* Leaves `choice` and `required`. */
void cs_trial_plan_drop(const struct cs_trial *trial, struct cs_trial_plan *plan);

/* The same for the legacy API. */
bool cs_trial_legacy_make(const struct cs_trial *trial, const struct cs_problem *problem,
                          int64_t first, struct cs_trial_plan *plan);
void cs_trial_legacy_drop(const struct cs_trial *trial, struct cs_trial_plan *plan);

#endif
