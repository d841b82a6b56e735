/* 64-bit hashes. They are the same in every process. They do not resist an adversary. Pure.
 *
 *   cs_hash_bytes    FNV-1a (Fowler, Noll, Vo), byte by byte: for text and for contents of files
 *   cs_hash_words    a multiplication and a fold for each word: for keys of tables in memory
 *   cs_hash_spread   one multiplication (Knuth's Fibonacci hashing) of an address or number: use
 *                    the upper bits
 *   cs_hash_gnu      the loader's hash of names in DT_GNU_HASH tables
 */
#ifndef CS_BASE_HASH_H
#define CS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV's offset basis: the initial value of a hash. */
#define CS_HASH_START UINT64_C(0xcbf29ce484222325)

/* FNV's prime: the factor after every byte. */
#define CS_HASH_PRIME UINT64_C(0x100000001b3)

/* An odd factor whose product carries low bits far up: the first one of MurmurHash3's finish. */
#define CS_HASH_FACTOR UINT64_C(0xff51afd7ed558ccd)

static inline uint64_t cs_hash_bytes(uint64_t hash, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * CS_HASH_PRIME;
    return hash;
}

static inline uint64_t cs_hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * CS_HASH_FACTOR;
    return hash ^ hash >> 32;
}

static inline uint64_t cs_hash_words(uint64_t hash, const int64_t *word, int count)
{
    for (int i = 0; i < count; i++)
        hash = cs_hash_word(hash, (uint64_t)word[i]);
    return hash;
}

/* Spreads the bits of a number. 0 stays 0. */
static inline uint64_t cs_hash_spread(uint64_t word)
{
    return word * UINT64_C(0x9e3779b97f4a7c15);
}

/* The hash of a name. Not instrumented, because it is also used before sanitizers are ready
 * (cudnn/bind/find_dlsym.c). */
__attribute__((no_sanitize("address", "thread", "undefined"))) static inline uint32_t
cs_hash_gnu(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

#endif
