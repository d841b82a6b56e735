/* The operands of a layer, and its expected output. An operand on the GPU repeats a pattern, so
 * that the largest needs no copy on the host and the host can compute any element. */
#ifndef LAYER_DATA_H
#define LAYER_DATA_H

#include "../support/apps/conv.h"

#include <stdio.h>

/* Element i of an operand is element i % PATTERN_ELEMENTS of its pattern. A prime, so that rows and
 * planes do not repeat. */
#define PATTERN_ELEMENTS 1048573

struct pattern {
    cudnnDataType_t type;
    void *values; /* PATTERN_ELEMENTS bell-shaped numbers, mean 0, standard deviation 1 */
};

/* The same numbers for the same type and seed. False if memory is out; the caller frees the values.
 */
bool pattern_make(cudnnDataType_t type, uint64_t seed, struct pattern *pattern);
/* Fills a device buffer of that many elements; done when it returns. False with a line on stderr.
 */
bool pattern_spread(const struct pattern *pattern, void *device, int64_t elements,
                    cudaStream_t stream);

/* FNV-1a over a device buffer in words of 8 bytes, the last one padded with zeros. The bytes are
 * also written to `dump` if that is not NULL. After a failure, prints a line on stderr and returns
 * false. */
bool output_read(const void *device, size_t bytes, cudaStream_t stream, FILE *dump,
                 uint64_t *checksum);

struct layer_error {
    int64_t samples;
    int64_t not_finite; /* number of NaN and infinite results on the device, which the errors leave
                           out */
    double max_abs;     /* largest difference from the sum in double */
    double max_rel;     /* that, divided by the largest sum */
};

/* Compares that many elements of y on the device, the first and last among them and the others
 * drawn from a fixed seed, with sums in double over the patterns. Packed tensors, alpha 1, beta 0.
 * False with a line on stderr. */
bool output_check(const struct conv_problem *problem, const struct pattern *x,
                  const struct pattern *w, const void *y, int64_t samples,
                  struct layer_error *error);

#endif
