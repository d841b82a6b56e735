#include "cudnn/gpu_cudnn.h"

#include "cudnn/backend.h"
#include "cudnn/kernel.h"

static int bind(void *ctx, int kind, const struct cs_addresses *addresses, void **launch_p)
{
    const struct cs_launcher *launcher = ctx;
    (void)kind;
    struct cs_bench bench = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    cudnnBackendDescriptor_t pack = cs_bench_make(&bench, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    cs_bench_set(&bench, pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                 CS_OPERANDS, addresses->operand);
    cs_bench_set(&bench, pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, CS_OPERANDS,
                 launcher->uid);
    cs_bench_set(&bench, pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                 &addresses->workspace);
    cs_bench_finalize(&bench, pack);
    if (bench.status == CUDNN_STATUS_SUCCESS)
        *launch_p = cs_bench_take(&bench, pack);
    cs_bench_clear(&bench);
    return (int)bench.status;
}

static int launch(void *ctx, int kind, void *pack)
{
    const struct cs_launcher *launcher = ctx;
    return (int)CS_REAL(cudnnBackendExecute, launcher->handle,
                        cs_kernel_plan(launcher->rewrite->kernel[kind]), pack);
}

static void release(void *ctx, void *pack)
{
    (void)ctx;
    (void)CS_REAL(cudnnBackendDestroyDescriptor, pack);
}

static int lifeboat(void *ctx)
{
    const struct cs_launcher *launcher = ctx;
    cudnnBackendDescriptor_t plan = cs_kernel_plan(launcher->rewrite->lifeboat);
    if (launcher->pack)
        return (int)CS_REAL(cudnnBackendExecute, launcher->handle, plan, launcher->pack);
    void *pack = NULL;
    int status = bind(ctx, 0, &launcher->whole, &pack);
    if (status != 0)
        return status;
    status = (int)CS_REAL(cudnnBackendExecute, launcher->handle, plan, pack);
    release(ctx, pack);
    return status;
}

struct cs_gpu cs_launcher_gpu(struct cs_launcher *launcher)
{
    return (struct cs_gpu){launcher, bind, launch, release, lifeboat};
}
