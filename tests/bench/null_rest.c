/* Every function of cuDNN that the library or a program of the tests calls, without effects. No
 * header: a function that ignores its arguments needs no types, and its result is
 * CUDNN_STATUS_SUCCESS. The other files override the functions that must return values. */
#define CS_CALL(name)                                                                              \
    int name(void);                                                                                \
    __attribute__((weak)) int name(void)                                                           \
    {                                                                                              \
        return 0;                                                                                  \
    }
#include "cudnn/bind/calls.def"
CS_CALL(cudnnActivationForward)
CS_CALL(cudnnAddTensor)
CS_CALL(cudnnCreateActivationDescriptor)
CS_CALL(cudnnDestroyActivationDescriptor)
CS_CALL(cudnnSetActivationDescriptor)
CS_CALL(cudnnSetActivationDescriptorSwishBeta)
#undef CS_CALL

const char *cudnnGetErrorString(int status);
const char *cudnnGetErrorString(int status)
{
    return status == 0 ? "success" : "failure";
}
