/* Memory in rows, and sets of rows (CUDA Runtime API, Memory Management). */
#include "cudart_context.h"

enum {
    PITCH = 512 /* rows begin at multiples of this, as on every GPU so far */
};

static bool pitch_of(size_t width, size_t rows, size_t *pitch, size_t *bytes)
{
    return !__builtin_add_overflow(width, PITCH - 1, pitch) &&
           !__builtin_mul_overflow(*pitch -= *pitch % PITCH, rows, bytes);
}

cudaError_t cudaMallocPitch(void **memory, size_t *pitch, size_t width, size_t height)
{
    size_t bytes;
    if (!memory || !pitch || !pitch_of(width, height, pitch, &bytes))
        return simdev_leave(cudaErrorInvalidValue);
    return cudaMalloc(memory, bytes);
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *memory, struct cudaExtent extent)
{
    size_t rows, bytes, pitch;
    void *made = NULL;
    if (!memory || __builtin_mul_overflow(extent.height, extent.depth, &rows) ||
        !pitch_of(extent.width, rows, &pitch, &bytes))
        return simdev_leave(cudaErrorInvalidValue);
    const cudaError_t error = cudaMalloc(&made, bytes);
    if (error == cudaSuccess)
        *memory = (struct cudaPitchedPtr){made, pitch, extent.width, extent.height};
    return error;
}

cudaError_t cudaMemset2DAsync(void *memory, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    if (height > 1 && width > pitch)
        return simdev_leave(cudaErrorInvalidPitchValue);
    for (size_t row = 0; error == cudaSuccess && width > 0 && row < height; row++)
        error = cudaMemsetAsync((char *)memory + row * pitch, value, width, stream);
    return error;
}

cudaError_t cudaMemset2D(void *memory, size_t pitch, int value, size_t width, size_t height)
{
    return cudaMemset2DAsync(memory, pitch, value, width, height, cudaStreamLegacy);
}
