/* Plans of a trial through cuDNN's graph API. */
#include "cudnn/standalone/trial_plan.h"

enum {
    OFFERS = 96 /* of one heuristic mode, as many as are looked at */
};

static bool try_configuration(struct cs_trial_plan *plan, cudnnBackendDescriptor_t configuration)
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    cudnnBackendDescriptor_t made = cs_descriptors_plan(&builder, &plan->target, configuration);
    plan->required = cs_descriptors_workspace(&builder, made);
    plan->engine = cs_descriptors_index(&builder, configuration);
    bool built = builder.status == CUDNN_STATUS_SUCCESS;
    if (built)
        plan->plan = cs_descriptor_take(&builder, made);
    cs_descriptor_builder_clear(&builder);
    return built;
}

/* The fallback engines come last, as frameworks try them. */
bool cs_trial_plan_make(const struct cs_trial *trial, const struct cs_problem *problem,
                        struct cs_trial_plan *plan)
{
    static const cudnnBackendHeurMode_t modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};
    *plan = (struct cs_trial_plan){.choice = -1, .target.handle = trial->handle};
    for (int i = 0; i < CS_OPERANDS; i++)
        plan->target.uid[i] = i + 1;
    for (size_t mode = 0; mode < sizeof modes / sizeof *modes && !plan->plan; mode++) {
        struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
        cudnnBackendDescriptor_t configuration[OFFERS];
        int offers = cs_descriptors_heuristics(&builder, &plan->target, problem, modes[mode],
                                               configuration, OFFERS);
        for (int i = 0; i < offers && !plan->plan; i++, plan->choice++)
            (void)try_configuration(plan, configuration[i]);
        cs_descriptor_builder_clear(&builder);
    }
    return plan->plan != NULL;
}

cudnnStatus_t cs_trial_plan_bind(struct cs_trial_plan *plan, const CUdeviceptr operand[CS_OPERANDS],
                                 CUdeviceptr workspace)
{
    void *pointer[CS_OPERANDS];
    for (int i = 0; i < CS_OPERANDS; i++)
        pointer[i] = (void *)(uintptr_t)operand[i];
    return cs_descriptors_pack(CS_OPERANDS, pointer, plan->target.uid, (void *)(uintptr_t)workspace,
                               &plan->pack);
}

cudnnStatus_t cs_trial_plan_run(const struct cs_trial *trial, const struct cs_trial_plan *plan)
{
    return CS_REAL(cudnnBackendExecute, trial->handle, plan->plan, plan->pack);
}

void cs_trial_plan_drop(struct cs_trial_plan *plan)
{
    if (plan->pack)
        (void)CS_REAL(cudnnBackendDestroyDescriptor, plan->pack);
    if (plan->plan)
        (void)CS_REAL(cudnnBackendDestroyDescriptor, plan->plan);
    plan->pack = plan->plan = NULL;
}
