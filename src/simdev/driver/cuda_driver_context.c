/* The driver's contexts (CUDA Driver API, Context Management, Primary Context Management). */
#include "cuda_driver.h"
#include <stdio.h>

/* The versions that CUDA 13's header does not declare. */
#undef cuCtxCreate
CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
#undef cuDevicePrimaryCtxSetFlags
#undef cuDevicePrimaryCtxReset
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags);
CUresult cuDevicePrimaryCtxReset(CUdevice device);

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
    (void)flags; /* how the host waits */
    return CUDA_DRIVER_CALL(simdev_context_create(context, device));
}

/* Contexts with part of a device's resources are not simulated. */
CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *parameters, unsigned flags,
                        CUdevice device)
{
    (void)flags;
    return CUDA_DRIVER_CALL(parameters ? cudaErrorNotSupported
                                       : simdev_context_create(context, device));
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    if (!cuda_driver_is_planner(__builtin_return_address(0)))
        return CUDA_DRIVER_CALL(simdev_context_get(context));
    *context = NULL;
    return CUDA_SUCCESS;
}

static cudaError_t read_context_state(CUdevice device, unsigned *flags, int *active)
{
    if (device < 0 || device >= simdev_context_devices())
        return cudaErrorInvalidDevice;
    if (flags)
        *flags = CU_CTX_SCHED_AUTO;
    if (active)
        *active = simdev_context_primary_active(device);
    return cudaSuccess;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    return CUDA_DRIVER_CALL(read_context_state(device, flags, active));
}

/* The host's wait mode is not simulated. */
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
    (void)flags;
    return CUDA_DRIVER_CALL(read_context_state(device, NULL, NULL));
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags)
{
    (void)flags;
    return CUDA_DRIVER_CALL(read_context_state(device, NULL, NULL));
}

static cudaError_t reset_context(CUdevice device)
{
    cudaError_t error = read_context_state(device, NULL, NULL);
    if (error == cudaSuccess)
        simdev_context_reset(device);
    return error;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    return CUDA_DRIVER_CALL(reset_context(device));
}

CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
    return CUDA_DRIVER_CALL(reset_context(device));
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version)
{
    (void)context;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    (void)peer;
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; /* one address space */
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    (void)stream;
    return CUDA_DRIVER_CALL(context ? simdev_context_get(context) : cudaErrorInvalidValue);
}

CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green)
{
    if (green)
        *green = NULL;
    (void)stream;
    return CUDA_DRIVER_CALL(context ? simdev_context_get(context) : cudaErrorInvalidValue);
}
