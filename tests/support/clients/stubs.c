/* Functions of cuDNN that load cuDNN at their first call and pass it on, exported as TensorFlow's
 * framework library has them. One of them convolves; that and another is what a library with cuDNN
 * inside would have, too. */
#include "loader_cudnn.h"

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t variant_pack)
{
    return loader_cudnn()->cudnnBackendExecute(handle, plan, variant_pack);
}

cudnnStatus_t cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t convolution,
                                          cudnnMathType_t *math)
{
    return loader_cudnn()->cudnnGetConvolutionMathType(convolution, math);
}
