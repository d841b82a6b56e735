/* A Bloom filter of the inputs that queries found above the threshold. Other calls pass through
 * without a description. */
#include "intercept/legacy/dispatch.h"

#include "base/hash.h"
#include <stdatomic.h>

enum {
    WORD = 64,  /* bits */
    WORDS = 256 /* with 1000 inputs in the filter, one in 16 other inputs passes it */
};

/* Algorithms that were added, one bit for each. They are checked first: for most programs, whose
 * queries were all small, one load decides. */
static atomic_uint algorithms[CS_DIRECTIONS];
static _Atomic uint64_t inputs[WORDS];

/* The bit of a call's algorithm. Numbers that cuDNN does not have share the bits of others. */
static unsigned algorithm_bit(const struct cs_legacy_call *call)
{
    return 1u << ((unsigned)call->algorithm % 32);
}

static uint64_t mix_hash(uint64_t hash, int high, int low)
{
    return cs_hash_word(hash, (uint64_t)(uint32_t)high << 32 | (uint32_t)low);
}

/* Hashes a call's direction, algorithm and tensor x. False if cuDNN does not report the descriptor
 * of x. */
static bool hash_input(const struct cs_legacy_call *call, uint64_t *hash_p)
{
    cudnnDataType_t type;
    int rank, extent[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX];
    if (CS_REAL(cudnnGetTensorNdDescriptor, call->x, CUDNN_DIM_MAX, &type, &rank, extent, stride) !=
            CUDNN_STATUS_SUCCESS ||
        rank < 0 || rank > CUDNN_DIM_MAX)
        return false;
    uint64_t hash = mix_hash((uint64_t)call->direction, call->algorithm, (int)type);
    for (int i = 0; i < rank; i++)
        hash = mix_hash(hash, extent[i], stride[i]);
    *hash_p = hash;
    return true;
}

static _Atomic uint64_t *word_of(uint64_t hash)
{
    return &inputs[hash / WORD % WORDS];
}

static uint64_t bit_of(uint64_t hash)
{
    return UINT64_C(1) << hash % WORD;
}

void cs_query_filter_add(const struct cs_legacy_call *call)
{
    uint64_t hash;
    if (hash_input(call, &hash))
        atomic_fetch_or_explicit(word_of(hash), bit_of(hash), memory_order_relaxed);
    else
        for (int i = 0; i < WORDS; i++)
            atomic_store_explicit(&inputs[i], UINT64_MAX, memory_order_relaxed);
    atomic_fetch_or_explicit(&algorithms[call->direction], algorithm_bit(call),
                             memory_order_release);
}

bool cs_query_filter_has(const struct cs_legacy_call *call)
{
    uint64_t hash;
    unsigned added = atomic_load_explicit(&algorithms[call->direction], memory_order_acquire);
    if (!(added & algorithm_bit(call)))
        return false;
    return !hash_input(call, &hash) ||
           (atomic_load_explicit(word_of(hash), memory_order_relaxed) & bit_of(hash)) != 0;
}
