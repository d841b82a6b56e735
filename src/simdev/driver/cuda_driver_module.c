/* What the runtime-compiled engines of newer cuDNNs are linked against (9.27), where older ones
 * looked everything up. Modules belong to a context, of which there is none; a tensor map describes
 * memory that no kernel here will read. */
#include <cuda.h>

/* Most parameters here are for things that do not exist. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    return CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    return CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    return CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleUnload(CUmodule module)
{
    return CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                void *address, const cuuint64_t *dims, const cuuint64_t *strides,
                                const cuuint32_t *box, const cuuint32_t *steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    return CUDA_ERROR_NO_DEVICE;
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                 void *address, const cuuint64_t *dims, const cuuint64_t *strides,
                                 const int *lower, const int *upper, cuuint32_t channels,
                                 cuuint32_t pixels, const cuuint32_t *steps,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    return CUDA_ERROR_NO_DEVICE;
}
