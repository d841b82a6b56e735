/* What the stand-in libcudnn asks of the stand-in libcudart.
 *
 * libcudart owns device memory, streams and the report; libcudnn computes. Both are loaded into one
 * ordinary program that knows of neither; these functions are the whole seam between them. All are
 * thread-safe. */
#ifndef SIMDEV_H
#define SIMDEV_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Work that a stream runs on its own thread, in order. `arg` belongs to the work from then on. */
typedef void simdev_work_fn(void *arg);

/* Queues work behind everything queued on the stream before. NULL, cudaStreamLegacy and
 * cudaStreamPerThread mean what they mean to CUDA. Returns cudaErrorInvalidResourceHandle for a
 * stream that does not exist. */
cudaError_t simdev_enqueue(cudaStream_t stream, simdev_work_fn *run, void *arg);

/* True if all of [ptr, ptr + bytes) lies inside one live device allocation. bytes = 0 asks for the
 * address alone. */
bool simdev_range_alive(const void *ptr, size_t bytes);

/* Something a card would have punished: counted, kept for the report (the first 32 texts), written
 * to stderr as one line that begins with "simdev: violation:". Never ends the process. */
void simdev_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

enum simdev_counter {
    SIMDEV_CONV_LAUNCHES,  /* convolutions executed, tiles counted singly */
    SIMDEV_OTHER_LAUNCHES, /* pointwise, activation, add, transform */
    SIMDEV_COPIES,         /* memory copies and sets queued */
    SIMDEV_COUNTERS
};
void simdev_count(enum simdev_counter counter);

/* Notes the largest workspace that an executed convolution used. */
void simdev_note_workspace(size_t bytes);

/* Says where workspace sizes come from: "cudnn 9.19.0" or "rule of thumb". The report prints it. */
void simdev_note_planning(const char *text);

/* Failure on request: SIMDEV_FAIL="cudaMalloc:3,cudnnBackendExecute:2" makes the n-th call (from 1)
 * of that name fail. True if this call is to fail; every call of a function that supports it asks
 * once. */
bool simdev_should_fail(const char *function);

/* The device-property profile in use, as cuDNN's DEVICEPROP descriptor takes it: one JSON object.
 * Lives as long as the process; NULL when it could not be read (every CUDA call then fails with
 * cudaErrorInitializationError). */
const char *simdev_profile_text(void);

#endif
