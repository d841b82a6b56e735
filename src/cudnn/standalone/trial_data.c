/* Fills device buffers with reproducible numbers, and sums results up. */
#include "base/checked.h"
#include "cudnn/standalone/open_gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

enum {
    PERIOD = 1048573, /* numbers after which a buffer repeats: a prime, so that rows and planes do
                         not repeat */
    CHUNK = 32 << 20  /* bytes read at once */
};

/* The formats of numbers. From the highest bit a number has its sign, its exponent plus `bias`, and
 * its mantissa. */
static const struct {
    int bits, mantissa, bias;
} format[CS_DTYPES] = {[CS_F32] = {32, 23, 127}, [CS_F16] = {16, 10, 15}, [CS_BF16] = {16, 7, 127}};

double cs_trial_number(enum cs_dtype dtype, const char *bytes)
{
    const int mantissa = format[dtype].mantissa, above = format[dtype].bits - 1 - mantissa,
              scale = -format[dtype].bias - mantissa;
    uint32_t bits = 0;
    memcpy(&bits, bytes, (size_t)format[dtype].bits / 8); /* little endian */
    const uint32_t part = bits & ((1u << mantissa) - 1);
    const int exponent = (int)(bits >> mantissa & ((1u << above) - 1));
    double number = ldexp(part, 1 + scale);
    if (exponent == (1 << above) - 1)
        number = part ? (double)NAN : (double)INFINITY;
    else if (exponent > 0)
        number = ldexp(part + (1u << mantissa), exponent + scale);
    return bits >> (format[dtype].bits - 1) ? -number : number;
}

/* Returns the bits of a random number from 0.5 to 2 or from -2 to -0.5. The state must not be 0
 * (xorshift). */
static uint32_t next_bits(enum cs_dtype dtype, uint64_t *state)
{
    const int mantissa = format[dtype].mantissa;
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    const uint32_t sign = (uint32_t)(*state >> 63), below = (uint32_t)(*state >> 62 & 1),
                   exponent = (uint32_t)format[dtype].bias - below,
                   part = (uint32_t)(*state >> 32) & ((1u << mantissa) - 1);
    return sign << (format[dtype].bits - 1) | exponent << mantissa | part;
}

/* --- buffers --- */

/* Copies the filled part after itself until the buffer is full, so that the period stays. */
static CUresult spread_numbers(CUdeviceptr buffer, int64_t filled, int64_t bytes)
{
    CUresult result = CUDA_SUCCESS;
    while (result == CUDA_SUCCESS && filled < bytes) {
        int64_t more = cs_min(bytes - filled, filled);
        result = CS_GPU(cuMemcpyDtoDAsync_v2, buffer + (CUdeviceptr)filled, buffer, (size_t)more,
                        cs_trial_session.stream);
        filled += more;
    }
    return result == CUDA_SUCCESS ? CS_GPU(cuStreamSynchronize, cs_trial_session.stream) : result;
}

CUresult cs_buffer_fill(CUdeviceptr buffer, int64_t bytes, enum cs_dtype dtype, uint64_t seed)
{
    const int64_t size = cs_problem_dtype_size(dtype), first = cs_min(bytes, PERIOD * size);
    char *numbers = malloc(PERIOD * (size_t)size);
    if (!numbers)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < PERIOD; i++) {
        const uint32_t bits = next_bits(dtype, &seed);
        memcpy(numbers + i * (size_t)size, &bits, (size_t)size);
    }
    CUresult result =
        CS_GPU(cuMemcpyHtoDAsync_v2, buffer, numbers, (size_t)first, cs_trial_session.stream);
    /* The copy must end before the numbers are freed, and before they are copied on. */
    if (result == CUDA_SUCCESS)
        result = CS_GPU(cuStreamSynchronize, cs_trial_session.stream);
    free(numbers);
    return result == CUDA_SUCCESS ? spread_numbers(buffer, first, bytes) : result;
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

CUresult cs_buffer_checksum(CUdeviceptr buffer, int64_t bytes, FILE *dump, uint64_t *checksum_p)
{
    uint64_t hash = FNV_BASIS;
    char *chunk = malloc(CHUNK);
    CUresult result =
        chunk ? CS_GPU(cuStreamSynchronize, cs_trial_session.stream) : CUDA_ERROR_OUT_OF_MEMORY;
    for (int64_t at = 0; at < bytes && result == CUDA_SUCCESS; at += CHUNK) {
        size_t part = (size_t)cs_min(bytes - at, CHUNK),
               behind = (sizeof(uint64_t) - part % sizeof(uint64_t)) % sizeof(uint64_t);
        result = CS_GPU(cuMemcpyDtoH_v2, chunk, buffer + (CUdeviceptr)at, part);
        if (result != CUDA_SUCCESS)
            break;
        if (dump)
            (void)fwrite(chunk, 1, part, dump);
        memset(chunk + part, 0, behind);
        hash = hash_words(hash, chunk, part);
    }
    free(chunk);
    *checksum_p = hash;
    return result;
}
