/* CuPy 13: FindEx in a buffer of max_workspace_size, which is 8 MiB unless the program sets it; of
 * its rows the first whose memory is no more; that much workspace for every call. */
#include "legacy.h"

enum {
    MAX_WORKSPACE = 8 << 20
};

static bool choose(struct session *session, const struct legacy *legacy, enum direction direction,
                   struct operands *operands, struct answer *chosen)
{
    struct answers answers = {0};
    const size_t most = session->limit < MAX_WORKSPACE ? session->limit : MAX_WORKSPACE;
    void *workspace;
    if (!session_memory(most, &workspace))
        return false;
    TRY_CUDNN(legacy_find_ex(session, legacy, direction, operands, workspace, most, &answers),
              free);
free:
    cudaFree(workspace);
    for (int i = 0; i < answers.count; i++) {
        const struct answer *answer = &answers.row[i];
        if (answer->status == CUDNN_STATUS_SUCCESS && answer->memory <= most) {
            *chosen = *answer;
            return operands_restore(session, operands, direction);
        }
    }
    fputs("no algorithm\n", stderr);
    return false;
}

static bool run(struct session *session, struct operands *operands, int layers)
{
    bool good = true;
    for (int i = 0; i < layers; i++)
        for (enum direction d = FORWARD; d < DIRECTIONS && good; d++)
            good = legacy_convolve(session, &operands[i], d, choose);
    return good;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"default", NULL};
    return session_main(argc, argv, modes, run);
}
