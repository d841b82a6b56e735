/* The driver's contexts. */
#include "cuda_driver.h"
#include <stdio.h>

/* The versions that CUDA 13's header does not declare. */
#undef cuCtxCreate
#undef cuDevicePrimaryCtxRelease
CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
    (void)flags; /* how the host waits */
    return CUDA_DRIVER_CALL(simdev_context_create(context, device));
}

/* Contexts of a part of a device are not simulated. */
CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *parameters, unsigned flags,
                        CUdevice device)
{
    (void)flags;
    return CUDA_DRIVER_CALL(parameters ? cudaErrorNotSupported
                                       : simdev_context_create(context, device));
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
    return CUDA_DRIVER_CALL(simdev_context_destroy(context));
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    if (!cuda_driver_is_planner(__builtin_return_address(0)))
        return CUDA_DRIVER_CALL(simdev_context_get(context));
    *context = NULL;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    return CUDA_DRIVER_CALL(simdev_context_set(context));
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    return CUDA_DRIVER_CALL(simdev_context_push(context));
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    return CUDA_DRIVER_CALL(simdev_context_pop(context));
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
    return CUDA_DRIVER_CALL(simdev_context_id(context, id));
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    return CUDA_DRIVER_CALL(simdev_context_retain_primary(context, device));
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    return CUDA_DRIVER_CALL(simdev_context_release_primary(device));
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    return CUDA_DRIVER_CALL(simdev_context_release_primary(device));
}
