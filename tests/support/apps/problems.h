/* Random convolution problems, the settings of patch_conv's sweep, and the data and host reference
 * for them. */
#ifndef PROBLEMS_H
#define PROBLEMS_H

#include "conv.h"

/* The index-th random problem of a seed, small and valid. With symmetric true, the legacy API can
 * express its padding, and its views begin on 16-byte boundaries, which that API assumes. */
void problem_random(uint64_t seed, uint64_t index, enum conv_direction direction,
                    cudnnDataType_t type, bool symmetric, struct conv_problem *problem);

/* The same with most axes of stride 1 and dilated, up to 8. */
void problem_dilated(uint64_t seed, uint64_t index, enum conv_direction direction,
                     cudnnDataType_t type, bool symmetric, struct conv_problem *problem);

/* The sweep over height 24..128, kernel 2..7, stride 1..4, padding 0..4 and dilation 1..2. */
#define PROBLEM_PATCH_CONV_COUNT 25200
void problem_patch_conv(uint64_t index, enum conv_direction direction, cudnnDataType_t type,
                        struct conv_problem *problem);

/* One line without line feed, everything about the problem. Cut off if longer than `bytes`. */
void problem_print(const struct conv_problem *problem, char *text, size_t bytes);

/* Reads such a line, in any order; only x and w are required. Defaults: direction forward, type
 * f32, layout nchw, packed tensors, equal padding on both sides, groups, alpha, strides and
 * dilations 1, all others 0. Words that are no part of a problem are skipped. If the problem is
 * invalid, prints a line on stderr and returns false. */
bool problem_parse(const char *text, struct conv_problem *problem);

enum data {
    DATA_INTEGERS, /* each partial sum and the result are exact in any order of summation */
    DATA_NORMAL
};

/* Host images of the three buffers, whole storage. All bytes outside the views are 0xff, a NaN in
 * every type; so is all of the result, unless beta needs its contents. */
struct problem_data {
    void *x, *w, *y;
};

/* The image that belongs to conv_result. */
void *problem_result(const struct conv_problem *problem, const struct problem_data *data);

/* Fills a view with numbers of about one, or with integers -range..range times the factor. */
void problem_fill_view(const struct tensor *tensor, struct rng *rng, enum data kind, int64_t range,
                       int64_t factor, void *buffer);

/* False if memory is out. The caller releases the data. */
bool problem_fill(const struct conv_problem *problem, uint64_t seed, enum data kind,
                  struct problem_data *data);
/* The same with sums of integers that are at most a share-th as large, so that more can be done
 * with the result. */
bool problem_fill_share(const struct conv_problem *problem, uint64_t seed, enum data kind,
                        int64_t share, struct problem_data *data);
void problem_release(struct problem_data *data);

/* The expected contents of the result's whole storage after the convolution, computed in double by
 * plain loops and rounded once. `result` contains the earlier contents. */
void problem_reference(const struct conv_problem *problem, const struct problem_data *data,
                       void *result);

/* The same elements before rounding, without gaps, the last dimension fastest. */
void problem_reference_double(const struct conv_problem *problem, const struct problem_data *data,
                              const void *result, double *elements);

#endif
