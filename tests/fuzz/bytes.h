/* Takes values off the bytes that a fuzzer made; zeros once they are used up. */
#ifndef BYTES_H
#define BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
    const uint8_t *at;
    size_t left;
};

static inline void bytes_take(struct bytes *bytes, void *out, size_t size)
{
    size_t taken = size < bytes->left ? size : bytes->left;
    memset(out, 0, size);
    if (taken > 0)
        memcpy(out, bytes->at, taken);
    bytes->at += taken;
    bytes->left -= taken;
}

static inline uint8_t bytes_byte(struct bytes *bytes)
{
    uint8_t value;
    bytes_take(bytes, &value, sizeof value);
    return value;
}

/* Mostly small numbers, sometimes any. */
static inline int64_t bytes_number(struct bytes *bytes)
{
    int64_t value = bytes_byte(bytes);
    if (value >= 0xf0)
        bytes_take(bytes, &value, sizeof value);
    return value;
}

#endif
