#include "plans.h"

/* Runs a graph once and checks the output. */
static bool launch_graph(struct client *client, cudaGraph_t graph)
{
    cudaGraphExec_t exec = NULL;
    bool right = false;
    TRY_CUDA(cudaMemset(client->memory.y, 0x3f, tensor_storage_bytes(&client->problem.y)), done);
    TRY_CUDA(cudaGraphInstantiate(&exec, graph, 0), done);
    TRY_CUDA(cudaGraphLaunch(exec, NULL), done);
    TRY_CUDA(cudaDeviceSynchronize(), done);
    right = plans_right(client);
done:
    if (exec != NULL)
        cudaGraphExecDestroy(exec);
    return right;
}

/* cudnn-frontend puts the graph that cuDNN populated into its own one, and passes that graph's copy
 * for the update. */
static bool populate_and_update(struct client *client, cudnnBackendDescriptor_t plan,
                                cudaGraph_t outer, cudaGraph_t inner)
{
    cudnnBackendDescriptor_t pack = NULL;
    cudaGraphNode_t node;
    cudaGraph_t copy;
    void *before = client->memory.y;
    bool right = false;
    if (!plans_pack(client, client->workspace, &pack))
        goto done;
    TRY_CUDNN(cudnnBackendPopulateCudaGraph(client->handle, plan, pack, inner), done);
    TRY_CUDA(cudaGraphAddChildGraphNode(&node, outer, NULL, 0, inner), done);
    if (!launch_graph(client, outer))
        goto done;
    cudnnBackendDestroyDescriptor(pack);
    pack = NULL;
    TRY_CUDA(cudaMalloc(&client->memory.y, tensor_storage_bytes(&client->problem.y)), done);
    TRY_CUDA(cudaFree(before), done);
    if (!plans_pack(client, client->workspace, &pack))
        goto done;
    TRY_CUDA(cudaGraphChildGraphNodeGetGraph(node, &copy), done);
    TRY_CUDNN(cudnnBackendUpdateCudaGraph(client->handle, plan, pack, copy), done);
    right = launch_graph(client, outer);
done:
    if (pack != NULL)
        cudnnBackendDestroyDescriptor(pack);
    return right;
}

/* Another plan of the same configuration instead. */
static bool replan(const struct client *client, struct chain *chain)
{
    cudnnBackendDescriptor_t plan = NULL;
    TRY_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan), fail);
    TRY_CUDNN(cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                                       &client->handle),
              fail);
    TRY_CUDNN(cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &chain->part[PART_CONFIG]),
              fail);
    TRY_CUDNN(cudnnBackendFinalize(plan), fail);
    cudnnBackendDestroyDescriptor(chain->part[PART_PLAN]);
    chain->part[PART_PLAN] = plan;
    return true;
fail:
    if (plan != NULL)
        cudnnBackendDestroyDescriptor(plan);
    return false;
}

static bool populate(struct client *client, struct chain *chain, int64_t *bytes)
{
    cudaGraph_t outer = NULL, inner = NULL;
    bool right = false;
    if (!plans_reported(chain, bytes))
        return false;
    TRY_CUDA(cudaMalloc(&client->workspace, *bytes > 0 ? (size_t)*bytes : 1), done);
    TRY_CUDA(cudaGraphCreate(&outer, 0), done);
    TRY_CUDA(cudaGraphCreate(&inner, 0), done);
    right = populate_and_update(client, chain->part[PART_PLAN], outer, inner);
done:
    if (inner != NULL)
        cudaGraphDestroy(inner);
    if (outer != NULL)
        cudaGraphDestroy(outer);
    return right;
}

bool plans_populate(struct client *client, struct chain *chain, int64_t *bytes)
{
    return plans_make(client, chain) && populate(client, chain, bytes);
}

bool plans_populate_second(struct client *client, struct chain *chain, int64_t *bytes)
{
    return plans_make(client, chain) && replan(client, chain) && populate(client, chain, bytes);
}

static bool capture(struct client *client, cudnnBackendDescriptor_t plan, cudaStream_t stream,
                    cudaGraph_t *graph)
{
    cudnnBackendDescriptor_t pack = NULL;
    bool good = false;
    if (!plans_pack(client, client->workspace, &pack))
        goto done;
    TRY_CUDNN(cudnnSetStream(client->handle, stream), done);
    TRY_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), done);
    cudnnStatus_t status = cudnnBackendExecute(client->handle, plan, pack);
    TRY_CUDA(cudaStreamEndCapture(stream, graph), done);
    TRY_CUDNN(status, done);
    good = true;
done:
    if (pack != NULL)
        cudnnBackendDestroyDescriptor(pack);
    return good;
}

/* The plan's first execution is the captured one; the graph is replayed twice. */
bool plans_capture(struct client *client, struct chain *chain, int64_t *bytes)
{
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    bool right = false;
    if (!plans_make(client, chain) || !plans_reported(chain, bytes))
        return false;
    TRY_CUDA(cudaMalloc(&client->workspace, *bytes > 0 ? (size_t)*bytes : 1), done);
    TRY_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), done);
    right = capture(client, chain->part[PART_PLAN], stream, &graph) &&
            launch_graph(client, graph) && launch_graph(client, graph);
done:
    if (graph != NULL)
        cudaGraphDestroy(graph);
    if (stream != NULL)
        cudaStreamDestroy(stream);
    return right;
}
