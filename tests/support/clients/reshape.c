/* Convolutions of the legacy API whose descriptors change between query and call. A client queries
 * the workspace of a shape and provides that size, now or later. Planned by rule (SIMDEV_PLANNING),
 * by which a convolution needs a copy of input, filter and output; under a limit between LITTLE and
 * MORE images.
 *   place      the same descriptors: queried with much, run with little, set back and run,
 *              at last in more than it needs
 *   address    descriptors destroyed and made again for each shape, usually at the same addresses
 *   unasked    a smaller shape than the queried one, in the size reported for that; and in less
 *              than any shape needs
 *   refused    calls that cuDNN refuses are still refused, after smaller sizes were reported for
 *              others
 *   threads    little in three threads, while one queries more and more
 * Status: 0 if every result and every status was right. */
#include "good.h"
#include "layer_memory.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    CHANNELS = 8,
    SIZE = 16,
    LITTLE = 1, /* images */
    MORE = 6,
    MUCH = 8,
    PLENTY = 1 << 20, /* bytes: more than MUCH images need */
    ROUNDS = 4
};

static const cudnnConvolutionFwdAlgo_t algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;

/* Operands of MUCH images, of which shapes of fewer take the first. */
struct client {
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
    struct conv_problem problem;
    struct layer_memory memory;
};

static void shape(int images, struct conv_problem *problem)
{
    const int64_t image[] = {images, CHANNELS, SIZE, SIZE}, filter[] = {CHANNELS, CHANNELS, 3, 3};
    layer_describe(problem);
    memcpy(problem->x.size, image, sizeof image);
    memcpy(problem->w.size, filter, sizeof filter);
    memcpy(problem->y.size, image, sizeof image);
    tensor_pack(&problem->x, LAYOUT_NCHW);
    tensor_pack(&problem->w, LAYOUT_NCHW);
    tensor_pack(&problem->y, LAYOUT_NCHW);
}

static bool make_descriptors(struct client *c)
{
    GOOD(cudnnCreateTensorDescriptor(&c->x));
    GOOD(cudnnCreateTensorDescriptor(&c->y));
    GOOD(cudnnCreateFilterDescriptor(&c->w));
    GOOD(cudnnCreateConvolutionDescriptor(&c->conv));
    GOOD(cudnnSetFilter4dDescriptor(c->w, CUDNN_DATA_HALF, CUDNN_TENSOR_NCHW, CHANNELS, CHANNELS, 3,
                                    3));
    GOOD(cudnnSetConvolution2dDescriptor(c->conv, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                         CUDNN_DATA_FLOAT));
    GOOD(cudnnSetConvolutionMathType(c->conv, CUDNN_TENSOR_OP_MATH));
    return true;
}

static bool destroy_descriptors(struct client *c)
{
    GOOD(cudnnDestroyConvolutionDescriptor(c->conv));
    GOOD(cudnnDestroyFilterDescriptor(c->w));
    GOOD(cudnnDestroyTensorDescriptor(c->y));
    GOOD(cudnnDestroyTensorDescriptor(c->x));
    return true;
}

static bool set(struct client *c, int images)
{
    shape(images, &c->problem);
    GOOD(tensor_describe(&c->problem.x, c->x));
    GOOD(tensor_describe(&c->problem.y, c->y));
    return true;
}

static bool client_open(struct client *c)
{
    memset(c, 0, sizeof *c);
    shape(MUCH, &c->problem);
    GOOD(cudnnCreate(&c->handle));
    CHECK(make_descriptors(c));
    return layer_allocate(&c->problem, &c->memory);
}

static bool client_close(struct client *c)
{
    layer_free(&c->memory);
    CHECK(destroy_descriptors(c));
    GOOD(cudnnDestroy(c->handle));
    return true;
}

static bool ask(struct client *c, size_t *bytes_p)
{
    GOOD(cudnnGetConvolutionForwardWorkspaceSize(c->handle, c->x, c->w, c->conv, c->y, algorithm,
                                                 bytes_p));
    return true;
}

/* Runs the convolution of the descriptors in a workspace of `brought` bytes. The result is checked
 * on success. */
static bool run(struct client *c, size_t brought, cudnnStatus_t expected)
{
    const float one = 1, zero = 0;
    void *workspace = NULL;
    CHECK(brought == 0 || cudaMalloc(&workspace, brought) == cudaSuccess);
    CHECK(cudaMemset(c->memory.y, 0xff, tensor_storage_bytes(&c->problem.y)) == cudaSuccess);
    cudnnStatus_t status =
        cudnnConvolutionForward(c->handle, &one, c->x, c->memory.x, c->w, c->memory.w, c->conv,
                                algorithm, workspace, brought, &zero, c->y, c->memory.y);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaFree(workspace) == cudaSuccess);
    CHECK(status == expected);
    return status != CUDNN_STATUS_SUCCESS || layer_right(&c->problem, &c->memory);
}

static bool place(struct client *c)
{
    size_t little, much;
    CHECK(set(c, LITTLE) && ask(c, &little) && run(c, little, CUDNN_STATUS_SUCCESS));
    CHECK(set(c, MUCH) && ask(c, &much));
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(set(c, LITTLE) && run(c, little, CUDNN_STATUS_SUCCESS));
        CHECK(set(c, MUCH) && run(c, much, CUDNN_STATUS_SUCCESS));
    }
    CHECK(run(c, PLENTY, CUDNN_STATUS_SUCCESS));
    return true;
}

static bool address(struct client *c)
{
    size_t bytes[2];
    for (int i = 0; i <= 2 * ROUNDS; i++) {
        CHECK(destroy_descriptors(c) && make_descriptors(c) && set(c, i % 2 ? MUCH : LITTLE));
        CHECK(i >= 2 || ask(c, &bytes[i]));
        CHECK(run(c, bytes[i % 2], CUDNN_STATUS_SUCCESS));
    }
    return true;
}

static bool unasked(struct client *c)
{
    size_t much;
    CHECK(set(c, MUCH) && ask(c, &much));
    CHECK(set(c, MORE) && run(c, much, CUDNN_STATUS_SUCCESS));
    CHECK(set(c, MUCH) && run(c, much / 2, CUDNN_STATUS_SUCCESS));
    return true;
}

static bool refused(struct client *c)
{
    size_t much;
    CHECK(set(c, MUCH) && ask(c, &much));
    shape(MORE, &c->problem);
    GOOD(tensor_describe(&c->problem.x, c->x)); /* y has more images */
    CHECK(run(c, much, CUDNN_STATUS_NOT_SUPPORTED));
    return true;
}

struct worker {
    pthread_t thread;
    bool failed;
};

static bool run_little(void)
{
    struct client c;
    size_t little;
    bool good = client_open(&c) && set(&c, LITTLE) && ask(&c, &little);
    for (int i = 0; good && i < 8 * ROUNDS; i++)
        good = run(&c, little, CUDNN_STATUS_SUCCESS);
    return client_close(&c) && good;
}

static void *work(void *argument)
{
    ((struct worker *)argument)->failed = !run_little();
    return NULL;
}

static bool threads(struct client *c)
{
    struct worker worker[3] = {{.failed = false}};
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&worker[i].thread, NULL, work, &worker[i]) == 0);
    bool good = true;
    for (int images = MUCH; good && images > LITTLE; images--) {
        size_t bytes;
        good = set(c, images) && ask(c, &bytes) && run(c, bytes, CUDNN_STATUS_SUCCESS);
    }
    for (int i = 0; i < 3; i++) {
        CHECK(pthread_join(worker[i].thread, NULL) == 0);
        good = good && !worker[i].failed;
    }
    return good;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        bool (*part)(struct client *);
    } parts[] = {{"place", place},
                 {"address", address},
                 {"unasked", unasked},
                 {"refused", refused},
                 {"threads", threads}};
    struct client c;
    for (size_t i = 0; argc == 2 && i < sizeof parts / sizeof *parts; i++)
        if (strcmp(argv[1], parts[i].name) == 0) {
            const bool good = client_open(&c) && parts[i].part(&c);
            return client_close(&c) && good ? 0 : 1;
        }
    fprintf(stderr, "usage: reshape place|address|unasked|refused|threads\n");
    return 2;
}
