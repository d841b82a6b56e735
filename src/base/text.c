/* Appends formatted text to a caller's buffer and counts the bytes that did not fit. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

void cs_text_put(struct cs_text *text, const char *format, ...)
{
    size_t used = (size_t)text->length < text->size ? (size_t)text->length : text->size;
    char *rest = used < text->size ? text->at + used : NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(rest, text->size - used, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->length += length;
}
