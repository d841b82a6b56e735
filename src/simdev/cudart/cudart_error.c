/* Names and texts of the errors (CUDA Runtime API, Error Handling). */
#include "cudart_internal.h"

/* Errors that this library, or a library on top of it, can return. */
#define ERRORS(E)                                                                                  \
    E(cudaSuccess, "no error")                                                                     \
    E(cudaErrorInvalidValue, "invalid argument")                                                   \
    E(cudaErrorMemoryAllocation, "out of memory")                                                  \
    E(cudaErrorInitializationError, "initialization error")                                        \
    E(cudaErrorCudartUnloading, "driver shutting down")                                            \
    E(cudaErrorInvalidConfiguration, "invalid configuration argument")                             \
    E(cudaErrorInvalidPitchValue, "invalid pitch argument")                                        \
    E(cudaErrorInvalidHostPointer, "invalid host pointer")                                         \
    E(cudaErrorInvalidDevicePointer, "invalid device pointer")                                     \
    E(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                        \
    E(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version") \
    E(cudaErrorNoDevice, "no CUDA-capable device is detected")                                     \
    E(cudaErrorInvalidDevice, "invalid device ordinal")                                            \
    E(cudaErrorInvalidResourceHandle, "invalid resource handle")                                   \
    E(cudaErrorIllegalState, "the operation cannot be performed in the present state")             \
    E(cudaErrorSymbolNotFound, "named symbol not found")                                           \
    E(cudaErrorNotReady, "device not ready")                                                       \
    E(cudaErrorIllegalAddress, "an illegal memory access was encountered")                         \
    E(cudaErrorLaunchOutOfResources, "too many resources requested for launch")                    \
    E(cudaErrorMisalignedAddress, "misaligned address")                                            \
    E(cudaErrorLaunchFailure, "unspecified launch failure")                                        \
    E(cudaErrorNotPermitted, "operation not permitted")                                            \
    E(cudaErrorNotSupported, "operation not supported")                                            \
    E(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing")       \
    E(cudaErrorStreamCaptureInvalidated,                                                           \
      "operation failed due to a previous error during capture")                                   \
    E(cudaErrorStreamCaptureMerge,                                                                 \
      "operation would result in a merge of separate capture sequences")                           \
    E(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began")     \
    E(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work")                        \
    E(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream")  \
    E(cudaErrorStreamCaptureImplicit,                                                              \
      "operation would make the legacy stream depend on a capturing blocking stream")              \
    E(cudaErrorCapturedEvent,                                                                      \
      "operation not permitted on an event last recorded in a capturing stream")                   \
    E(cudaErrorStreamCaptureWrongThread,                                                           \
      "attempt to terminate a thread-local capture sequence from another thread")                  \
    E(cudaErrorGraphExecUpdateFailure,                                                             \
      "the graph update was not performed because it included changes which violated constraints " \
      "specific to instantiated graph update")                                                     \
    E(cudaErrorUnknown, "unknown error")

const char *cudaGetErrorName(cudaError_t error)
{
#define NAME(code, text)                                                                           \
    case code:                                                                                     \
        return #code;
    switch ((int)error) {
        ERRORS(NAME)
    default:
        return "unrecognized error code";
    }
#undef NAME
}

const char *cudaGetErrorString(cudaError_t error)
{
#define TEXT(code, text)                                                                           \
    case code:                                                                                     \
        return text;
    switch ((int)error) {
        ERRORS(TEXT)
    default:
        return "unrecognized error code";
    }
#undef TEXT
}
