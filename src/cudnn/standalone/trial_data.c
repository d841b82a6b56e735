/* Fills device buffers with reproducible numbers, sums results up, and computes single elements on
 * the host. */
#include "cudnn/standalone/trial_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

enum {
    CHUNK = 32 << 20 /* bytes read at once */
};

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
    uint64_t bits = *state += UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

/* The sum of four uniform numbers. */
static float bell(uint64_t *state)
{
    uint64_t bits = next(state);
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (double)(bits >> 16 * i & 0xffff) / 65536.0;
    return (float)((sum - 2) * 1.7320508075688772);
}

/* To nearest even; a number below the normal ones becomes 0. Not for numbers beyond the type. */
static uint16_t half_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    int exponent = (int)(bits >> 23 & 255) - 112;
    uint32_t low = bits & 0x1fff, sign = bits >> 16 & 0x8000;
    if (exponent <= 0)
        return (uint16_t)sign;
    uint32_t half = (uint32_t)exponent << 10 | (bits >> 13 & 0x3ff);
    half += low > 0x1000 || (low == 0x1000 && (half & 1));
    return (uint16_t)(sign | half);
}

static uint16_t bfloat_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void store(enum cs_dtype dtype, void *base, size_t index, float number)
{
    if (dtype == CS_F32)
        ((float *)base)[index] = number;
    else
        ((uint16_t *)base)[index] = dtype == CS_F16 ? half_of(number) : bfloat_of(number);
}

static double number_of_half(uint16_t half)
{
    int exponent = half >> 10 & 31, mantissa = half & 0x3ff;
    double number = exponent == 0    ? ldexp(mantissa, -24)
                    : exponent == 31 ? (mantissa ? (double)NAN : (double)INFINITY)
                                     : ldexp(1024 + mantissa, exponent - 25);
    return half & 0x8000 ? -number : number;
}

double cs_trial_number(enum cs_dtype dtype, const void *base, size_t index)
{
    if (dtype == CS_F32)
        return (double)((const float *)base)[index];
    uint16_t bits = ((const uint16_t *)base)[index];
    if (dtype == CS_F16)
        return number_of_half(bits);
    uint32_t wide = (uint32_t)bits << 16;
    float number;
    memcpy(&number, &wide, sizeof number);
    return (double)number;
}

bool cs_pattern_make(enum cs_dtype dtype, uint64_t seed, struct cs_pattern *pattern)
{
    void *value = malloc(CS_PATTERN * (size_t)cs_problem_dtype_size(dtype));
    if (!value)
        return false;
    for (size_t i = 0; i < CS_PATTERN; i++)
        store(dtype, value, i, bell(&seed));
    *pattern = (struct cs_pattern){dtype, value};
    return true;
}

/* The part that is there is copied behind itself, so that its period stays that of the pattern. */
CUresult cs_pattern_spread(const struct cs_trial *trial, const struct cs_pattern *pattern,
                           CUdeviceptr buffer, int64_t bytes)
{
    int64_t filled = CS_PATTERN * cs_problem_dtype_size(pattern->dtype);
    if (filled > bytes)
        filled = bytes;
    CUresult result =
        trial->calls.cuMemcpyHtoDAsync_v2(buffer, pattern->value, (size_t)filled, trial->stream);
    /* The copy is complete before the pattern may be freed, and before it is copied on. */
    if (result == CUDA_SUCCESS)
        result = trial->calls.cuStreamSynchronize(trial->stream);
    while (result == CUDA_SUCCESS && filled < bytes) {
        int64_t more = bytes - filled < filled ? bytes - filled : filled;
        result = trial->calls.cuMemcpyDtoDAsync_v2(buffer + (CUdeviceptr)filled, buffer,
                                                   (size_t)more, trial->stream);
        filled += more;
    }
    return result;
}

static uint64_t hash_words(uint64_t hash, const char *words, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, words + at, sizeof word);
        hash = (hash ^ word) * FNV_PRIME;
    }
    return hash;
}

CUresult cs_buffer_checksum(const struct cs_trial *trial, CUdeviceptr buffer, int64_t bytes,
                            FILE *dump, uint64_t *checksum_p)
{
    uint64_t hash = FNV_BASIS;
    char *chunk = malloc(CHUNK);
    CUresult result =
        chunk ? trial->calls.cuStreamSynchronize(trial->stream) : CUDA_ERROR_OUT_OF_MEMORY;
    for (int64_t at = 0; at < bytes && result == CUDA_SUCCESS; at += CHUNK) {
        size_t part = bytes - at < CHUNK ? (size_t)(bytes - at) : CHUNK;
        result = trial->calls.cuMemcpyDtoH_v2(chunk, buffer + (CUdeviceptr)at, part);
        if (result != CUDA_SUCCESS)
            break;
        if (dump)
            (void)fwrite(chunk, 1, part, dump);
        size_t behind = part % sizeof(uint64_t);
        if (behind != 0)
            memset(chunk + part, 0, sizeof(uint64_t) - behind);
        hash = hash_words(hash, chunk, part);
    }
    free(chunk);
    *checksum_p = hash;
    return result;
}

static int64_t offset_of(const struct cs_tensor *tensor, const int64_t at[CS_DIMS])
{
    int64_t offset = 0;
    for (int i = 0; i < CS_DIMS; i++)
        offset += at[i] * tensor->strides[i];
    return offset;
}

static double pattern_at(const struct cs_pattern *pattern, int64_t index)
{
    return cs_trial_number(pattern->dtype, pattern->value, (size_t)(index % CS_PATTERN));
}

/* Steps to the next tap of the filter; false behind the last. */
static bool next_tap(const struct cs_tensor *filter, int64_t tap[CS_DIMS])
{
    for (int i = CS_DIMS - 1; i >= CS_C; i--) {
        if (++tap[i] < filter->dims[i])
            return true;
        tap[i] = 0;
    }
    return false;
}

/* The element of the result at these coordinates. */
static double sum_of(const struct cs_problem *problem, const struct cs_pattern pattern[CS_OPERANDS],
                     const int64_t out[CS_DIMS])
{
    const struct cs_tensor *x = &problem->tensor[CS_X], *w = &problem->tensor[CS_FILTER];
    int64_t tap[CS_DIMS] = {[CS_N] = out[CS_C]}, in[CS_DIMS] = {[CS_N] = out[CS_N]};
    int64_t first = out[CS_C] / (w->dims[CS_N] / problem->groups) * w->dims[CS_C];
    double sum = 0;
    do {
        bool inside = true;
        in[CS_C] = first + tap[CS_C];
        for (int i = 0; i < CS_SPATIAL; i++) {
            int64_t reach =
                problem->flipped ? w->dims[CS_D + i] - 1 - tap[CS_D + i] : tap[CS_D + i];
            in[CS_D + i] =
                out[CS_D + i] * problem->stride[i] - problem->pre[i] + reach * problem->dilation[i];
            inside = inside && in[CS_D + i] >= 0 && in[CS_D + i] < x->dims[CS_D + i];
        }
        if (inside)
            sum += pattern_at(&pattern[CS_X], offset_of(x, in)) *
                   pattern_at(&pattern[CS_FILTER], offset_of(w, tap));
    } while (next_tap(w, tap));
    return sum;
}

static void choose(const struct cs_tensor *tensor, int64_t sample, uint64_t *state,
                   int64_t at[CS_DIMS])
{
    for (int i = 0; i < CS_DIMS; i++) {
        int64_t last = tensor->dims[i] - 1;
        at[i] = sample == 0   ? 0
                : sample == 1 ? last
                              : (int64_t)(next(state) % (uint64_t)(last + 1));
    }
}

CUresult cs_buffer_compare(const struct cs_trial *trial, const struct cs_problem *problem,
                           const struct cs_pattern pattern[CS_OPERANDS], CUdeviceptr result_buffer,
                           int64_t samples, struct cs_trial_result *result)
{
    const struct cs_tensor *y = &problem->tensor[CS_Y];
    int64_t size = cs_problem_dtype_size(y->dtype);
    uint64_t state = 0;
    double largest = 0;
    for (int64_t sample = 0; sample < samples; sample++) {
        int64_t at[CS_DIMS];
        float element = 0;
        choose(y, sample, &state, at);
        CUresult error = trial->calls.cuMemcpyDtoH_v2(
            &element, result_buffer + (CUdeviceptr)(offset_of(y, at) * size), (size_t)size);
        if (error != CUDA_SUCCESS)
            return error;
        double is = cs_trial_number(y->dtype, &element, 0),
               should_be = sum_of(problem, pattern, at);
        largest = fmax(largest, fabs(should_be));
        if (isfinite(is))
            result->max_abs = fmax(result->max_abs, fabs(is - should_be));
        else
            result->not_finite++;
    }
    result->samples = samples;
    result->max_rel = largest > 0 ? result->max_abs / largest : result->max_abs;
    return CUDA_SUCCESS;
}
