/* A text that is composed in the caller's memory. Bytes that do not fit are only counted, as by
 * snprintf. So a first pass without memory returns the size that is needed. Not thread-safe for one
 * struct. */
#ifndef CS_BASE_TEXT_H
#define CS_BASE_TEXT_H

#include <stddef.h>

struct cs_text {
    char *at; /* ends with '\0' after the first put, if size > 0; may be NULL if size is 0 */
    size_t size;
    int length; /* bytes of the whole text, without NUL; begins as 0 */
};

void cs_text_put(struct cs_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
