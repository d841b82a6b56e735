/* Pointwise operations of fused graphs on the host. */
#include <math.h>
#include <string.h>

#include "cudnn_internal.h"

/* The loops below process whole tensors on one thread, so they need the vectoriser also at -O2. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math")
#endif

enum {
    CHUNK = 1024
};

/* ---- 16-bit formats: branch-free, so that the compiler can vectorise the row loops ---- */

static inline float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of_half(uint16_t half)
{
    const uint32_t magnitude = (uint32_t)(half & 0x7fff);
    const uint32_t normal = (magnitude << 13) + (112u << 23);
    const uint32_t small = bits_of_float((float)(int32_t)magnitude * 0x1p-24f);
    uint32_t bits = magnitude < 0x400u ? small : normal;
    bits = magnitude >= 0x7c00u ? magnitude << 13 | 0x7f800000u : bits;
    return float_of_bits(bits | (uint32_t)(half & 0x8000) << 16);
}

static inline uint16_t half_of_float(float value)
{
    const uint32_t bits = bits_of_float(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    /* Below 2^-14, the addition of 0.5 leaves the rounded subnormal in the low bits. */
    const uint32_t small = bits_of_float(float_of_bits(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13;
    const uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    uint32_t half = magnitude < 0x38800000u ? small : normal;
    half = magnitude >= 0x477ff000u ? special : half;
    return (uint16_t)(half | (bits >> 16 & 0x8000u));
}

static inline float float_of_bfloat(uint16_t bfloat)
{
    return float_of_bits((uint32_t)bfloat << 16);
}

static inline uint16_t bfloat_of_float(float value)
{
    const uint32_t bits = bits_of_float(value);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    const uint32_t quiet = bits >> 16 | 0x40u;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

/* ---- rows ---- */

static void load_row(const char *from, cudnnDataType_t type, int64_t stride, int n, float *to)
{
    const uint16_t *half = (const uint16_t *)(const void *)from;
    const float *single = (const float *)(const void *)from;
    if (type == CUDNN_DATA_FLOAT && stride == 1)
        memcpy(to, from, (size_t)n * sizeof *to);
    else if (type == CUDNN_DATA_FLOAT)
        for (int i = 0; i < n; i++)
            to[i] = single[i * stride];
    else if (type == CUDNN_DATA_HALF && stride == 1)
        for (int i = 0; i < n; i++)
            to[i] = float_of_half(half[i]);
    else if (type == CUDNN_DATA_HALF)
        for (int i = 0; i < n; i++)
            to[i] = float_of_half(half[i * stride]);
    else
        for (int i = 0; i < n; i++)
            to[i] = float_of_bfloat(half[i * stride]);
}

static void store_row(const float *from, int n, char *to, cudnnDataType_t type, int64_t stride)
{
    uint16_t *half = (uint16_t *)(void *)to;
    float *single = (float *)(void *)to;
    if (type == CUDNN_DATA_FLOAT && stride == 1)
        memcpy(to, from, (size_t)n * sizeof *from);
    else if (type == CUDNN_DATA_FLOAT)
        for (int i = 0; i < n; i++)
            single[i * stride] = from[i];
    else if (type == CUDNN_DATA_HALF && stride == 1)
        for (int i = 0; i < n; i++)
            half[i] = half_of_float(from[i]);
    else if (type == CUDNN_DATA_HALF)
        for (int i = 0; i < n; i++)
            half[i * stride] = half_of_float(from[i]);
    else
        for (int i = 0; i < n; i++)
            half[i * stride] = bfloat_of_float(from[i]);
}

/* ---- operations ---- */

struct simdev_pointwise simdev_pointwise_of(cudnnPointwiseMode_t mode)
{
    return (struct simdev_pointwise){.mode = mode,
                                     .alpha1 = 1,
                                     .alpha2 = 1,
                                     .scale = 1,
                                     .upper_clip = INFINITY,
                                     .swish_beta = 1,
                                     .elu_alpha = 1,
                                     .softplus_beta = 1};
}

bool simdev_pointwise_is_binary(cudnnPointwiseMode_t mode)
{
    switch (mode) {
    case CUDNN_POINTWISE_ADD:
    case CUDNN_POINTWISE_SUB:
    case CUDNN_POINTWISE_MUL:
    case CUDNN_POINTWISE_DIV:
    case CUDNN_POINTWISE_MAX:
    case CUDNN_POINTWISE_MIN:
        return true;
    default:
        return false;
    }
}

static float apply_relu(const struct simdev_pointwise *op, float x)
{
    if (x != x)
        return x;
    if (x < op->lower_clip)
        return op->lower_clip + op->lower_slope * (x - op->lower_clip);
    return x > op->upper_clip ? op->upper_clip : x;
}

static float gelu_tanh(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x)));
}

/* e^x to about two units in the last place, in a form that vectorises. It saturates beyond the
 * range of float. */
static inline float fast_exp(float x)
{
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    /* Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits. */
    const float shifted = x * 1.44269504f + 12582912.0f;
    const uint32_t power = bits_of_float(shifted) - 0x4b400000u;
    const float n = shifted - 12582912.0f;
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    return p * float_of_bits((power + 127u) << 23);
}

/* to = 1 / (1 + e^(-beta x)). A separate pass clamps x. Otherwise the compiler computes both sides
 * of the comparison, and the constant side produces denormal numbers, which cost a hundred cycles
 * each. */
static void sigmoid_row(float beta, int n, const float *x, float *to)
{
    for (int i = 0; i < n; i++) {
        const float t = -beta * x[i];
        const float low = t < -87.0f ? -87.0f : t;
        to[i] = low > 88.0f ? 88.0f : low;
    }
    for (int i = 0; i < n; i++)
        to[i] = 1.0f / (1.0f + fast_exp(to[i]));
}

static float apply_unary(const struct simdev_pointwise *op, float x)
{
    switch (op->mode) {
    case CUDNN_POINTWISE_ABS:
        return fabsf(x);
    case CUDNN_POINTWISE_NEG:
        return -x;
    case CUDNN_POINTWISE_EXP:
        return expf(x);
    case CUDNN_POINTWISE_SQRT:
        return sqrtf(x);
    case CUDNN_POINTWISE_RSQRT:
        return 1.0f / sqrtf(x);
    case CUDNN_POINTWISE_RELU_FWD:
        return apply_relu(op, x);
    case CUDNN_POINTWISE_TANH_FWD:
        return tanhf(x);
    case CUDNN_POINTWISE_ELU_FWD:
        return x < 0 ? op->elu_alpha * expm1f(x) : x;
    case CUDNN_POINTWISE_GELU_FWD:
        return 0.5f * x * (1.0f + erff(x * 0.7071067811865476f));
    case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
        return gelu_tanh(x);
    case CUDNN_POINTWISE_SOFTPLUS_FWD:
        return log1pf(expf(op->softplus_beta * x)) / op->softplus_beta;
    default:
        return x;
    }
}

static void unary_row(const struct simdev_pointwise *op, int n, float *x)
{
    float factor[CHUNK];
    switch (op->mode) {
    case CUDNN_POINTWISE_IDENTITY:
        break;
    case CUDNN_POINTWISE_SIGMOID_FWD:
        sigmoid_row(1, n, x, x);
        break;
    case CUDNN_POINTWISE_SWISH_FWD:
        sigmoid_row(op->swish_beta, n, x, factor);
        for (int i = 0; i < n; i++)
            x[i] *= factor[i];
        break;
    default:
        for (int i = 0; i < n; i++)
            x[i] = apply_unary(op, x[i]);
    }
}

static void binary_row(cudnnPointwiseMode_t mode, int n, float *x, const float *b)
{
    switch (mode) {
    case CUDNN_POINTWISE_ADD:
        for (int i = 0; i < n; i++)
            x[i] += b[i];
        break;
    case CUDNN_POINTWISE_SUB:
        for (int i = 0; i < n; i++)
            x[i] -= b[i];
        break;
    case CUDNN_POINTWISE_MUL:
        for (int i = 0; i < n; i++)
            x[i] *= b[i];
        break;
    case CUDNN_POINTWISE_DIV:
        for (int i = 0; i < n; i++)
            x[i] /= b[i];
        break;
    case CUDNN_POINTWISE_MAX:
        for (int i = 0; i < n; i++)
            x[i] = fmaxf(x[i], b[i]);
        break;
    default:
        for (int i = 0; i < n; i++)
            x[i] = fminf(x[i], b[i]);
        break;
    }
}

static void scale_row(float factor, int n, float *x)
{
    if (factor != 1)
        for (int i = 0; i < n; i++)
            x[i] *= factor;
}

/* ---- the walk ---- */

/* One operand of the iteration: strides in bytes, 0 in broadcast dimensions. */
struct lane {
    char *at;
    cudnnDataType_t type;
    int64_t stride[SIMDEV_MAX_RANK];
};

static struct lane lane_of(const struct simdev_view *view, const struct simdev_view *y)
{
    struct lane lane = {view->data, view->type, {0}};
    for (int i = 0; i < y->rank; i++)
        if (view->dim[i] != 1 || y->dim[i] == 1)
            lane.stride[i] = view->stride[i] * (int64_t)simdev_type_size(view->type);
    return lane;
}

static void run_chunk(const struct simdev_pointwise *op, struct lane *lane, int lanes, int inner,
                      int n)
{
    float value[CHUNK], other[CHUNK];
    int64_t step[3];
    for (int i = 0; i < lanes; i++)
        step[i] = lane[i].stride[inner] / (int64_t)simdev_type_size(lane[i].type);
    load_row(lane[1].at, lane[1].type, step[1], n, value);
    scale_row(op->alpha1, n, value);
    if (lanes == 3) {
        load_row(lane[2].at, lane[2].type, step[2], n, other);
        scale_row(op->alpha2, n, other);
        binary_row(op->mode, n, value, other);
    } else {
        unary_row(op, n, value);
    }
    scale_row(op->scale, n, value);
    if (op->beta != 0) {
        load_row(lane[0].at, lane[0].type, step[0], n, other);
        for (int i = 0; i < n; i++)
            value[i] += op->beta * other[i];
    }
    store_row(value, n, lane[0].at, lane[0].type, step[0]);
}

static void run_row(const struct simdev_pointwise *op, const struct lane *start, int lanes,
                    int inner, int64_t length)
{
    struct lane lane[3];
    memcpy(lane, start, sizeof lane);
    for (int64_t done = 0; done < length; done += CHUNK) {
        const int n = (int)(length - done < CHUNK ? length - done : CHUNK);
        run_chunk(op, lane, lanes, inner, n);
        for (int i = 0; i < lanes; i++)
            lane[i].at += n * lane[i].stride[inner];
    }
}

static int innermost_axis(const struct simdev_view *y)
{
    int inner = y->rank - 1;
    for (int i = y->rank - 1; i >= 0; i--) {
        if (y->dim[i] == 1)
            continue;
        const int64_t stride = y->stride[i] < 0 ? -y->stride[i] : y->stride[i];
        const int64_t best = y->stride[inner] < 0 ? -y->stride[inner] : y->stride[inner];
        if (y->dim[inner] == 1 || stride < best)
            inner = i;
    }
    return inner;
}

/* Merges a neighbouring dimension into the inner one if every lane is contiguous across both. */
static int64_t fold_axes(struct lane *lane, int lanes, int inner, int64_t *dim, int rank)
{
    int64_t length = dim[inner];
    dim[inner] = 1;
    for (int again = 1; again;) {
        again = 0;
        for (int i = 0; i < rank; i++) {
            bool follows = dim[i] > 1;
            for (int j = 0; j < lanes; j++)
                follows = follows && lane[j].stride[i] == length * lane[j].stride[inner];
            if (follows) {
                length *= dim[i];
                dim[i] = 1;
                again = 1;
            }
        }
    }
    return length;
}

void simdev_pointwise_run(const struct simdev_pointwise *op, const struct simdev_view *x,
                          const struct simdev_view *b, const struct simdev_view *y)
{
    const int lanes = b ? 3 : 2, inner = innermost_axis(y), rank = y->rank;
    struct lane lane[3] = {lane_of(y, y), lane_of(x, y)};
    int64_t index[SIMDEV_MAX_RANK] = {0}, dim[SIMDEV_MAX_RANK];
    if (b)
        lane[2] = lane_of(b, y);
    memcpy(dim, y->dim, sizeof dim);
    const int64_t length = fold_axes(lane, lanes, inner, dim, rank);
    for (;;) {
        run_row(op, lane, lanes, inner, length);
        int axis = rank - 1;
        while (axis >= 0 && ++index[axis] >= dim[axis]) {
            for (int i = 0; i < lanes; i++)
                lane[i].at -= (dim[axis] - 1) * lane[i].stride[axis];
            index[axis--] = 0;
        }
        if (axis < 0)
            return;
        for (int i = 0; i < lanes; i++)
            lane[i].at += lane[i].stride[axis];
    }
}
