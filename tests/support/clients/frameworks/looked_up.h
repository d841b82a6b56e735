/* Included before everything else of a program that does not link cuDNN: every call of it goes
 * through a pointer that is looked up at the place's first call, as in cudnn-frontend with
 * NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING. One thread. */
#ifndef LOOKED_UP_H
#define LOOKED_UP_H

#include <cudnn.h>

/* Defined by the program: the flags for opening libcudnn.so.9. */
extern const int look_up_flags;

/* Ends the program if there is no such function. */
void *look_up(const char *name);

#define LOOKED_UP(name)                                                                            \
    ({                                                                                             \
        static __typeof__(&name) looked_up;                                                        \
        if (looked_up == NULL)                                                                     \
            looked_up = (__typeof__(looked_up))look_up(#name);                                     \
        looked_up;                                                                                 \
    })

#define cudnnBackendCreateDescriptor LOOKED_UP(cudnnBackendCreateDescriptor)
#define cudnnBackendDestroyDescriptor LOOKED_UP(cudnnBackendDestroyDescriptor)
#define cudnnBackendExecute LOOKED_UP(cudnnBackendExecute)
#define cudnnBackendFinalize LOOKED_UP(cudnnBackendFinalize)
#define cudnnBackendGetAttribute LOOKED_UP(cudnnBackendGetAttribute)
#define cudnnBackendSetAttribute LOOKED_UP(cudnnBackendSetAttribute)
#define cudnnConvolutionBackwardData LOOKED_UP(cudnnConvolutionBackwardData)
#define cudnnConvolutionBackwardFilter LOOKED_UP(cudnnConvolutionBackwardFilter)
#define cudnnConvolutionBiasActivationForward LOOKED_UP(cudnnConvolutionBiasActivationForward)
#define cudnnConvolutionForward LOOKED_UP(cudnnConvolutionForward)
#define cudnnCreate LOOKED_UP(cudnnCreate)
#define cudnnCreateActivationDescriptor LOOKED_UP(cudnnCreateActivationDescriptor)
#define cudnnCreateConvolutionDescriptor LOOKED_UP(cudnnCreateConvolutionDescriptor)
#define cudnnCreateFilterDescriptor LOOKED_UP(cudnnCreateFilterDescriptor)
#define cudnnCreateTensorDescriptor LOOKED_UP(cudnnCreateTensorDescriptor)
#define cudnnDestroy LOOKED_UP(cudnnDestroy)
#define cudnnDestroyActivationDescriptor LOOKED_UP(cudnnDestroyActivationDescriptor)
#define cudnnDestroyConvolutionDescriptor LOOKED_UP(cudnnDestroyConvolutionDescriptor)
#define cudnnDestroyFilterDescriptor LOOKED_UP(cudnnDestroyFilterDescriptor)
#define cudnnDestroyTensorDescriptor LOOKED_UP(cudnnDestroyTensorDescriptor)
#define cudnnFindConvolutionBackwardDataAlgorithm                                                  \
    LOOKED_UP(cudnnFindConvolutionBackwardDataAlgorithm)
#define cudnnFindConvolutionBackwardDataAlgorithmEx                                                \
    LOOKED_UP(cudnnFindConvolutionBackwardDataAlgorithmEx)
#define cudnnFindConvolutionBackwardFilterAlgorithm                                                \
    LOOKED_UP(cudnnFindConvolutionBackwardFilterAlgorithm)
#define cudnnFindConvolutionBackwardFilterAlgorithmEx                                              \
    LOOKED_UP(cudnnFindConvolutionBackwardFilterAlgorithmEx)
#define cudnnFindConvolutionForwardAlgorithm LOOKED_UP(cudnnFindConvolutionForwardAlgorithm)
#define cudnnFindConvolutionForwardAlgorithmEx LOOKED_UP(cudnnFindConvolutionForwardAlgorithmEx)
#define cudnnGetConvolutionBackwardDataAlgorithmMaxCount                                           \
    LOOKED_UP(cudnnGetConvolutionBackwardDataAlgorithmMaxCount)
#define cudnnGetConvolutionBackwardDataAlgorithm_v7                                                \
    LOOKED_UP(cudnnGetConvolutionBackwardDataAlgorithm_v7)
#define cudnnGetConvolutionBackwardDataWorkspaceSize                                               \
    LOOKED_UP(cudnnGetConvolutionBackwardDataWorkspaceSize)
#define cudnnGetConvolutionBackwardFilterAlgorithmMaxCount                                         \
    LOOKED_UP(cudnnGetConvolutionBackwardFilterAlgorithmMaxCount)
#define cudnnGetConvolutionBackwardFilterAlgorithm_v7                                              \
    LOOKED_UP(cudnnGetConvolutionBackwardFilterAlgorithm_v7)
#define cudnnGetConvolutionBackwardFilterWorkspaceSize                                             \
    LOOKED_UP(cudnnGetConvolutionBackwardFilterWorkspaceSize)
#define cudnnGetConvolutionForwardAlgorithmMaxCount                                                \
    LOOKED_UP(cudnnGetConvolutionForwardAlgorithmMaxCount)
#define cudnnGetConvolutionForwardAlgorithm_v7 LOOKED_UP(cudnnGetConvolutionForwardAlgorithm_v7)
#define cudnnGetConvolutionForwardWorkspaceSize LOOKED_UP(cudnnGetConvolutionForwardWorkspaceSize)
#define cudnnGetConvolutionMathType LOOKED_UP(cudnnGetConvolutionMathType)
#define cudnnGetErrorString LOOKED_UP(cudnnGetErrorString)
#define cudnnSetActivationDescriptor LOOKED_UP(cudnnSetActivationDescriptor)
#define cudnnSetConvolution2dDescriptor LOOKED_UP(cudnnSetConvolution2dDescriptor)
#define cudnnSetConvolutionMathType LOOKED_UP(cudnnSetConvolutionMathType)
#define cudnnSetFilterNdDescriptor LOOKED_UP(cudnnSetFilterNdDescriptor)
#define cudnnSetStream LOOKED_UP(cudnnSetStream)
#define cudnnSetTensorNdDescriptor LOOKED_UP(cudnnSetTensorNdDescriptor)

#endif
