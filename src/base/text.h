/* Text put together in the caller's memory. What does not fit is counted only, as snprintf does, so
 * that a first pass without memory tells how much it takes. Not thread-safe for one struct. */
#ifndef CS_BASE_TEXT_H
#define CS_BASE_TEXT_H

#include <stddef.h>

struct cs_text {
    char *at; /* ends with '\0' once something was put, if size > 0; may be NULL if size is 0 */
    size_t size;
    int length; /* bytes of the whole text, without its end; begins as 0 */
};

void cs_text_put(struct cs_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
