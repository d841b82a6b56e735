/* CTranslate2: a 1-D convolution as an image of height 1. All descriptors are created and destroyed
 * around every call, Get..WorkspaceSize is asked for every call, and the memory is the call's.
 *   default  Forward, IMPLICIT_GEMM
 *   fused    BiasActivationForward with IDENTITY, which needs IMPLICIT_PRECOMP_GEMM; z is y,
 *            times 0 */
#include "legacy.h"

static bool convolve(struct session *session, struct operands *operands)
{
    const bool fused = session_mode_is(session, "fused");
    const struct formula formula = {FORWARD, 1.0F, 0.0F, fused, false};
    struct legacy legacy = {0};
    struct brought brought = {fused ? CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM
                                    : CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
                              NULL, 0};
    bool good = false;
    TRY_CUDNN(legacy_open(operands, CUDNN_TENSOR_OP_MATH, &legacy), close);
    TRY_CUDNN(legacy_size(session, &legacy, FORWARD, brought.algorithm, &brought.bytes), close);
    if (!session_workspace(session, brought.bytes, &brought.workspace))
        goto close;
    if (fused)
        TRY_CUDNN(
            legacy_run_fused(session, &legacy, operands, &brought, 0.0F, CUDNN_ACTIVATION_IDENTITY),
            close);
    else
        TRY_CUDNN(legacy_run(session, &legacy, FORWARD, operands, &brought, 1.0F, 0.0F), close);
    good = true;
close:
    legacy_close(&legacy);
    good = good && operands_verify(session, operands, &formula);
    cudaFree(brought.workspace);
    return good;
}

/* The two convolutions before a Whisper encoder, a few times shorter, for a batch of recordings. */
static bool run(struct session *session, struct operands *operands, int layers)
{
    static const struct layer conv[] = {
        {CUDNN_DATA_HALF, 4, 80, 128, {1, 3000}, {1, 3}, {0, 1}, {0, 1}, {1, 1}},
        {CUDNN_DATA_HALF, 4, 128, 128, {1, 3000}, {1, 3}, {0, 1}, {0, 1}, {1, 2}},
        {CUDNN_DATA_FLOAT, 1, 128, 64, {1, 9000}, {1, 3}, {0, 1}, {0, 1}, {1, 1}}};
    (void)operands, (void)layers;
    bool good = true;
    for (size_t i = 0; i < sizeof conv / sizeof *conv && good; i++) {
        struct operands own;
        good = operands_open(&conv[i], 10 + i, &own);
        for (int times = 0; times < 2 && good; times++)
            good = convolve(session, &own);
        operands_close(&own);
    }
    return good;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"default", "fused", NULL};
    return session_main(argc, argv, modes, run);
}
