/* A plan of one convolution, made as a client of cuDNN's graph API makes it. One thread. */
#ifndef CS_CUDNN_STANDALONE_TRIAL_PLAN_H
#define CS_CUDNN_STANDALONE_TRIAL_PLAN_H

#include "cudnn/plan/descriptors.h"
#include "cudnn/standalone/open_gpu.h"

/* Zeros: no plan. It must not be moved: descriptors and calls contain addresses of it. */
struct cs_trial_plan {
    int64_t choice;           /* the number of cuDNN's answer that it was made of, from 0 */
    int64_t engine, required; /* global index, bytes of workspace */
    struct cs_target target;
    cudnnBackendDescriptor_t plan, pack;
};

/* Makes a plan of the first answer of cuDNN that becomes one. False: there is none.
 * cs_trial_plan_drop in both cases. */
bool cs_trial_plan_make(const struct cs_trial *trial, const struct cs_problem *problem,
                        struct cs_trial_plan *plan);

/* Sets the addresses that the plan runs on. */
cudnnStatus_t cs_trial_plan_bind(struct cs_trial_plan *plan, const CUdeviceptr operand[CS_OPERANDS],
                                 CUdeviceptr workspace);

cudnnStatus_t cs_trial_plan_run(const struct cs_trial *trial, const struct cs_trial_plan *plan);

/* Leaves `choice` and `required`. */
void cs_trial_plan_drop(struct cs_trial_plan *plan);

#endif
