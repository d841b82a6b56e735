/* Many short results as lines of a file in tests/golden, each of them `KEY: RESULT`. A line that
 * differs is printed as it was and as it is now. CONVSHIM_UPDATE_GOLDEN=1 writes the file anew. To
 * be included by one file of a program. */
#ifndef GOLDEN_LINES_H
#define GOLDEN_LINES_H

#include "check.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    GOLDEN_SHOWN = 12 /* lines that differ, of a file */
};

static char golden_now[1 << 20], golden_was[1 << 20];
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

static inline size_t line_length(const char *line)
{
    return strcspn(line, "\n");
}

/* Up to the first colon; all lines have one. */
static inline size_t key_length(const char *line)
{
    return strcspn(line, ":\n") + 1;
}

/* The line of the same key, looked for from `from` on and then from the beginning; NULL: none. */
static inline const char *line_of(const char *text, const char *from, const char *key)
{
    for (int round = 0; round < 2; round++, from = text)
        for (const char *line = from; *line;
             line += line_length(line) + (line[line_length(line)] != 0))
            if (strncmp(line, key, key_length(key)) == 0)
                return line;
    return NULL;
}

static inline int golden_shows(int shown, const char *sign, const char *line)
{
    if (shown < GOLDEN_SHOWN)
        printf("# %s %.*s\n", sign, (int)line_length(line), line);
    return shown + 1;
}

static inline void golden_compare(const char *path)
{
    int differ = 0;
    const char *was = golden_was;
    for (const char *line = golden_now; *line; line += line_length(line) + 1) {
        const char *old = line_of(golden_was, was, line);
        if (old)
            was = old + line_length(old) + (old[line_length(old)] != 0);
        if (old && line_length(old) == line_length(line) &&
            strncmp(old, line, line_length(line)) == 0)
            continue;
        if (old)
            golden_shows(differ, "was", old);
        differ = golden_shows(differ, "is ", line);
    }
    for (const char *line = golden_was; *line;
         line += line_length(line) + (line[line_length(line)] != 0))
        if (!line_of(golden_now, golden_now, line))
            differ = golden_shows(differ, "is no longer there:", line);
    check_failures += differ > 0;
    if (differ > 0)
        printf("# %d lines of %s differ; if that is meant, see tests/README.md, Decisions\n",
               differ, path);
}

/* All that was put is what stands in that file, or is written there. */
static inline void golden_end(const char *path)
{
    const char *update = getenv("CONVSHIM_UPDATE_GOLDEN");
    bool writes = update && *update == '1';
    FILE *file = fopen(path, writes ? "we" : "re");
    CHECK(file != NULL);
    if (!file)
        return;
    if (writes) {
        CHECK(fwrite(golden_now, 1, golden_used, file) == golden_used);
    } else {
        golden_was[fread(golden_was, 1, sizeof golden_was - 1, file)] = '\0';
        if (strcmp(golden_was, golden_now) != 0)
            golden_compare(path);
    }
    CHECK(fclose(file) == 0);
    golden_used = 0;
}

#endif
