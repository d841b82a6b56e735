/* Many short results as lines of a file in tests/golden. To be included by one file of a program.
 */
#ifndef GOLDEN_LINES_H
#define GOLDEN_LINES_H

#include "golden_file.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

static char golden_now[1 << 20];
static size_t golden_used;

static inline void golden_put(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void golden_put(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length =
        vsnprintf(golden_now + golden_used, sizeof golden_now - golden_used, format, arguments);
    va_end(arguments);
    CHECK(length >= 0 && (size_t)length < sizeof golden_now - golden_used);
    if (length >= 0 && (size_t)length < sizeof golden_now - golden_used)
        golden_used += (size_t)length;
}

/* A number for a row of integers in their order. */
static inline uint64_t golden_digest(uint64_t digest, const int64_t *word, int words)
{
    for (int i = 0; i < words; i++) {
        digest = (digest ^ (uint64_t)word[i]) * 0x9e3779b97f4a7c15u;
        digest ^= digest >> 29;
    }
    return digest;
}

/* Compares all that was put with a file, "tests/golden/NAME". */
static inline void golden_end(const char *path)
{
    golden_file(".", strrchr(path, '/') + 1, golden_now);
    golden_used = 0;
    golden_now[0] = '\0';
}

#endif
