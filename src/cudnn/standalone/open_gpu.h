/* The GPU of the trials of this process, and buffers of reproducible numbers on it. One thread. */
#ifndef CS_CUDNN_STANDALONE_OPEN_GPU_H
#define CS_CUDNN_STANDALONE_OPEN_GPU_H

#include "cudnn/bind/real.h"
#include "cudnn/standalone/trial.h"
#include <cuda.h>

struct cs_trial_session {
    struct cs_gpu_calls {
#define CS_GPU_CALL(name, parameters) CUresult(*name) parameters;
#include "cudnn/standalone/gpu_calls.def"
#undef CS_GPU_CALL
    } calls; /* all slots are filled */
    CUdevice device;
    CUstream stream;
    cudnnHandle_t handle;
    bool simulated;
};

/* Filled by cs_trial_find_gpu and cs_trial_open. */
extern struct cs_trial_session cs_trial_session;

/* Calls a function of the driver. */
#define CS_GPU(name, ...) cs_trial_session.calls.name(__VA_ARGS__)

/* Writes an error of the driver in `call` to `error`, with its number. */
void cs_gpu_error(CUresult result, const char *call, char *error, size_t size);

/* Fills a device buffer with random numbers around 0, the same for the same type and seed, and
 * waits for the stream. The numbers repeat, so that the largest buffer needs no copy on the host.
 */
CUresult cs_buffer_fill(CUdeviceptr buffer, int64_t bytes, enum cs_dtype dtype, uint64_t seed);

/* FNV-1a over a device buffer in words of 8 bytes, the last one filled up with zeros. Waits for the
 * stream. The bytes are also written to `dump` if that is not NULL; ferror finds a failure. */
CUresult cs_buffer_checksum(CUdeviceptr buffer, int64_t bytes, FILE *dump, uint64_t *checksum_p);

#endif
