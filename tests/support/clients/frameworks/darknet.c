/* Darknet (AlexeyAB): per layer the first answers of Get..Algorithm_v7 within a limit for the three
 * directions, the largest of their three workspace queries as the layer's size, and one workspace
 * of the largest layer's size for the net. Forward overwrites, both backward directions add. Every
 * call gets the layer's size, not its own. */
#include "legacy.h"

struct stage {
    struct legacy legacy;
    int algorithm[DIRECTIONS];
    size_t workspace_size;
};

static bool choose(struct session *session, struct legacy *legacy, enum direction direction,
                   int *algorithm_p)
{
    struct answers answers;
    TRY_CUDNN(legacy_get(session, legacy, direction, &answers), fail);
    for (int i = 0; i < answers.count; i++) {
        const struct answer *answer = &answers.row[i];
        if (answer->status == CUDNN_STATUS_SUCCESS && answer->memory <= session->limit) {
            *algorithm_p = answer->algorithm;
            return true;
        }
    }
    fputs("no algorithm\n", stderr);
fail:
    return false;
}

static bool set_up(struct session *session, struct operands *operands, struct stage *stage)
{
    TRY_CUDNN(legacy_open(operands, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION, &stage->legacy), fail);
    for (enum direction d = FORWARD; d < DIRECTIONS; d++)
        if (!choose(session, &stage->legacy, d, &stage->algorithm[d]))
            return false;
    for (enum direction d = FORWARD; d < DIRECTIONS; d++) {
        size_t bytes;
        TRY_CUDNN(legacy_size(session, &stage->legacy, d, stage->algorithm[d], &bytes), fail);
        if (bytes > stage->workspace_size)
            stage->workspace_size = bytes;
    }
    return true;
fail:
    return false;
}

static bool execute(struct session *session, struct operands *operands, const struct stage *stage,
                    enum direction direction, void *workspace)
{
    const struct brought brought = {stage->algorithm[direction], workspace, stage->workspace_size};
    const float beta = direction == FORWARD ? 0.0F : 1.0F;
    TRY_CUDNN(legacy_run(session, &stage->legacy, direction, operands, &brought, 1.0F, beta), fail);
    return operands_verify(session, operands,
                           &(struct formula){direction, 1.0F, beta, false, false});
fail:
    return false;
}

static bool run(struct session *session, struct operands *operands, int layers)
{
    struct stage stage[2] = {0};
    size_t bytes = 0;
    void *workspace = NULL;
    bool good = true;
    for (int i = 0; i < layers && good; i++) {
        good = set_up(session, &operands[i], &stage[i]);
        bytes = stage[i].workspace_size > bytes ? stage[i].workspace_size : bytes;
    }
    good = good && session_workspace(session, bytes, &workspace);
    for (int i = 0; i < layers && good; i++)
        good = execute(session, &operands[i], &stage[i], FORWARD, workspace);
    for (int i = layers - 1; i >= 0 && good; i--)
        good = execute(session, &operands[i], &stage[i], BACKWARD_FILTER, workspace) &&
               execute(session, &operands[i], &stage[i], BACKWARD_DATA, workspace);
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
