/* The GPU of a trial: the driver's functions, the primary context of device 0
 * (CUDA_VISIBLE_DEVICES chooses), a stream and a cuDNN handle on it, and buffers of reproducible
 * numbers. One thread. */
#ifndef CS_CUDNN_STANDALONE_TRIAL_GPU_H
#define CS_CUDNN_STANDALONE_TRIAL_GPU_H

#include "cudnn/bind/real.h"
#include "cudnn/standalone/trial.h"
#include <cuda.h>

struct cs_gpu_calls {
#define CS_GPU_CALL(name, parameters) CUresult(*name) parameters;
#include "cudnn/standalone/gpu_calls.def"
#undef CS_GPU_CALL
};

struct cs_cudnn_calls {
#define CS_CALL(name) __typeof__(name) *name;
#include "cudnn/standalone/cudnn_calls.def"
#undef CS_CALL
};

struct cs_trial {
    struct cs_gpu_calls calls; /* all slots are filled, those of `cudnn` after the handle is open */
    struct cs_cudnn_calls cudnn;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    cudnnHandle_t handle;
    bool simulated, warm;                       /* warm: calls have raised the clocks */
    size_t (*summary)(char *json, size_t size); /* the library's; NULL without it */
};

/* Writes an error of the driver in `call` to `error`, with its number. */
void cs_gpu_error(CUresult result, const char *call, char *error, size_t size);

/* A tensor on the GPU repeats a pattern, so that the largest needs no copy on the host: element i
 * is element i % CS_PATTERN of the pattern. A prime, so that rows and planes do not repeat. */
enum {
    CS_PATTERN = 1048573
};

struct cs_pattern {
    enum cs_dtype dtype;
    void *value; /* CS_PATTERN bell-shaped numbers, mean 0, standard deviation 1 */
};

/* The same numbers for the same type and seed. False if memory is out; the caller frees the values.
 */
bool cs_pattern_make(enum cs_dtype dtype, uint64_t seed, struct cs_pattern *pattern);

/* Fills a device buffer of `bytes`, on the stream. */
CUresult cs_pattern_spread(const struct cs_trial *trial, const struct cs_pattern *pattern,
                           CUdeviceptr buffer, int64_t bytes);

/* FNV-1a over a device buffer in words of 8 bytes, the last one filled up with zeros. Waits for the
 * stream. The bytes are also written to `dump` if that is not NULL; ferror finds a failure. */
CUresult cs_buffer_checksum(const struct cs_trial *trial, CUdeviceptr buffer, int64_t bytes,
                            FILE *dump, uint64_t *checksum_p);

#endif
