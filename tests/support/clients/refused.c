/* Queries that cuDNN refuses, each with marked memory for its result. Prints every status and the
 * state of the memory, for a comparison with and without the library. Before and between them are
 * queries that succeed. */
#include <cudnn.h>
#include <stdio.h>
#include <string.h>

enum {
    MARK = 0x5a,
    CHANNELS = 16,
    SIZE = 32
};

struct client {
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t x, y, other;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
};

static int bad;

static void need(cudnnStatus_t status)
{
    bad |= status != CUDNN_STATUS_SUCCESS;
}

static void set_up(struct client *c)
{
    need(cudnnCreate(&c->handle));
    need(cudnnCreateTensorDescriptor(&c->x));
    need(cudnnCreateTensorDescriptor(&c->y));
    need(cudnnCreateTensorDescriptor(&c->other));
    need(cudnnCreateFilterDescriptor(&c->w));
    need(cudnnCreateConvolutionDescriptor(&c->conv));
    need(cudnnSetTensor4dDescriptor(c->x, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, 2, CHANNELS, SIZE,
                                    SIZE));
    need(cudnnSetTensor4dDescriptor(c->y, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, 2, CHANNELS, SIZE,
                                    SIZE));
    need(cudnnSetTensor4dDescriptor(c->other, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, 2, CHANNELS + 8,
                                    SIZE, SIZE));
    need(cudnnSetFilter4dDescriptor(c->w, CUDNN_DATA_HALF, CUDNN_TENSOR_NCHW, CHANNELS, CHANNELS, 3,
                                    3));
    need(cudnnSetConvolution2dDescriptor(c->conv, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                         CUDNN_DATA_FLOAT));
}

static void tear_down(const struct client *c)
{
    need(cudnnDestroyConvolutionDescriptor(c->conv));
    need(cudnnDestroyFilterDescriptor(c->w));
    need(cudnnDestroyTensorDescriptor(c->x));
    need(cudnnDestroyTensorDescriptor(c->y));
    need(cudnnDestroyTensorDescriptor(c->other));
    need(cudnnDestroy(c->handle));
}

static void tell(const char *what, cudnnStatus_t status, const void *memory, size_t bytes)
{
    const unsigned char *byte = memory;
    size_t kept = 0;
    while (kept < bytes && byte[kept] == MARK)
        kept++;
    printf("%s: %d, %s\n", what, (int)status, kept == bytes ? "untouched" : "written");
}

static void workspaces(const struct client *c, const char *what, cudnnTensorDescriptor_t image,
                       int algorithm)
{
    size_t size;
    cudnnStatus_t status;
    printf("%s\n", what);
    memset(&size, MARK, sizeof size);
    status = cudnnGetConvolutionForwardWorkspaceSize(c->handle, image, c->w, c->conv, c->y,
                                                     (cudnnConvolutionFwdAlgo_t)algorithm, &size);
    tell("  forward", status, &size, sizeof size);
    memset(&size, MARK, sizeof size);
    status = cudnnGetConvolutionBackwardDataWorkspaceSize(
        c->handle, c->w, c->y, c->conv, image, (cudnnConvolutionBwdDataAlgo_t)algorithm, &size);
    tell("  backward-data", status, &size, sizeof size);
    memset(&size, MARK, sizeof size);
    status = cudnnGetConvolutionBackwardFilterWorkspaceSize(
        c->handle, image, c->y, c->conv, c->w, (cudnnConvolutionBwdFilterAlgo_t)algorithm, &size);
    tell("  backward-filter", status, &size, sizeof size);
}

static void algorithms(const struct client *c, const char *what, cudnnTensorDescriptor_t image,
                       int wanted)
{
    cudnnConvolutionFwdAlgoPerf_t found[2];
    int count;
    memset(found, MARK, sizeof found);
    memset(&count, MARK, sizeof count);
    cudnnStatus_t status = cudnnGetConvolutionForwardAlgorithm_v7(c->handle, image, c->w, c->conv,
                                                                  c->y, wanted, &count, found);
    printf("%s\n", what);
    tell("  count", status, &count, sizeof count);
    tell("  answers", status, found, sizeof found);
}

/* A plan that was never finalized cannot report a workspace. */
static void unfinished_plan(void)
{
    cudnnBackendDescriptor_t plan;
    int64_t size, count;
    need(cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan));
    memset(&size, MARK, sizeof size);
    memset(&count, MARK, sizeof count);
    cudnnStatus_t status = cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                                    CUDNN_TYPE_INT64, 1, &count, &size);
    tell("plan that is not finalized, size", status, &size, sizeof size);
    tell("plan that is not finalized, count", status, &count, sizeof count);
    need(cudnnBackendDestroyDescriptor(plan));
}

int main(void)
{
    struct client client;
    const int precomp = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
    set_up(&client);
    workspaces(&client, "answered", client.x, precomp);
    workspaces(&client, "other channels", client.other, precomp);
    workspaces(&client, "no such algorithm", client.x, 99);
    algorithms(&client, "answered", client.x, 2);
    algorithms(&client, "other channels", client.other, 2);
    algorithms(&client, "none wanted", client.x, 0);
    unfinished_plan();
    workspaces(&client, "answered", client.x, precomp);
    tear_down(&client);
    return bad;
}
