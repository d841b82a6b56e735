/* Plans of a trial through cuDNN's graph API, and the choice between the two APIs. */
#include "cudnn/standalone/trial_plan.h"

#include <string.h>

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
static bool make_graph(const struct cs_problem *problem, int64_t first, struct cs_trial_plan *plan)
{
    static const cudnnBackendHeurMode_t modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};
    for (size_t mode = 0; mode < sizeof modes / sizeof *modes && !plan->plan; mode++) {
        struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
        cudnnBackendDescriptor_t configuration[OFFERS];
        int offers = cs_descriptors_heuristics(&builder, &plan->target, problem, modes[mode],
                                               configuration, OFFERS);
        for (int i = 0; i < offers && !plan->plan; i++)
            if (++plan->choice >= first)
                (void)try_configuration(plan, configuration[i]);
        cs_descriptor_builder_clear(&builder);
    }
    return plan->plan != NULL;
}

bool cs_trial_plan_make(const struct cs_trial *trial, enum cs_trial_api api,
                        const struct cs_problem *problem, int64_t first, struct cs_trial_plan *plan)
{
    *plan = (struct cs_trial_plan){.api = api,
                                   .choice = -1,
                                   .target.handle = trial->handle,
                                   .alpha = (float)problem->alpha,
                                   .beta = (float)problem->beta};
    for (int i = 0; i < CS_OPERANDS; i++)
        plan->target.uid[i] = i + 1;
    return api == CS_TRIAL_LEGACY ? cs_trial_legacy_make(trial, problem, first, plan)
                                  : make_graph(problem, first, plan);
}

cudnnStatus_t cs_trial_plan_bind(struct cs_trial_plan *plan, const CUdeviceptr operand[CS_OPERANDS],
                                 CUdeviceptr workspace)
{
    struct cs_legacy_execution *run = &plan->call.execution;
    void *pointer[CS_OPERANDS], *memory = (void *)(uintptr_t)workspace;
    for (int i = 0; i < CS_OPERANDS; i++)
        pointer[i] = (void *)(uintptr_t)operand[i];
    if (plan->api == CS_TRIAL_GRAPH)
        return cs_descriptors_pack(CS_OPERANDS, pointer, plan->target.uid, memory, &plan->pack);
    *run = (struct cs_legacy_execution){.alpha = &plan->alpha,
                                        .beta = &plan->beta,
                                        .workspace = memory,
                                        .provided = (size_t)plan->required};
    memcpy(run->data, pointer, sizeof run->data);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cs_trial_plan_run(const struct cs_trial *trial, const struct cs_trial_plan *plan)
{
    return plan->api == CS_TRIAL_LEGACY
               ? cs_legacy_call_run(&plan->call)
               : CS_REAL(cudnnBackendExecute, trial->handle, plan->plan, plan->pack);
}

void cs_trial_plan_drop(const struct cs_trial *trial, struct cs_trial_plan *plan)
{
    if (plan->pack)
        (void)CS_REAL(cudnnBackendDestroyDescriptor, plan->pack);
    if (plan->plan)
        (void)CS_REAL(cudnnBackendDestroyDescriptor, plan->plan);
    plan->pack = plan->plan = NULL;
    cs_trial_legacy_drop(trial, plan);
}
