/* A libcuda.so.1 for the command on a machine that has none (standalone.h). cuDNN loads the
 * library before it plans engines that it compiles at run time. From 9.27 on these engines are
 * linked against it, and cuDNN plans no engine without it.
 *
 * Every function returns the same error, so no prototype of NVIDIA's is needed: the ABIs that we
 * build for let a function ignore its arguments. The names are those that cuDNN 9.8 to 9.28 are
 * linked against or look up while they plan. cuDNN prints a line for a missing one. */
enum {
    NOT_INITIALIZED = 3 /* CUDA_ERROR_NOT_INITIALIZED */
};

#define REFUSED(name)                                                                              \
    int name(void);                                                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        return NOT_INITIALIZED;                                                                    \
    }

/* Functions that cuDNN links against. */
REFUSED(cuGetErrorString)
REFUSED(cuModuleGetFunction)
REFUSED(cuModuleLoadData)
REFUSED(cuModuleUnload)
REFUSED(cuTensorMapEncodeIm2col)
REFUSED(cuTensorMapEncodeTiled)

/* Functions that are looked up by name. */
REFUSED(cuCtxGetCurrent)
REFUSED(cuCtxGetLimit)
REFUSED(cuCtxPopCurrent)
REFUSED(cuCtxPushCurrent)
REFUSED(cuDeviceGet)
REFUSED(cuDeviceGetCount)
REFUSED(cuDriverGetVersion)
REFUSED(cuGetErrorName)
REFUSED(cuInit)
REFUSED(cuKernelGetAttribute)
REFUSED(cuKernelGetFunction)
REFUSED(cuKernelSetAttribute)
REFUSED(cuLaunchCooperativeKernel)
REFUSED(cuLaunchKernel)
REFUSED(cuLaunchKernelEx)
REFUSED(cuLibraryGetKernel)
REFUSED(cuLibraryLoadData)
REFUSED(cuLibraryLoadFromFile)
REFUSED(cuLibraryUnload)
REFUSED(cuLinkAddData)
REFUSED(cuLinkComplete)
REFUSED(cuLinkCreate)
REFUSED(cuLinkDestroy)
REFUSED(cuOccupancyMaxPotentialClusterSize)
REFUSED(cuStreamGetCtx)
