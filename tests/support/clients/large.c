/* A legacy convolution of more elements than descriptors take, in ONNX Runtime's order: set the
 * descriptors, find an algorithm, ask for its workspace, run. The result is compared with that of
 * the same convolution as two halves. For a device that takes fewer elements than IMAGES images
 * have (SIMDEV_MAX_SPAN).
 *   refused    the setter returns NOT_SUPPORTED
 *   forward, data, filter   the result in that direction
 *   life       getters, sizes, calls that drop the record, other functions
 *   threads    two threads with a handle each
 *   fork       a child reads a note and makes another one */
#include "good.h"

#include <cuda_runtime.h>
#include <cudnn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    IMAGES = 4,
    CHANNELS = 8,
    SIZE = 16,
    IMAGE = CHANNELS * SIZE * SIZE,
    FILTER = CHANNELS * CHANNELS * 9
};

struct client {
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
    float *data[3]; /* x, w, y */
};

static cudnnStatus_t set(cudnnTensorDescriptor_t tensor, int images)
{
    return cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, images, CHANNELS,
                                      SIZE, SIZE);
}

static bool client_open(struct client *c)
{
    static const int elements[3] = {IMAGES * IMAGE, FILTER, IMAGES * IMAGE};
    GOOD(cudnnCreate(&c->handle));
    GOOD(cudnnCreateTensorDescriptor(&c->x));
    GOOD(cudnnCreateTensorDescriptor(&c->y));
    GOOD(cudnnCreateFilterDescriptor(&c->w));
    GOOD(cudnnCreateConvolutionDescriptor(&c->conv));
    GOOD(cudnnSetFilter4dDescriptor(c->w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, CHANNELS, CHANNELS,
                                    3, 3));
    GOOD(cudnnSetConvolution2dDescriptor(c->conv, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                         CUDNN_DATA_FLOAT));
    for (int i = 0; i < 3; i++) {
        float host[IMAGES * IMAGE];
        for (int k = 0; k < elements[i]; k++)
            host[k] = (float)((k * 7 + i * 3 + k / 11) % 5 - 2);
        CHECK(cudaMalloc((void **)&c->data[i], sizeof host) == cudaSuccess);
        CHECK(cudaMemcpy(c->data[i], host, (size_t)elements[i] * sizeof *host,
                         cudaMemcpyHostToDevice) == cudaSuccess);
    }
    return true;
}

static bool client_close(struct client *c)
{
    GOOD(cudnnDestroyTensorDescriptor(c->x));
    GOOD(cudnnDestroyTensorDescriptor(c->y));
    GOOD(cudnnDestroyFilterDescriptor(c->w));
    GOOD(cudnnDestroyConvolutionDescriptor(c->conv));
    GOOD(cudnnDestroy(c->handle));
    for (int i = 0; i < 3; i++)
        CHECK(cudaFree(c->data[i]) == cudaSuccess);
    return true;
}

/* Find, size, run; from the `first` image on. */
static bool forward(struct client *c, int first, float beta)
{
    cudnnConvolutionFwdAlgoPerf_t found = {0};
    const float one = 1;
    int count = 0;
    size_t bytes = 0;
    void *workspace = NULL;
    (void)beta;
    GOOD(cudnnFindConvolutionForwardAlgorithm(c->handle, c->x, c->w, c->conv, c->y, 1, &count,
                                              &found));
    CHECK(count == 1 && found.status == CUDNN_STATUS_SUCCESS);
    GOOD(cudnnGetConvolutionForwardWorkspaceSize(c->handle, c->x, c->w, c->conv, c->y, found.algo,
                                                 &bytes));
    CHECK(!bytes || cudaMalloc(&workspace, bytes) == cudaSuccess);
    const float zero = 0;
    GOOD(cudnnConvolutionForward(c->handle, &one, c->x, c->data[0] + first * IMAGE, c->w,
                                 c->data[1], c->conv, found.algo, workspace, bytes, &zero, c->y,
                                 c->data[2] + first * IMAGE));
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaFree(workspace) == cudaSuccess);
    return true;
}

static bool data(struct client *c, int first, float beta)
{
    cudnnConvolutionBwdDataAlgoPerf_t found = {0};
    const float one = 1, zero = 0;
    int count = 0;
    void *workspace = NULL;
    (void)beta;
    GOOD(cudnnGetConvolutionBackwardDataAlgorithm_v7(c->handle, c->w, c->y, c->conv, c->x, 1,
                                                     &count, &found));
    CHECK(count == 1 && found.status == CUDNN_STATUS_SUCCESS);
    CHECK(!found.memory || cudaMalloc(&workspace, found.memory) == cudaSuccess);
    GOOD(cudnnConvolutionBackwardData(c->handle, &one, c->w, c->data[1], c->y,
                                      c->data[2] + first * IMAGE, c->conv, found.algo, workspace,
                                      found.memory, &zero, c->x, c->data[0] + first * IMAGE));
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaFree(workspace) == cudaSuccess);
    return true;
}

static bool filter(struct client *c, int first, float beta)
{
    cudnnConvolutionBwdFilterAlgoPerf_t found = {0};
    const float one = 1;
    int count = 0;
    void *workspace = NULL;
    GOOD(cudnnGetConvolutionBackwardFilterAlgorithm_v7(c->handle, c->x, c->y, c->conv, c->w, 1,
                                                       &count, &found));
    CHECK(count == 1 && found.status == CUDNN_STATUS_SUCCESS);
    CHECK(!found.memory || cudaMalloc(&workspace, found.memory) == cudaSuccess);
    GOOD(cudnnConvolutionBackwardFilter(c->handle, &one, c->x, c->data[0] + first * IMAGE, c->y,
                                        c->data[2] + first * IMAGE, c->conv, found.algo, workspace,
                                        found.memory, &beta, c->w, c->data[1]));
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaFree(workspace) == cudaSuccess);
    return true;
}

/* Integers: exact in any order of summation. */
static bool same_results(struct client *c, bool (*run)(struct client *, int, float), int result)
{
    static const int elements[3] = {IMAGES * IMAGE, FILTER, IMAGES * IMAGE};
    const size_t bytes = (size_t)elements[result] * sizeof(float);
    float halves[IMAGES * IMAGE], whole[IMAGES * IMAGE];
    for (int i = 0; i < 2; i++) {
        GOOD(set(c->x, IMAGES / 2));
        GOOD(set(c->y, IMAGES / 2));
        CHECK(run(c, i * IMAGES / 2, (float)i));
    }
    CHECK(cudaMemcpy(halves, c->data[result], bytes, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(cudaMemset(c->data[result], 0x5a, bytes) == cudaSuccess);
    GOOD(set(c->x, IMAGES));
    GOOD(set(c->y, IMAGES));
    CHECK(run(c, 0, 0));
    CHECK(cudaMemcpy(whole, c->data[result], bytes, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(memcmp(whole, halves, bytes) == 0);
    return true;
}

static bool same(bool (*run)(struct client *, int, float), int result)
{
    struct client c = {0};
    const bool good = client_open(&c) && same_results(&c, run, result);
    return client_close(&c) && good;
}

static bool has_extent(cudnnTensorDescriptor_t tensor, int images)
{
    cudnnDataType_t type;
    int n, c, h, w, stride[4], rank, extent[5], strides[5];
    size_t bytes;
    GOOD(cudnnGetTensor4dDescriptor(tensor, &type, &n, &c, &h, &w, &stride[0], &stride[1],
                                    &stride[2], &stride[3]));
    CHECK(type == CUDNN_DATA_FLOAT && n == images && c == CHANNELS && h == SIZE && w == SIZE);
    CHECK(stride[0] == IMAGE && stride[1] == SIZE * SIZE && stride[2] == SIZE && stride[3] == 1);
    GOOD(cudnnGetTensorNdDescriptor(tensor, 5, &type, &rank, extent, strides));
    CHECK(rank == 4 && extent[0] == images && strides[0] == IMAGE);
    GOOD(cudnnGetTensorSizeInBytes(tensor, &bytes));
    CHECK(bytes == (size_t)images * IMAGE * sizeof(float));
    return true;
}

static bool life(void)
{
    const float one = 1;
    struct client c = {0};
    int n, k, h, w, extent[4];
    CHECK(client_open(&c));
    GOOD(set(c.x, IMAGES));
    CHECK(has_extent(c.x, IMAGES));
    GOOD(cudnnGetConvolution2dForwardOutputDim(c.conv, c.x, c.w, &n, &k, &h, &w));
    CHECK(n == IMAGES && k == CHANNELS && h == SIZE && w == SIZE);
    GOOD(cudnnGetConvolutionNdForwardOutputDim(c.conv, c.x, c.w, 4, extent));
    CHECK(extent[0] == IMAGES && extent[1] == CHANNELS && extent[2] == SIZE && extent[3] == SIZE);
    CHECK(cudnnScaleTensor(c.handle, c.x, c.data[0], &one) != CUDNN_STATUS_SUCCESS);
    CHECK(cudnnAddTensor(c.handle, &one, c.x, c.data[0], &one, c.x, c.data[2]) !=
          CUDNN_STATUS_SUCCESS);
    GOOD(set(c.x, 1));
    CHECK(has_extent(c.x, 1));
    GOOD(cudnnScaleTensor(c.handle, c.x, c.data[0], &one));
    GOOD(set(c.x, IMAGES));
    CHECK(set(c.x, -1) != CUDNN_STATUS_SUCCESS);
    GOOD(cudnnDestroyTensorDescriptor(c.x));
    GOOD(cudnnCreateTensorDescriptor(&c.x)); /* mostly at the same address */
    CHECK(
        !(cudnnGetTensor4dDescriptor(c.x, &(cudnnDataType_t){0}, &n, &k, &h, &w, extent, extent + 1,
                                     extent + 2, extent + 3) == CUDNN_STATUS_SUCCESS &&
          n == IMAGES));
    return client_close(&c);
}

static bool refused(void)
{
    cudnnTensorDescriptor_t tensor;
    GOOD(cudnnCreateTensorDescriptor(&tensor));
    CHECK(set(tensor, IMAGES) == CUDNN_STATUS_NOT_SUPPORTED);
    return cudnnDestroyTensorDescriptor(tensor) == CUDNN_STATUS_SUCCESS;
}

static void *work(void *failed)
{
    for (int i = 0; i < 4; i++)
        if (!same(forward, 2))
            *(bool *)failed = true;
    return NULL;
}

static bool threads(void)
{
    pthread_t thread[2];
    bool failed[2] = {false, false};
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&thread[i], NULL, work, &failed[i]) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    return !failed[0] && !failed[1];
}

static bool in_child(cudnnTensorDescriptor_t tensor)
{
    cudnnTensorDescriptor_t own;
    CHECK(has_extent(tensor, IMAGES));
    GOOD(cudnnCreateTensorDescriptor(&own));
    GOOD(set(own, 2 * IMAGES));
    return has_extent(own, 2 * IMAGES);
}

static bool forked(void)
{
    cudnnTensorDescriptor_t tensor;
    int status = -1;
    GOOD(cudnnCreateTensorDescriptor(&tensor));
    GOOD(set(tensor, IMAGES));
    pid_t child = fork();
    if (child == 0)
        _exit(in_child(tensor) ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(has_extent(tensor, IMAGES));
    return cudnnDestroyTensorDescriptor(tensor) == CUDNN_STATUS_SUCCESS;
}

int main(int argc, char **argv)
{
    const char *mode = argc == 2 ? argv[1] : "";
    bool good = false;
    if (!strcmp(mode, "refused"))
        good = refused();
    else if (!strcmp(mode, "forward"))
        good = same(forward, 2);
    else if (!strcmp(mode, "data"))
        good = same(data, 0);
    else if (!strcmp(mode, "filter"))
        good = same(filter, 1);
    else if (!strcmp(mode, "life"))
        good = life();
    else if (!strcmp(mode, "threads"))
        good = threads();
    else if (!strcmp(mode, "fork"))
        good = forked();
    else
        fputs("which mode?\n", stderr);
    return good ? 0 : 1;
}
