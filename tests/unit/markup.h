/* Properties of pages and pictures. To be included by one file of a program. */
#ifndef MARKUP_H
#define MARKUP_H

#include "check.h"
#include <stdbool.h>

/* Each element that is opened is closed, in order; void elements aside. */
static inline void check_elements(const char *page)
{
    static const char *const empty[] = {"meta", "br", "input"};
    static char open[64][32];
    int depth = 0;
    for (const char *at = page; (at = strchr(at, '<')); at++) {
        const char *end = strchr(at, '>');
        bool closes = at[1] == '/', alone = at[1] == '!' || end[-1] == '/';
        const char *name = at + 1 + closes;
        size_t length = strcspn(name, " >/\n");
        for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
            alone = alone || (length == strlen(empty[i]) && strncmp(name, empty[i], length) == 0);
        if (closes) {
            CHECK(depth > 0 && strlen(open[depth - 1]) == length &&
                  strncmp(open[depth - 1], name, length) == 0);
            depth -= depth > 0;
        } else if (!alone && depth < 64) {
            snprintf(open[depth++], sizeof *open, "%.*s", (int)length, name);
        }
        if (strncmp(at, "<script>", 8) == 0 || strncmp(at, "<style>", 7) == 0)
            at = strstr(at, at[2] == 'c' ? "</script>" : "</style>") - 1;
    }
    CHECK_INT(depth, 0);
}

/* Well-formed, without NaN, and without a reference to another place. */
static inline void check_markup(const char *text)
{
    static const char *const never[] = {"\"nan",      "\"-nan", "\"inf", "\"-inf", "width=\"-",
                                        "height=\"-", "https:", " src=", "url("};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strstr(text, never[i]))
            CHECK_STR(strstr(text, never[i]), "not there");
    check_elements(text);
}

#endif
