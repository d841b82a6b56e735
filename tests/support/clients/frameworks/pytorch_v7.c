/* PyTorch with TORCH_CUDNN_V8_API_DISABLED=1: Conv_v7.cpp.
 *   default        the first answer of Get..Algorithm_v7; its memory field is the workspace
 *   benchmark      FindEx with the largest workspace that any algorithm asks for; the same then
 *   deterministic  one fixed algorithm per direction and Get..WorkspaceSize */
#include "legacy.h"

static bool ask(struct session *session, struct legacy *legacy, enum direction direction,
                struct answer *chosen)
{
    struct answers answers;
    TRY_CUDNN(legacy_get(session, legacy, direction, &answers), fail);
    for (int i = 0; i < answers.count; i++) {
        if (answers.row[i].status == CUDNN_STATUS_SUCCESS) {
            *chosen = answers.row[i];
            return true;
        }
    }
    fputs("no algorithm\n", stderr);
fail:
    return false;
}

/* The fastest, on a workspace that no algorithm is too large for. */
static bool benchmark(struct session *session, struct legacy *legacy, enum direction direction,
                      struct operands *operands, struct answer *chosen)
{
    struct answers answers = {0};
    size_t largest = 0, bytes;
    void *workspace;
    for (int algorithm = 0; algorithm < LEGACY_ANSWERS; algorithm++)
        if (legacy_size(session, legacy, direction, algorithm, &bytes) == CUDNN_STATUS_SUCCESS &&
            bytes > largest)
            largest = bytes;
    if (!session_workspace(session, largest, &workspace))
        return false;
    TRY_CUDNN(legacy_find_ex(session, legacy, direction, operands, workspace, largest, &answers),
              free);
free:
    cudaFree(workspace);
    if (answers.count == 0 || answers.row[0].status != CUDNN_STATUS_SUCCESS)
        return false;
    *chosen = answers.row[0];
    return operands_restore(session, operands, direction);
}

static bool fix(struct session *session, struct legacy *legacy, enum direction direction,
                struct answer *chosen)
{
    static const int algorithm[DIRECTIONS] = {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                                              CUDNN_CONVOLUTION_BWD_DATA_ALGO_1,
                                              CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1};
    chosen->algorithm = algorithm[direction];
    TRY_CUDNN(cudnnGetConvolutionMathType(legacy->conv, &chosen->math), fail);
    TRY_CUDNN(legacy_size(session, legacy, direction, chosen->algorithm, &chosen->memory), fail);
    return true;
fail:
    return false;
}

static bool choose(struct session *session, struct legacy *legacy, enum direction direction,
                   struct operands *operands, struct answer *chosen)
{
    bool good;
    if (session_mode_is(session, "benchmark"))
        good = benchmark(session, legacy, direction, operands, chosen);
    else if (session_mode_is(session, "deterministic"))
        good = fix(session, legacy, direction, chosen);
    else
        good = ask(session, legacy, direction, chosen);
    if (good)
        TRY_CUDNN(cudnnSetConvolutionMathType(legacy->conv, chosen->math), fail);
    return good;
fail:
    return false;
}

/* The fused call passes its output as z, times 0. */
static bool convolve(struct session *session, struct legacy *legacy, enum direction direction,
                     bool fused, struct operands *operands)
{
    struct answer chosen = {0};
    struct brought brought;
    bool good = false;
    if (!choose(session, legacy, direction, operands, &chosen))
        return false;
    brought = (struct brought){chosen.algorithm, NULL, chosen.memory};
    if (!session_workspace(session, brought.bytes, &brought.workspace))
        return false;
    if (fused)
        TRY_CUDNN(
            legacy_run_fused(session, legacy, operands, &brought, 0.0F, CUDNN_ACTIVATION_RELU),
            free);
    else
        TRY_CUDNN(legacy_run(session, legacy, direction, operands, &brought, 1.0F, 0.0F), free);
    good =
        operands_verify(session, operands, &(struct formula){direction, 1.0F, 0.0F, fused, fused});
free:
    cudaFree(brought.workspace);
    return good;
}

static bool run_layer(struct session *session, struct operands *operands)
{
    struct legacy legacy = {0};
    bool good = false;
    cudnnMathType_t math =
        operands->layer.type == CUDNN_DATA_FLOAT ? CUDNN_DEFAULT_MATH : CUDNN_TENSOR_OP_MATH;
    TRY_CUDNN(legacy_open(operands, math, &legacy), close);
    good = true;
    for (enum direction d = FORWARD; d < DIRECTIONS && good; d++)
        good = convolve(session, &legacy, d, false, operands);
    good = good && convolve(session, &legacy, FORWARD, true, operands);
close:
    legacy_close(&legacy);
    return good;
}

static bool run(struct session *session, struct operands *operands, int layers)
{
    bool good = true;
    for (int i = 0; i < layers && good; i++)
        good = run_layer(session, &operands[i]);
    return good;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"default", "benchmark", "deterministic", NULL};
    return session_main(argc, argv, modes, run);
}
