#include "cudnn/gpu_cudnn.h"

#include "cudnn/backend.h"
#include "cudnn/kernel.h"
#include <stdlib.h>

/* A tile ready to be launched. */
struct launch {
    cudnnBackendDescriptor_t pack;
    void *packed, *view; /* where the filter is staged, and its place in the client's; or NULL */
};

int cs_launcher_pack(const struct cs_launcher *launcher, const struct cs_addresses *addresses,
                     cudnnBackendDescriptor_t *pack_p)
{
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    void *pointer[CS_MAX_TENSORS];
    int64_t uid[CS_MAX_TENSORS];
    int count = 0;
    for (int i = 0; i < launcher->problem->tensors; i++) {
        if (launcher->problem->tensor[i].is_virtual)
            continue;
        pointer[count] = addresses->tensor[i];
        uid[count++] = launcher->uid[i];
    }
    cudnnBackendDescriptor_t pack = cs_bench_make(&bench, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    cs_bench_set(&bench, pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count,
                 pointer);
    cs_bench_set(&bench, pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, uid);
    cs_bench_set(&bench, pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                 &addresses->workspace);
    cs_bench_finalize(&bench, pack);
    if (bench.status == CUDNN_STATUS_SUCCESS)
        *pack_p = cs_bench_take(&bench, pack);
    cs_bench_clear(&bench);
    return (int)bench.status;
}

static int bind(void *ctx, int kind, const struct cs_addresses *addresses, void **launch_p)
{
    const struct cs_launcher *launcher = ctx;
    const struct cs_kernel *kernel = launcher->rewrite->kernel[kind];
    struct launch *launch = malloc(sizeof *launch);
    if (!launch)
        return CUDNN_STATUS_ALLOC_FAILED;
    *launch = (struct launch){.packed = kernel->packed ? addresses->staged : NULL,
                              .view = addresses->tensor[CS_FILTER]};
    struct cs_addresses own = *addresses;
    if (kernel->packed)
        own.tensor[CS_FILTER] = own.staged;
    int status = cs_launcher_pack(launcher, &own, &launch->pack);
    if (status != CUDNN_STATUS_SUCCESS) {
        free(launch);
        return status;
    }
    *launch_p = launch;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t copy(const struct cs_launcher *launcher, cudnnTensorDescriptor_t from_as,
                          const void *from, cudnnTensorDescriptor_t to_as, void *to)
{
    static const float one = 1, zero = 0;
    return CS_REAL(cudnnTransformTensor, launcher->handle, &one, from_as, from, &zero, to_as, to);
}

static int launch(void *ctx, int kind, void *opaque)
{
    const struct cs_launcher *launcher = ctx;
    const struct cs_kernel *kernel = launcher->rewrite->kernel[kind];
    const struct launch *launch = opaque;
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    if (kernel->packed && kernel->adds)
        status = copy(launcher, kernel->view, launch->view, kernel->packed, launch->packed);
    if (status == CUDNN_STATUS_SUCCESS)
        status = CS_REAL(cudnnBackendExecute, launcher->handle, kernel->plan, launch->pack);
    if (status == CUDNN_STATUS_SUCCESS && kernel->packed)
        status = copy(launcher, kernel->packed, launch->packed, kernel->view, launch->view);
    return (int)status;
}

static void release(void *ctx, void *opaque)
{
    struct launch *launch = opaque;
    (void)ctx;
    (void)CS_REAL(cudnnBackendDestroyDescriptor, launch->pack);
    free(launch);
}

static int lifeboat(void *ctx)
{
    const struct cs_launcher *launcher = ctx;
    const struct cs_kernel *kernel = launcher->rewrite->lifeboat;
    cudnnBackendDescriptor_t pack = NULL;
    if (launcher->pack)
        return (int)CS_REAL(cudnnBackendExecute, launcher->handle, kernel->plan, launcher->pack);
    int status = cs_launcher_pack(launcher, &launcher->whole, &pack);
    if (status != 0)
        return status;
    status = (int)CS_REAL(cudnnBackendExecute, launcher->handle, kernel->plan, pack);
    (void)CS_REAL(cudnnBackendDestroyDescriptor, pack);
    return status;
}

static int choose(void *ctx, void *stream)
{
    const struct cs_launcher *launcher = ctx;
    return (int)CS_REAL(cudnnSetStream, launcher->handle, stream);
}

struct cs_gpu cs_launcher_gpu(struct cs_launcher *launcher, void **stream_p)
{
    struct cs_gpu gpu = {launcher, bind, launch, release, lifeboat, choose};
    cudaStream_t stream = NULL;
    if (CS_REAL(cudnnGetStream, launcher->handle, &stream) != CUDNN_STATUS_SUCCESS)
        gpu.choose = NULL;
    *stream_p = stream;
    return gpu;
}
