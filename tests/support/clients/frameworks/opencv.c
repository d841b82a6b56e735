/* OpenCV's DNN module on CUDA: the first answer of Get..Algorithm_v7 that fits into free memory and
 * is not the non-fused Winograd; one workspace for the whole net, as large as any layer needs,
 * allocated when the net is set up. Deconvolution is backward-data. The convolution with an
 * activation passes its output as z, times 0; the one with a residual adds it. */
#include "legacy.h"

enum step {
    CONVOLUTION,
    DECONVOLUTION,
    ACTIVATION,
    RESIDUAL,
    STEPS
};

struct stage {
    struct legacy legacy;
    struct answer chosen[STEPS];
};

static enum direction direction_of(enum step step)
{
    return step == DECONVOLUTION ? BACKWARD_DATA : FORWARD;
}

static bool winograd(enum direction direction, int algorithm)
{
    return direction == FORWARD ? algorithm == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED
                                : algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED;
}

static bool choose(struct session *session, struct legacy *legacy, enum direction direction,
                   struct answer *chosen)
{
    struct answers answers;
    size_t available, total;
    TRY_CUDNN(legacy_get(session, legacy, direction, &answers), fail);
    TRY_CUDA(cudaMemGetInfo(&available, &total), fail);
    for (int i = 0; i < answers.count; i++) {
        const struct answer *answer = &answers.row[i];
        if (answer->status == CUDNN_STATUS_SUCCESS && answer->memory < available &&
            !winograd(direction, answer->algorithm)) {
            *chosen = *answer;
            return true;
        }
    }
    fputs("no algorithm\n", stderr);
fail:
    return false;
}

/* Makes *bytes_p large enough for the stage. */
static bool set_up(struct session *session, struct operands *operands, struct stage *stage,
                   size_t *bytes_p)
{
    cudnnMathType_t math =
        operands->layer.type == CUDNN_DATA_FLOAT ? CUDNN_DEFAULT_MATH : CUDNN_TENSOR_OP_MATH;
    TRY_CUDNN(legacy_open(operands, math, &stage->legacy), fail);
    for (enum step step = 0; step < STEPS; step++) {
        struct answer *chosen = &stage->chosen[step];
        if (!choose(session, &stage->legacy, direction_of(step), chosen))
            return false;
        *bytes_p = chosen->memory > *bytes_p ? chosen->memory : *bytes_p;
    }
    return true;
fail:
    return false;
}

static bool execute(struct session *session, struct operands *operands, const struct stage *stage,
                    enum step step, void *workspace)
{
    const struct answer *chosen = &stage->chosen[step];
    const struct brought brought = {chosen->algorithm, workspace, chosen->memory};
    const struct legacy *legacy = &stage->legacy;
    struct formula formula = {direction_of(step), 1.0F, 0.0F, false, false};
    if (step == ACTIVATION || step == RESIDUAL) {
        formula.biased = formula.relu = true;
        formula.beta = step == RESIDUAL ? 1.0F : 0.0F;
        TRY_CUDNN(legacy_run_fused(session, legacy, operands, &brought, formula.beta,
                                   CUDNN_ACTIVATION_RELU),
                  fail);
    } else {
        TRY_CUDNN(legacy_run(session, legacy, formula.direction, operands, &brought, 1.0F, 0.0F),
                  fail);
    }
    return operands_verify(session, operands, &formula);
fail:
    return false;
}

static bool run(struct session *session, struct operands *operands, int layers)
{
    struct stage stage[2] = {0};
    size_t bytes = 0;
    void *workspace = NULL;
    bool good = true;
    for (int i = 0; i < layers && good; i++)
        good = set_up(session, &operands[i], &stage[i], &bytes);
    good = good && session_workspace(session, bytes, &workspace);
    for (int i = 0; i < layers; i++)
        for (enum step step = 0; step < STEPS && good; step++)
            good = execute(session, &operands[i], &stage[i], step, workspace);
    cudaFree(workspace);
    for (int i = 0; i < layers; i++)
        legacy_close(&stage[i].legacy);
    return good;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"default", NULL};
    return session_main(argc, argv, modes, run);
}
