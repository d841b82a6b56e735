/* Included before everything else of libwork.so, it makes every call of cuDNN one through a looked
 * up pointer. */
#ifndef LOADER_CALLS_H
#define LOADER_CALLS_H

#include "loader_cudnn.h"

#define cudnnBackendCreateDescriptor (*loader_cudnn()->cudnnBackendCreateDescriptor)
#define cudnnBackendDestroyDescriptor (*loader_cudnn()->cudnnBackendDestroyDescriptor)
#define cudnnBackendExecute (*loader_cudnn()->cudnnBackendExecute)
#define cudnnBackendFinalize (*loader_cudnn()->cudnnBackendFinalize)
#define cudnnBackendGetAttribute (*loader_cudnn()->cudnnBackendGetAttribute)
#define cudnnBackendSetAttribute (*loader_cudnn()->cudnnBackendSetAttribute)
#define cudnnConvolutionBackwardData (*loader_cudnn()->cudnnConvolutionBackwardData)
#define cudnnConvolutionBackwardFilter (*loader_cudnn()->cudnnConvolutionBackwardFilter)
#define cudnnConvolutionForward (*loader_cudnn()->cudnnConvolutionForward)
#define cudnnCreate (*loader_cudnn()->cudnnCreate)
#define cudnnCreateConvolutionDescriptor (*loader_cudnn()->cudnnCreateConvolutionDescriptor)
#define cudnnCreateFilterDescriptor (*loader_cudnn()->cudnnCreateFilterDescriptor)
#define cudnnCreateTensorDescriptor (*loader_cudnn()->cudnnCreateTensorDescriptor)
#define cudnnDestroy (*loader_cudnn()->cudnnDestroy)
#define cudnnDestroyConvolutionDescriptor (*loader_cudnn()->cudnnDestroyConvolutionDescriptor)
#define cudnnDestroyFilterDescriptor (*loader_cudnn()->cudnnDestroyFilterDescriptor)
#define cudnnDestroyTensorDescriptor (*loader_cudnn()->cudnnDestroyTensorDescriptor)
#define cudnnGetConvolutionBackwardDataAlgorithm_v7                                                \
    (*loader_cudnn()->cudnnGetConvolutionBackwardDataAlgorithm_v7)
#define cudnnGetConvolutionBackwardDataWorkspaceSize                                               \
    (*loader_cudnn()->cudnnGetConvolutionBackwardDataWorkspaceSize)
#define cudnnGetConvolutionBackwardFilterAlgorithm_v7                                              \
    (*loader_cudnn()->cudnnGetConvolutionBackwardFilterAlgorithm_v7)
#define cudnnGetConvolutionBackwardFilterWorkspaceSize                                             \
    (*loader_cudnn()->cudnnGetConvolutionBackwardFilterWorkspaceSize)
#define cudnnGetConvolutionForwardAlgorithm_v7                                                     \
    (*loader_cudnn()->cudnnGetConvolutionForwardAlgorithm_v7)
#define cudnnGetConvolutionForwardWorkspaceSize                                                    \
    (*loader_cudnn()->cudnnGetConvolutionForwardWorkspaceSize)
#define cudnnGetConvolutionMathType (*loader_cudnn()->cudnnGetConvolutionMathType)
#define cudnnGetErrorString (*loader_cudnn()->cudnnGetErrorString)
#define cudnnSetConvolutionGroupCount (*loader_cudnn()->cudnnSetConvolutionGroupCount)
#define cudnnSetConvolutionMathType (*loader_cudnn()->cudnnSetConvolutionMathType)
#define cudnnSetConvolutionNdDescriptor (*loader_cudnn()->cudnnSetConvolutionNdDescriptor)
#define cudnnSetFilterNdDescriptor (*loader_cudnn()->cudnnSetFilterNdDescriptor)
#define cudnnSetTensorNdDescriptor (*loader_cudnn()->cudnnSetTensorNdDescriptor)

#endif
