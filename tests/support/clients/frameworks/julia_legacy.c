/* The legacy part of Julia's cuDNN.jl: FindEx in a buffer of a tenth of the free memory, at most
 * 100 times the input; from its rows one that needs less than those before it at no more than a
 * tenth more time. libcudnn is loaded with RTLD_DEEPBIND and looked up. */
#include "legacy.h"
#include "looked_up.h"
#include <dlfcn.h>

/* Sanitizers refuse RTLD_DEEPBIND. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
const int look_up_flags = RTLD_LAZY | RTLD_LOCAL;
#else
const int look_up_flags = RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

static const struct answer *pick(const struct answers *answers)
{
    const struct answer *best = NULL;
    for (int i = 0; i < answers->count; i++) {
        const struct answer *row = &answers->row[i];
        if (row->status == CUDNN_STATUS_SUCCESS &&
            (best == NULL || (row->memory < best->memory && row->time < best->time * 1.1F)))
            best = row;
    }
    return best;
}

static bool choose(struct session *session, struct legacy *legacy, enum direction direction,
                   struct operands *operands, struct answer *chosen)
{
    struct answers answers = {0};
    const size_t input = tensor_storage_bytes(&operands->tensor[ROLE_X]);
    size_t available, total;
    void *workspace;
    TRY_CUDA(cudaMemGetInfo(&available, &total), fail);
    const size_t bytes = available / 10 < 100 * input ? available / 10 : 100 * input;
    if (!session_memory(bytes, &workspace))
        return false;
    TRY_CUDNN(legacy_find_ex(session, legacy, direction, operands, workspace, bytes, &answers),
              free);
free:
    cudaFree(workspace);
    const struct answer *best = pick(&answers);
    if (best == NULL)
        goto fail;
    *chosen = *best;
    return operands_restore(session, operands, direction);
fail:
    fputs("no algorithm\n", stderr);
    return false;
}

/* conv!, or with an activation the fused call whose z is y, times 0. */
static bool convolve(struct session *session, struct operands *operands, enum direction direction,
                     bool fused)
{
    const struct formula formula = {direction, 1.0F, 0.0F, fused, fused};
    struct legacy legacy = {0};
    struct answer chosen;
    struct brought brought = {0};
    bool good = false;
    TRY_CUDNN(legacy_open(operands, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION, &legacy), close);
    if (!choose(session, &legacy, direction, operands, &chosen))
        goto close;
    brought = (struct brought){chosen.algorithm, NULL, chosen.memory};
    if (!session_workspace(session, brought.bytes, &brought.workspace))
        goto close;
    if (fused)
        TRY_CUDNN(
            legacy_run_fused(session, &legacy, operands, &brought, 0.0F, CUDNN_ACTIVATION_RELU),
            close);
    else
        TRY_CUDNN(legacy_run(session, &legacy, direction, operands, &brought, 1.0F, 0.0F), close);
    good = operands_verify(session, operands, &formula);
close:
    cudaFree(brought.workspace);
    legacy_close(&legacy);
    return good;
}

static bool run(struct session *session, struct operands *operands, int layers)
{
    bool good = true;
    for (int i = 0; i < layers && good; i++) {
        for (enum direction d = FORWARD; d < DIRECTIONS && good; d++)
            good = convolve(session, &operands[i], d, false);
        good = good && convolve(session, &operands[i], FORWARD, true);
    }
    return good;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"default", NULL};
    return session_main(argc, argv, modes, run);
}
