/* ONNX Runtime with cuDNN 9: a graph of cudnn-frontend 1.x per Conv node, here with asymmetric
 * padding. check_support queries every engine config for its workspace before any plan is built;
 * then one plan is built and queried. All is built again whenever the extents of X differ from the
 * run before. ConvTranspose is a graph of backward-data. libcudnn is loaded and looked up.
 *   default     Conv, the bias added by another kernel
 *   fuse_bias   fuse_conv_bias=1 */
#include "graph.h"
#include "looked_up.h"
#include <dlfcn.h>

const int look_up_flags = RTLD_NOW | RTLD_LOCAL;

struct node {
    struct wish wish;
    int64_t height; /* of the X that the plan was built for */
    cudnnBackendDescriptor_t plan;
    int64_t workspace_bytes;
};

static int check_support(const struct configs *configs, int64_t *size)
{
    int supported = 0;
    for (int i = 0; i < configs->count; i++) {
        if (config_size(configs->config[i], &size[i]) == CUDNN_STATUS_SUCCESS)
            supported++;
        else
            size[i] = -1;
    }
    return supported;
}

/* The first config that builds. Its plan must report the config's size. */
static bool build_plan(struct node *node, const struct configs *configs, const int64_t *size)
{
    for (int i = 0; i < configs->count; i++) {
        if (size[i] < 0 || plan_open(configs->config[i], NULL, &node->plan) != CUDNN_STATUS_SUCCESS)
            continue;
        TRY_CUDNN(plan_size(node->plan, &node->workspace_bytes), fail);
        if (node->workspace_bytes == size[i])
            return true;
        fprintf(stderr, "the plan wants %lld bytes, its config %lld\n",
                (long long)node->workspace_bytes, (long long)size[i]);
        return false;
    }
fail:
    return false;
}

static bool build(struct session *session, const struct operands *operands, struct node *node)
{
    struct graph graph = {0};
    struct configs configs = {0};
    int64_t size[GRAPH_CONFIGS];
    bool good = false;
    plan_close(node->plan);
    node->plan = NULL;
    TRY_CUDNN(graph_open(session->handle, operands, &node->wish, &graph), close);
    TRY_CUDNN(configs_ask(&graph, CUDNN_HEUR_MODE_B, &configs), close);
    good = check_support(&configs, size) > 0 && build_plan(node, &configs, size);
    node->height = operands->layer.size[0];
    if (!good)
        fputs("no plan\n", stderr);
close:
    configs_close(&configs);
    graph_close(&graph);
    return good;
}

static bool execute(struct session *session, struct operands *operands, struct node *node)
{
    const struct formula formula = wish_formula(&node->wish);
    void *workspace;
    bool good = false;
    if (node->height != operands->layer.size[0] && !build(session, operands, node))
        return false;
    if (!session_workspace(session, (size_t)node->workspace_bytes, &workspace))
        return false;
    TRY_CUDNN(plan_run(session, node->plan, operands, &node->wish, workspace), free);
    good = operands_verify(session, operands, &formula);
free:
    cudaFree(workspace);
    return good;
}

static bool run_node(struct session *session, struct operands *operands, int extents,
                     const struct wish *wish)
{
    struct node node = {.wish = *wish};
    bool good = true;
    for (int i = 0; i < 2 * extents && good; i++)
        good = execute(session, &operands[i / 2], &node);
    good = good && execute(session, &operands[0], &node);
    plan_close(node.plan);
    return good;
}

/* SAME_UPPER: more padding after than before. */
static bool run(struct session *session, struct operands *operands, int layers)
{
    enum {
        EXTENTS = 2
    };
    const bool biased = session_mode_is(session, "fuse_bias");
    struct operands own[EXTENTS];
    bool good = true;
    for (int i = 0; i < layers && good; i++) {
        for (int e = 0; e < EXTENTS && good; e++) {
            struct layer layer = operands[i].layer;
            for (int d = 0; d < 2; d++) {
                layer.pre[d]--;
                layer.post[d]++;
            }
            layer.size[0] -= 16 * e;
            good = operands_open(&layer, 20 + 2 * (uint64_t)i + (uint64_t)e, &own[e]);
        }
        good = good &&
               run_node(session, own, EXTENTS,
                        &(struct wish){FORWARD, 1.0F, 0.0F, biased, false, NULL}) &&
               run_node(session, own, EXTENTS,
                        &(struct wish){BACKWARD_DATA, 1.0F, 0.0F, false, false, NULL});
        for (int e = 0; e < EXTENTS; e++)
            operands_close(&own[e]);
    }
    return good;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"default", "fuse_bias", NULL};
    return session_main(argc, argv, modes, run);
}
