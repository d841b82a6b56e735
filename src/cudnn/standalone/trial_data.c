/* Fills device buffers with reproducible numbers, and sums results up. */
#include "cudnn/standalone/trial_gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

enum {
    CHUNK = 32 << 20 /* bytes read at once */
};

/* splitmix64 */
static uint64_t next_bits(uint64_t *state)
{
    uint64_t bits = *state += UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

/* A bell-shaped number of mean 0 and standard deviation 1: a scaled sum of four uniform ones. */
static float next_number(uint64_t *state)
{
    uint64_t bits = next_bits(state);
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (double)(bits >> 16 * i & 0xffff) / 65536.0;
    return (float)((sum - 2) * 1.7320508075688772);
}

/* Rounds to nearest, ties to even. Numbers below the normal ones become 0. Not for numbers beyond
 * the type. */
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

static void store_number(enum cs_dtype dtype, void *base, size_t index, float number)
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
        store_number(dtype, value, i, next_number(&seed));
    *pattern = (struct cs_pattern){dtype, value};
    return true;
}

/* The filled part is copied after itself, so that the period stays that of the pattern. */
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
