/* Functions of cuDNN that load cuDNN at their first call and pass it on, exported as by
 * TensorFlow's framework library. A library that contains cuDNN would export this convolution and
 * one other function, too. */
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
