/* A libcuda.so.1 for the command on a machine that has none (cudnn/alone/driver.h). Since 9.27
 * cuDNN's engines that are compiled at run time are linked against the driver, and without them
 * cuDNN plans nothing at all. With this they load and decline, as those of older cuDNNs do without
 * a driver.
 *
 * A function here has no more to it than its name: whatever it is asked for, there is no driver. No
 * prototype of NVIDIA's is needed for that; the ABIs we build for let a function ignore what it is
 * given. The names are those that 9.27 and 9.28 are linked against or look up while they plan; a
 * missing one would be complained about on standard error. */
enum {
    NOT_INITIALIZED = 3 /* CUDA_ERROR_NOT_INITIALIZED */
};

#define REFUSED(name)                                                                              \
    int name(void);                                                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        return NOT_INITIALIZED;                                                                    \
    }

/* linked against */
REFUSED(cuGetErrorString)
REFUSED(cuModuleGetFunction)
REFUSED(cuModuleLoadData)
REFUSED(cuModuleUnload)
REFUSED(cuTensorMapEncodeIm2col)
REFUSED(cuTensorMapEncodeTiled)

/* looked up */
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
