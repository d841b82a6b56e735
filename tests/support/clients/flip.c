/* Preloaded in front of the library: makes every convolution of a program a true one
 * (CUDNN_CONVOLUTION), so that any program of the tests can be run with flipped filters. */
#include <cudnn.h>
#include <cudnn_backend.h>
#include <dlfcn.h>

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *elements)
{
    static cudnnStatus_t (*next)(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                                 cudnnBackendAttributeType_t, int64_t, const void *);
    static const cudnnConvolutionMode_t flipped = CUDNN_CONVOLUTION;
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "cudnnBackendSetAttribute");
    return next(descriptor, name, type, count,
                name == CUDNN_ATTR_CONVOLUTION_CONV_MODE ? &flipped : elements);
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t conv, int length,
                                              const int *pads, const int *strides,
                                              const int *dilations, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type)
{
    static cudnnStatus_t (*next)(cudnnConvolutionDescriptor_t, int, const int *, const int *,
                                 const int *, cudnnConvolutionMode_t, cudnnDataType_t);
    (void)mode;
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "cudnnSetConvolutionNdDescriptor");
    return next(conv, length, pads, strides, dilations, CUDNN_CONVOLUTION, type);
}
