/* One convolution with its fused pointwise operations, as plain integers. It is the same for calls
 * of both APIs.
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

/* The direction: the convolution computes y, dx or dw. A gradient is stored as its tensor would be.
 */
enum cs_direction {
    CS_FORWARD,
    CS_BACKWARD_DATA,
    CS_BACKWARD_FILTER,
    CS_DIRECTIONS
};

/* The operands of a convolution in the order of every array here. The other tensors of a fused
 * problem follow after them. */
enum cs_operand {
    CS_X,
    CS_FILTER,
    CS_Y,
    CS_OPERANDS
};
enum {
    CS_MAX_TENSORS = 16,
    CS_MAX_STEPS = 8,
    CS_STEP_WORDS = 32
};

struct cs_tensor {
    int64_t dims[CS_DIMS];
    int64_t strides[CS_DIMS]; /* elements; 0 for absent dimensions */
    int64_t alignment;        /* bytes; divides the base address */
    enum cs_dtype dtype;
    enum cs_operand side; /* the operand whose elements this tensor's correspond to: an extent is
                             that operand's or 1 (broadcast); of an operand: itself */
    bool is_virtual;      /* exists inside a launch only: has no address */
    bool by_value;        /* one number in host memory */
    bool written;
};

/* A pointwise operation before or after the convolution. Planning only compares it. The numbers
 * belong to the vendor's part. */
struct cs_step {
    int words;
    int64_t word[CS_STEP_WORDS];
};

struct cs_problem {
    enum cs_direction direction;
    enum cs_dtype compute; /* accumulator type */
    int spatial;  /* how many of D, H, W the application's own descriptors have: the last 1 to 3 */
    bool flipped; /* true convolution instead of cross-correlation */
    int64_t groups;
    int64_t pre[CS_SPATIAL];  /* padding before the first element, D H W; >= 0 */
    int64_t post[CS_SPATIAL]; /* padding after the last element */
    int64_t stride[CS_SPATIAL];
    int64_t dilation[CS_SPATIAL];
    double alpha, beta; /* result = alpha * convolution + beta * result */
    int tensors;        /* CS_OPERANDS, more if fused */
    struct cs_tensor tensor[CS_MAX_TENSORS];
    int steps;        /* 0: the convolution alone */
    int steps_before; /* the number of steps before the convolution */
    struct cs_step step[CS_MAX_STEPS];
};

/* An engine as an application chose it: cuDNN's global index and knob settings. */
enum {
    CS_MAX_KNOBS = 32
};
struct cs_engine {
    int64_t index;
    int knobs;
    int64_t knob_type[CS_MAX_KNOBS];
    int64_t knob_value[CS_MAX_KNOBS];
};

/* How far an execution plan may go from the engine that an application chose. */
enum cs_relaxation {
    CS_SAME_KNOBS,     /* its engine and knobs, or the nearest to them that takes the problem */
    CS_DEFAULT_KNOBS,  /* its engine with that engine's default knobs */
    CS_SIMILAR_ENGINE, /* the engine of least workspace among those that compute and behave alike */
    CS_RELAXATIONS
};

/* Size of one element in bytes. */
int64_t cs_problem_dtype_size(enum cs_dtype dtype);

/* "f32", "f16", "bf16". */
const char *cs_problem_dtype_name(enum cs_dtype dtype);

/* The operand that a direction computes. */
enum cs_operand cs_result(enum cs_direction direction);

/* "forward", "dgrad", "wgrad". */
const char *cs_problem_direction_name(enum cs_direction direction);

/* "knobs", "defaults", "alike". */
const char *cs_problem_relaxation_name(enum cs_relaxation relaxation);

/* Computes the bytes from the first to the last element of a tensor, strides included. Strides must
 * not be negative. */
CS_MUST_CHECK enum cs_status cs_problem_tensor_span(const struct cs_tensor *tensor,
                                                    int64_t *bytes_p);

/* Computes the bytes of a tensor's elements, without gaps. */
CS_MUST_CHECK enum cs_status cs_problem_tensor_bytes(const struct cs_tensor *tensor,
                                                     int64_t *bytes_p);

/* Bytes that one tensor of a problem, or all together, take of the device's memory, strides
 * included. A filter that is only read does not count, because the program holds it anyway.
 * INT64_MAX if they leave 64 bits. */
int64_t cs_problem_held_by(const struct cs_problem *problem, int tensor);
int64_t cs_problem_held(const struct cs_problem *problem);

/* "nchw" or "nhwc" if x and y are both packed that way ("ncw", "nwc" with one spatial dimension,
 * "ncdhw", "ndhwc" with three; where both fit, channels first), else "strided". */
const char *cs_problem_layout(const struct cs_problem *problem);

/* Checks a problem. Only a problem that passed may be planned. CS_OVERFLOW if a number exceeds 64
 * bits, CS_ILLEGAL for written tensors, CS_INVALID otherwise. CS_OK if all of these hold:
 * - extents are positive (1 in absent dimensions)
 * - strides are positive if the extent is more than 1
 * - paddings are not negative, alignments are powers of two
 * - channels and groups agree, and the output's extents follow from the input's
 * - every further tensor fits its side, and every span fits 64 bits
 * - the result of the convolution is virtual or written, and a tensor is written
 * - every written tensor has an address, lies on the result's side and has all of its extents
 * - no two elements of a written tensor share an address */
CS_MUST_CHECK enum cs_status cs_problem_check(const struct cs_problem *problem);

/* Converts a problem to integers, for comparing and hashing: two problems have equal words if and
 * only if they are equal. Returns the number of words used, at most CS_PROBLEM_WORDS. */
enum {
    CS_PROBLEM_WORDS = 560
};
int cs_problem_words(const struct cs_problem *problem, int64_t words[CS_PROBLEM_WORDS]);

/* True if all words are equal. */
bool cs_problem_same(const struct cs_problem *a, const struct cs_problem *b);

/* Converts words to a problem. False if they have the wrong form. The problem is not checked. */
bool cs_problem_of_words(const int64_t *words, int count, struct cs_problem *problem);

#endif
