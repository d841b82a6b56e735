/* The numbers that a convolution is run on, and the sums that its result should be. A tensor on the
 * GPU repeats a pattern, so that the largest needs no copy on the host, and any of its elements is
 * known there. */
#ifndef CS_CUDNN_STANDALONE_TRIAL_DATA_H
#define CS_CUDNN_STANDALONE_TRIAL_DATA_H

#include "convshim/problem.h"
#include "cudnn/standalone/open_gpu.h"

/* Element i of a buffer is element i % CS_PATTERN of its pattern. A prime, so that rows and planes
 * do not repeat. */
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
 * stream. The bytes are also written to `dump` if that is not NULL; what that cannot take is found
 * by ferror. */
CUresult cs_buffer_checksum(const struct cs_trial *trial, CUdeviceptr buffer, int64_t bytes,
                            FILE *dump, uint64_t *checksum_p);

/* Compares `samples` elements of a forward convolution's result on the device, the first and last
 * among them and the others drawn from a fixed seed, with sums in double over the patterns, and
 * fills those members of the result. */
CUresult cs_buffer_compare(const struct cs_trial *trial, const struct cs_problem *problem,
                           const struct cs_pattern pattern[CS_OPERANDS], CUdeviceptr result_buffer,
                           int64_t samples, struct cs_trial_result *result);

#endif
