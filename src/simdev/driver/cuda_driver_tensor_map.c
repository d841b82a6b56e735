/* Tensor maps (CUDA Driver API, Tensor Map Object Management) describe memory for kernels, which
 * are not executed. Programs can create any map. For cuDNN's planning there is no device. */
#include "cuda_driver.h"
#include <string.h>

/* Most parameters here are for features that do not exist. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static CUresult encode_tensor_map(CUtensorMap *map, const void *caller)
{
    if (cuda_driver_is_planner(caller))
        return CUDA_ERROR_NO_DEVICE;
    if (!map)
        return CUDA_ERROR_INVALID_VALUE;
    memset(map, 0, sizeof(*map));
    return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                void *address, const cuuint64_t *dims, const cuuint64_t *strides,
                                const cuuint32_t *box, const cuuint32_t *steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    return encode_tensor_map(map, __builtin_return_address(0));
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                 void *address, const cuuint64_t *dims, const cuuint64_t *strides,
                                 const int *lower, const int *upper, cuuint32_t channels,
                                 cuuint32_t pixels, const cuuint32_t *steps,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    return encode_tensor_map(map, __builtin_return_address(0));
}
