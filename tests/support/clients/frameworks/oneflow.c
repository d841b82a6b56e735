/* OneFlow: the first answer of Get..Algorithm_v7 (default) or FindEx (search); its memory field is
 * the workspace, and the program aborts if that is more than cudnn_buf_limit_mbyte. The buffer of a
 * search is as large as that limit; none is given here for more than 64 MiB. */
#include "legacy.h"

enum {
    SEARCH_BUFFER = 64 << 20
};

static bool search(struct session *session, const struct legacy *legacy, enum direction direction,
                   struct operands *operands, struct answers *answers)
{
    size_t bytes = session->limit < SEARCH_BUFFER ? session->limit : SEARCH_BUFFER;
    void *workspace;
    bool good = false;
    if (!session_memory(bytes, &workspace))
        return false;
    TRY_CUDNN(legacy_find_ex(session, legacy, direction, operands, workspace, bytes, answers),
              free);
    good = operands_restore(session, operands, direction);
free:
    cudaFree(workspace);
    return good;
}

static bool choose(struct session *session, const struct legacy *legacy, enum direction direction,
                   struct operands *operands, struct answer *chosen)
{
    struct answers answers;
    if (session_mode_is(session, "search")) {
        if (!search(session, legacy, direction, operands, &answers))
            return false;
    } else {
        TRY_CUDNN(legacy_get(session, legacy, direction, &answers), fail);
    }
    if (answers.count == 0 || answers.row[0].status != CUDNN_STATUS_SUCCESS)
        goto fail;
    *chosen = answers.row[0];
    if (chosen->memory <= session->limit)
        return true;
    fprintf(stderr, "Check failed: algo_perf.memory <= limit (%zu vs. %zu)\n", chosen->memory,
            session->limit);
fail:
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
    static const char *const modes[] = {"default", "search", NULL};
    return session_main(argc, argv, modes, run);
}
