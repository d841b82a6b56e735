/* Arithmetic on extents and bytes that cannot wrap, since tensors may span more than 2^31 elements.
 * Every product or sum of extents uses these functions. They return true on success. On failure
 * *out_p is unchanged. Pure, except cs_raise_atomic. */
#ifndef CS_BASE_CHECKED_H
#define CS_BASE_CHECKED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

__attribute__((warn_unused_result)) static inline bool cs_mul(int64_t a, int64_t b, int64_t *out_p)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out_p = product;
    return true;
}

__attribute__((warn_unused_result)) static inline bool cs_add(int64_t a, int64_t b, int64_t *out_p)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out_p = sum;
    return true;
}

static inline int64_t cs_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t cs_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns the larger number, as fmax, which would be the only use of libm. */
static inline double cs_larger(double a, double b)
{
    return a > b ? a : b;
}

/* Raises *most to `value` if it is less. */
static inline void cs_raise(int64_t *most, int64_t value)
{
    *most = cs_max(*most, value);
}

/* The same for a value that threads share. Relaxed: it orders no other memory. */
static inline void cs_raise_atomic(_Atomic int64_t *most, int64_t value)
{
    int64_t before = atomic_load_explicit(most, memory_order_relaxed);
    while (value > before && !atomic_compare_exchange_weak_explicit(
                                 most, &before, value, memory_order_relaxed, memory_order_relaxed))
        continue;
}

/* Quotient rounded up; a >= 0, b > 0. */
static inline int64_t cs_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* Returns the smallest multiple of `unit` that is at least a, or INT64_MAX if there is none; a >=
 * 0, unit > 0. */
static inline int64_t cs_round_up(int64_t a, int64_t unit)
{
    int64_t up;
    return cs_mul(cs_ceil_div(a, unit), unit, &up) ? up : INT64_MAX;
}

#endif
