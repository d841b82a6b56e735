/* The exported functions that create and destroy a cuDNN handle. */
#include "base/nest.h"
#include "cudnn/bind/driver.h"
#include "cudnn/bind/runtime.h"
#include "cudnn/plan/execution_plan.h"
#include "cudnn/plan/handle_id.h"
#include "flow/instance.h"
#include "intercept/entry/entry.h"
#include "intercept/legacy/plan_cache.h"
#include <pthread.h>

/* The GPU on which the calling thread creates handles: that of its context or, before it has one,
 * the runtime's current device. Makes no context. */
static int current_gpu(void)
{
    CUdevice device;
    int ordinal;
    if (CS_CU(cuCtxGetDevice, &device) == CUDA_SUCCESS)
        return device;
    return CS_CUDA(cudaGetDevice, &ordinal) == cudaSuccess ? ordinal : CS_GPU_UNKNOWN;
}

/* Notes the GPU of a new handle. Makes no instance, so that options can still be set after it. */
static void note_handle(cudnnStatus_t status, const cudnnHandle_t *handle)
{
    int type;
    if (status != CUDNN_STATUS_SUCCESS || cs_nested() || cs_instance_off())
        return;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    cs_handle_created(*handle, current_gpu());
    pthread_setcanceltype(type, NULL);
}

CS_EXPORT cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    const cudnnStatus_t status = CS_REAL(cudnnCreate, handle);
    note_handle(status, handle);
    return status;
}

struct destroy {
    struct cs_entry_call call;
    cudnnHandle_t handle;
};

static int destroy_replay(struct cs_entry_call *call)
{
    return (int)CS_REAL(cudnnDestroy, CS_ARGS(struct destroy, call)->handle);
}

static int destroy_handle(struct cs *cs, struct cs_entry_call *call)
{
    (void)cs;
    cs_plan_cache_forget(CS_ARGS(struct destroy, call)->handle);
    cs_kept_engine_forget();
    cs_handle_retire(CS_ARGS(struct destroy, call)->handle);
    return destroy_replay(call);
}

CS_EXPORT cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    struct destroy a = {{destroy_replay, destroy_handle}, handle};
    return (cudnnStatus_t)cs_intercept(&a.call);
}
