/* Names and texts of the errors that this library can return. */
#include "cuda_driver.h"

#define ERRORS(E)                                                                                  \
    E(CUDA_SUCCESS, "no error")                                                                    \
    E(CUDA_ERROR_INVALID_VALUE, "invalid argument")                                                \
    E(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")                                                   \
    E(CUDA_ERROR_NOT_INITIALIZED, "initialization error")                                          \
    E(CUDA_ERROR_DEINITIALIZED, "driver shutting down")                                            \
    E(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")                                  \
    E(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")                                         \
    E(CUDA_ERROR_INVALID_CONTEXT, "invalid device context")                                        \
    E(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle")                                        \
    E(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state")          \
    E(CUDA_ERROR_NOT_FOUND, "named symbol not found")                                              \
    E(CUDA_ERROR_NOT_READY, "device not ready")                                                    \
    E(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered")                      \
    E(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed")                                     \
    E(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address")                                         \
    E(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure")                                      \
    E(CUDA_ERROR_NOT_PERMITTED, "operation not permitted")                                         \
    E(CUDA_ERROR_NOT_SUPPORTED, "operation not supported")                                         \
    E(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing")   \
    E(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture was invalidated by an earlier error")    \
    E(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would merge two captures")                       \
    E(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not begun on this stream")                 \
    E(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work")                    \
    E(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency on uncaptured work in another stream")      \
    E(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "legacy stream would depend on a capturing stream")      \
    E(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event of a capture")               \
    E(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "capture was begun by another thread")               \
    E(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the graph update was not performed")                  \
    E(CUDA_ERROR_UNKNOWN, "unknown error")

struct error {
    CUresult code;
    const char *name, *text;
};

static const struct error *find_error(CUresult code)
{
#define ROW(error, words) {error, #error, words},
    static const struct error errors[] = {ERRORS(ROW)};
#undef ROW
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
        if (errors[i].code == code)
            return &errors[i];
    }
    return NULL;
}

CUresult cuGetErrorName(CUresult code, const char **name)
{
    const struct error *error = find_error(code);
    *name = error ? error->name : NULL;
    return error ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char **text)
{
    const struct error *error = find_error(code);
    *text = error ? error->text : NULL;
    return error ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
