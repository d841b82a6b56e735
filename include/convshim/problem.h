/* One convolution as plain integers: what a cuDNN call says, whichever API said it.
 *
 * Five dimensions always: a 2-D convolution has D = 1, a 1-D one D = H = 1. Extents count elements,
 * strides count elements, alignments count bytes. Everything here is a value: copy, compare, keep.
 */
#ifndef CONVSHIM_PROBLEM_H
#define CONVSHIM_PROBLEM_H

#include "convshim/status.h"
#include <stdbool.h>
#include <stdint.h>

enum cs_dim {
    CS_N, /* batch of x and y; output channels of w */
    CS_C, /* channels of x and y; input channels per group of w */
    CS_D,
    CS_H,
    CS_W,
    CS_DIMS
};
enum {
    CS_SPATIAL = 3 /* D, H, W */
};

enum cs_dtype {
    CS_F32,
    CS_F16,
    CS_BF16,
    CS_DTYPES
};

enum cs_direction {
    CS_FORWARD
};

/* The operands of a convolution in the order in which every array here holds them. */
enum cs_operand {
    CS_X,
    CS_FILTER,
    CS_Y,
    CS_OPERANDS
};

struct cs_tensor {
    int64_t dims[CS_DIMS];
    int64_t strides[CS_DIMS]; /* of absent dimensions: 0 */
    int64_t alignment;        /* bytes that divide the base address */
    enum cs_dtype dtype;
};

struct cs_problem {
    enum cs_direction direction;
    enum cs_dtype compute; /* accumulator type */
    int spatial;  /* how many of D, H, W the client's own descriptors have: the last 1 to 3 */
    bool flipped; /* true convolution instead of cross-correlation */
    int64_t groups;
    int64_t pre[CS_SPATIAL];  /* padding before the first element, D H W; >= 0 */
    int64_t post[CS_SPATIAL]; /* padding behind the last element */
    int64_t stride[CS_SPATIAL];
    int64_t dilation[CS_SPATIAL];
    double alpha, beta; /* y = alpha * conv(x, w) + beta * y */
    struct cs_tensor tensor[CS_OPERANDS];
};

/* An engine as a client chose it: cuDNN's global index and knob settings. */
enum {
    CS_MAX_KNOBS = 32
};
struct cs_engine {
    int64_t index;
    int knobs;
    int64_t knob_type[CS_MAX_KNOBS];
    int64_t knob_value[CS_MAX_KNOBS];
};

/* Size of one element in bytes. */
int64_t cs_dtype_size(enum cs_dtype dtype);

/* "f32", "f16", "bf16". */
const char *cs_dtype_name(enum cs_dtype dtype);

/* Bytes from the first to the last element that the tensor touches, strides included. Strides must
 * not be negative. */
CS_MUST_CHECK enum cs_status cs_tensor_span(const struct cs_tensor *tensor, int64_t *bytes_p);

/* Bytes of the tensor's elements, gaps left out. */
CS_MUST_CHECK enum cs_status cs_tensor_bytes(const struct cs_tensor *tensor, int64_t *bytes_p);

/* "nchw" or "nhwc" if x and y are both packed that way ("ncw", "nwc" with one spatial dimension,
 * "ncdhw", "ndhwc" with three; where both fit, channels first), else "strided". */
const char *cs_problem_layout(const struct cs_problem *problem);

/* CS_OK if extents are positive (1 in absent dimensions), strides positive where the extent is more
 * than 1, paddings not negative, alignments powers of two, channels and groups agree, the output's
 * extents follow from the input's, every span fits 64 bits, and no two elements of y can lie at one
 * place. CS_INVALID, CS_OVERFLOW for the span, CS_ILLEGAL for y. Nothing but a problem that passed
 * here may be planned. */
CS_MUST_CHECK enum cs_status cs_problem_check(const struct cs_problem *problem);

/* The problem as a row of integers, for comparing and hashing: equal problems, and only those, give
 * equal words. Returns how many of `words` were used, at most CS_PROBLEM_WORDS. */
enum {
    CS_PROBLEM_WORDS = 64
};
int cs_problem_words(const struct cs_problem *problem, int64_t words[CS_PROBLEM_WORDS]);

#endif
