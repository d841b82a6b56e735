/* PaddlePaddle: algorithms that need more than FLAGS_conv_workspace_size_limit are filtered out.
 * libcudnn is loaded and looked up.
 *   default   conv_cudnn_v7.h: the first result of Get..Algorithm_v7 whose memory field and whose
 *             workspace query are within the limit
 *   frontend  conv_cudnn_frontend.h: the first plan within the limit, cached */
#include "graph.h"
#include "legacy.h"
#include "looked_up.h"
#include <dlfcn.h>

enum {
    LIMIT = 512 << 20
};

const int look_up_flags = RTLD_LAZY | RTLD_LOCAL;

static size_t limit_of(const struct session *session)
{
    return session->limit < LIMIT ? session->limit : LIMIT;
}

static bool search(struct session *session, const struct legacy *legacy, enum direction direction,
                   struct brought *brought)
{
    struct answers answers;
    TRY_CUDNN(legacy_get(session, legacy, direction, &answers), fail);
    for (int i = 0; i < answers.count; i++) {
        const struct answer *row = &answers.row[i];
        if (row->status != CUDNN_STATUS_SUCCESS || row->memory > limit_of(session))
            continue;
        brought->algorithm = row->algorithm;
        TRY_CUDNN(legacy_size(session, legacy, direction, row->algorithm, &brought->bytes), fail);
        if (brought->bytes <= limit_of(session))
            return true;
    }
    fputs("Try setting FLAGS_conv_workspace_size_limit higher\n", stderr);
fail:
    return false;
}

static bool run_v7(struct session *session, struct operands *operands, enum direction direction)
{
    struct legacy legacy = {0};
    struct brought brought = {0};
    bool good = false;
    TRY_CUDNN(legacy_open(operands, CUDNN_TENSOR_OP_MATH, &legacy), close);
    if (!search(session, &legacy, direction, &brought) ||
        !session_workspace(session, brought.bytes, &brought.workspace))
        goto close;
    TRY_CUDNN(legacy_run(session, &legacy, direction, operands, &brought, 1.0F, 0.0F), close);
    good =
        operands_verify(session, operands, &(struct formula){direction, 1.0F, 0.0F, false, false});
close:
    cudaFree(brought.workspace);
    legacy_close(&legacy);
    return good;
}

static cudnnBackendDescriptor_t find_plan(struct session *session, const struct operands *operands,
                                          const struct wish *wish, int64_t *bytes_p)
{
    struct graph graph = {0};
    struct configs configs = {0};
    cudnnBackendDescriptor_t plan = NULL;
    TRY_CUDNN(graph_open(session->handle, operands, wish, &graph), close);
    TRY_CUDNN(configs_ask(&graph, CUDNN_HEUR_MODE_A, &configs), close);
    for (int i = 0; i < configs.count && plan == NULL; i++) {
        if (plan_open(configs.config[i], session->handle, &plan) == CUDNN_STATUS_SUCCESS &&
            (plan_size(plan, bytes_p) != CUDNN_STATUS_SUCCESS ||
             (size_t)*bytes_p > limit_of(session))) {
            plan_close(plan);
            plan = NULL;
        }
    }
    if (plan == NULL)
        fputs("Try setting FLAGS_conv_workspace_size_limit higher\n", stderr);
close:
    configs_close(&configs);
    graph_close(&graph);
    return plan;
}

static bool run_frontend(struct session *session, struct operands *operands,
                         enum direction direction)
{
    const struct wish wish = {direction, 1.0F, 0.0F, false, false, NULL};
    const struct formula formula = wish_formula(&wish);
    int64_t bytes = 0;
    void *workspace = NULL;
    cudnnBackendDescriptor_t plan = find_plan(session, operands, &wish, &bytes);
    bool good = plan != NULL && session_workspace(session, (size_t)bytes, &workspace);
    for (int i = 0; i < 2 && good; i++)
        good = plan_run(session, plan, operands, &wish, workspace) == CUDNN_STATUS_SUCCESS &&
               operands_verify(session, operands, &formula);
    cudaFree(workspace);
    plan_close(plan);
    return good;
}

static bool run(struct session *session, struct operands *operands, int layers)
{
    const bool frontend = session_mode_is(session, "frontend");
    bool good = true;
    for (int i = 0; i < layers; i++)
        for (enum direction d = FORWARD; d < DIRECTIONS && good; d++)
            good = frontend ? run_frontend(session, &operands[i], d)
                            : run_v7(session, &operands[i], d);
    return good;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"default", "frontend", NULL};
    return session_main(argc, argv, modes, run);
}
