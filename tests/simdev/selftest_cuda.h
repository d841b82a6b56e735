/* Shared by the tests of the simulated libcuda: its functions, looked up as a library does that is
 * not linked against a driver. Each test program includes it once. */
#ifndef SELFTEST_CUDA_H
#define SELFTEST_CUDA_H

#include "selftest_cudart.h"
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>

/* Functions are named as they are exported. */
#undef cuCtxCreate
#undef cuStreamGetCaptureInfo
#define CALLS(C)                                                                                   \
    C(cuInit, (unsigned))                                                                          \
    C(cuDeviceGet, (CUdevice *, int))                                                              \
    C(cuDeviceGetAttribute, (int *, CUdevice_attribute, CUdevice))                                 \
    C(cuGetErrorName, (CUresult, const char **))                                                   \
    C(cuGetErrorString, (CUresult, const char **))                                                 \
    C(cuCtxCreate_v2, (CUcontext *, unsigned, CUdevice))                                           \
    C(cuCtxCreate_v4, (CUcontext *, CUctxCreateParams *, unsigned, CUdevice))                      \
    C(cuCtxDestroy_v2, (CUcontext))                                                                \
    C(cuCtxGetCurrent, (CUcontext *))                                                              \
    C(cuCtxSetCurrent, (CUcontext))                                                                \
    C(cuCtxPushCurrent_v2, (CUcontext))                                                            \
    C(cuCtxPopCurrent_v2, (CUcontext *))                                                           \
    C(cuCtxGetId, (CUcontext, unsigned long long *))                                               \
    C(cuCtxGetDevice, (CUdevice *))                                                                \
    C(cuDeviceGetName, (char *, int, CUdevice))                                                    \
    C(cuDeviceTotalMem_v2, (size_t *, CUdevice))                                                   \
    C(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                           \
    C(cuDevicePrimaryCtxRelease_v2, (CUdevice))                                                    \
    C(cuStreamCreate, (CUstream *, unsigned))                                                      \
    C(cuStreamCreateWithPriority, (CUstream *, unsigned, int))                                     \
    C(cuStreamDestroy_v2, (CUstream))                                                              \
    C(cuStreamGetPriority, (CUstream, int *))                                                      \
    C(cuStreamGetFlags, (CUstream, unsigned *))                                                    \
    C(cuStreamGetId, (CUstream, unsigned long long *))                                             \
    C(cuStreamGetCaptureInfo_v2, (CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,      \
                                  const CUgraphNode **, size_t *))                                 \
    C(cuStreamGetCaptureInfo_v3, (CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,      \
                                  const CUgraphNode **, const CUgraphEdgeData **, size_t *))       \
    C(cuStreamIsCapturing, (CUstream, CUstreamCaptureStatus *))                                    \
    C(cuStreamWaitEvent, (CUstream, CUevent, unsigned))                                            \
    C(cuStreamSynchronize, (CUstream))                                                             \
    C(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *))                                  \
    C(cuEventCreate, (CUevent *, unsigned))                                                        \
    C(cuEventDestroy_v2, (CUevent))                                                                \
    C(cuEventRecord, (CUevent, CUstream))                                                          \
    C(cuEventQuery, (CUevent))                                                                     \
    C(cuEventSynchronize, (CUevent))                                                               \
    C(cuEventElapsedTime, (float *, CUevent, CUevent))                                             \
    C(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream))                             \
    C(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                      \
    C(cuMemcpyPeer, (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t))                      \
    C(cuMemcpyPeerAsync, (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream))       \
    C(cuMemFree_v2, (CUdeviceptr))                                                                 \
    C(cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream))                                          \
    C(cuMemFreeAsync, (CUdeviceptr, CUstream))                                                     \
    C(cuDeviceGetDefaultMemPool, (CUmemoryPool *, CUdevice))                                       \
    C(cuDeviceGetMemPool, (CUmemoryPool *, CUdevice))                                              \
    C(cuMemPoolGetAttribute, (CUmemoryPool, CUmemPool_attribute, void *))                          \
    C(cuPointerGetAttribute, (void *, CUpointer_attribute, CUdeviceptr))                           \
    C(cuGraphAddMemAllocNode,                                                                      \
      (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUDA_MEM_ALLOC_NODE_PARAMS *))         \
    C(cuGraphAddMemFreeNode, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUdeviceptr))   \
    C(cuGraphMemAllocNodeGetParams, (CUgraphNode, CUDA_MEM_ALLOC_NODE_PARAMS *))                   \
    C(cuGraphMemFreeNodeGetParams, (CUgraphNode, CUdeviceptr *))                                   \
    C(cuDeviceGetGraphMemAttribute, (CUdevice, CUgraphMem_attribute, void *))                      \
    C(cuDeviceGraphMemTrim, (CUdevice))                                                            \
    C(cuModuleLoadData, (CUmodule *, const void *))                                                \
    C(cuModuleUnload, (CUmodule))                                                                  \
    C(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *, CUstream))                                       \
    C(cuGraphAddMemcpyNode,                                                                        \
      (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CUDA_MEMCPY3D *, CUcontext))     \
    C(cuGraphMemcpyNodeSetParams, (CUgraphNode, const CUDA_MEMCPY3D *))                            \
    C(cuUserObjectCreate, (CUuserObject *, void *, CUhostFn, unsigned, unsigned))                  \
    C(cuUserObjectRelease, (CUuserObject, unsigned))                                               \
    C(cuGraphRetainUserObject, (CUgraph, CUuserObject, unsigned, unsigned))

static struct {
#define MEMBER(name, parameters) CUresult(*name) parameters;
    CALLS(MEMBER)
#undef MEMBER
} cu;

/* False if there is no driver yet, or if a function is missing. */
static bool bind_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    bool bound = true;
    if (!library)
        return false;
#define BIND(name, parameters)                                                                     \
    *(void **)&cu.name = dlsym(library, #name);                                                    \
    if (!cu.name)                                                                                  \
        printf("# no %s\n", #name);                                                                \
    bound = bound && cu.name;
    CALLS(BIND)
#undef BIND
    return bound;
}

/* True if a driver call failed with this error and did not change the runtime's last error. */
static inline bool refused(CUresult result, CUresult wanted)
{
    const cudaError_t last = cudaGetLastError();
    const char *got = NULL;
    (void)cu.cuGetErrorName(result, &got);
    if (result != wanted || last != cudaSuccess)
        printf("# error %s, last error of the runtime %s\n", got ? got : "unnamed",
               cudaGetErrorName(last));
    return result == wanted && last == cudaSuccess;
}

static inline unsigned long long id_of(CUcontext context)
{
    unsigned long long id = 0;
    return cu.cuCtxGetId(context, &id) == CUDA_SUCCESS ? id : 0;
}

static inline CUcontext current(void)
{
    CUcontext context = NULL;
    return cu.cuCtxGetCurrent(&context) == CUDA_SUCCESS ? context : NULL;
}

static inline void on_thread(void (*run)(void))
{
    pthread_t thread;
    pthread_create(&thread, NULL, (void *(*)(void *))(void *)run, NULL);
    pthread_join(thread, NULL);
}

#endif
