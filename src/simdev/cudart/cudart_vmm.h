/* Virtual memory as the driver manages it: address ranges, memory without an address, and mappings
 * between them. Called by libcuda, between simdev_driver_begin and simdev_driver_end. */
#ifndef CUDART_VMM_H
#define CUDART_VMM_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SIMDEV_GRANULARITY = 2 << 20 /* of everything here, as on a GPU */
};

/* `alignment` 0: that of the granularity. `wanted` is a hint. */
cudaError_t simdev_vmm_reserve(uintptr_t *address, size_t bytes, size_t alignment,
                               uintptr_t wanted);
cudaError_t simdev_vmm_free(uintptr_t address, size_t bytes);
/* Memory of a device, which counts from now on. Handles are never reused. 0 is never a handle. */
cudaError_t simdev_vmm_create(uint64_t *handle, size_t bytes, int device);
/* The memory is freed when nothing maps it. */
cudaError_t simdev_vmm_release(uint64_t handle);
cudaError_t simdev_vmm_retain(uint64_t *handle, uintptr_t address);
cudaError_t simdev_vmm_describe(uint64_t handle, size_t *bytes, int *device);
cudaError_t simdev_vmm_map(uintptr_t address, size_t bytes, size_t offset, uint64_t handle);
cudaError_t simdev_vmm_unmap(uintptr_t address, size_t bytes);
/* Memory for another process, as a file descriptor that the caller closes. It counts in the process
 * that created it. */
cudaError_t simdev_vmm_export(uint64_t handle, int *descriptor);
cudaError_t simdev_vmm_import(uint64_t *handle, int descriptor);
/* Returns an error unless the whole range is mapped. */
cudaError_t simdev_vmm_check(uintptr_t address, size_t bytes);

#endif
