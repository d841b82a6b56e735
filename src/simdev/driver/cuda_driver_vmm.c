/* The driver's virtual memory (CUDA Driver API, Virtual Memory Management): addresses, memory, and
 * mapping. */
#include "cuda_driver.h"
#include "cudart_vmm.h"
#include <string.h>

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment,
                             CUdeviceptr wanted, unsigned long long flags)
{
    uintptr_t made = 0;
    if (!address || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult result =
        CUDA_DRIVER_CALL(simdev_vmm_reserve(&made, bytes, alignment, (uintptr_t)wanted));
    *address = (CUdeviceptr)made;
    return result;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
    return CUDA_DRIVER_CALL(simdev_vmm_free((uintptr_t)address, bytes));
}

/* Host memory, compressed memory and memory for other machines are not simulated. */
static bool is_simulated(const CUmemAllocationProp *prop)
{
    return prop->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
           prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
           !(prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    uint64_t made = 0;
    if (!handle || !prop || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_simulated(prop))
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = CUDA_DRIVER_CALL(simdev_vmm_create(&made, bytes, prop->location.id));
    *handle = made;
    return result;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    return CUDA_DRIVER_CALL(simdev_vmm_release(handle));
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    return CUDA_DRIVER_CALL(flags ? cudaErrorInvalidValue
                                  : simdev_vmm_map((uintptr_t)address, bytes, offset, handle));
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes)
{
    return CUDA_DRIVER_CALL(simdev_vmm_unmap((uintptr_t)address, bytes));
}

/* Every device may use all mapped memory. */
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access,
                        size_t count)
{
    return CUDA_DRIVER_CALL(!access || count == 0 ? cudaErrorInvalidValue
                                                  : simdev_vmm_check((uintptr_t)address, bytes));
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                        CUdeviceptr address)
{
    if (!flags || !location)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_DRIVER_CALL(simdev_vmm_check((uintptr_t)address, 1));
}

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option)
{
    (void)option;
    if (!bytes || !prop)
        return CUDA_ERROR_INVALID_VALUE;
    *bytes = SIMDEV_GRANULARITY;
    return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
    uint64_t found = 0;
    const CUresult result =
        CUDA_DRIVER_CALL(simdev_vmm_retain(handle ? &found : NULL, (uintptr_t)address));
    if (handle)
        *handle = found;
    return result;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                CUmemGenericAllocationHandle handle)
{
    size_t bytes = 0;
    int device = 0;
    if (!prop)
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = CUDA_DRIVER_CALL(simdev_vmm_describe(handle, &bytes, &device));
    *prop = (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    return result;
}

/* --- other processes --- */

CUresult cuMemExportToShareableHandle(void *shared, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags)
{
    if (!shared || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_DRIVER_CALL(simdev_vmm_export(handle, shared));
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shared,
                                        CUmemAllocationHandleType type)
{
    uint64_t made = 0;
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = CUDA_DRIVER_CALL(simdev_vmm_import(&made, (int)(intptr_t)shared));
    *handle = made;
    return result;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *memory, CUipcMemHandle handle, unsigned flags)
{
    cudaIpcMemHandle_t same;
    void *opened = NULL;
    memcpy(&same, &handle, sizeof same);
    const CUresult result =
        CUDA_DRIVER_CALL(cudaIpcOpenMemHandle(memory ? &opened : NULL, same, flags));
    if (memory)
        *memory = (CUdeviceptr)(uintptr_t)opened;
    return result;
}

CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
    cudaIpcEventHandle_t same;
    memcpy(&same, &handle, sizeof same);
    return CUDA_DRIVER_CALL(cudaIpcOpenEventHandle(event, same));
}
