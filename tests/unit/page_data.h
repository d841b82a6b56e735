/* The data of a page. To be included by one file of a program. */
#ifndef PAGE_DATA_H
#define PAGE_DATA_H

#include "check.h"
#include <cjson/cJSON.h>

/* Returns the JSON that the page contains, which the caller deletes. No text of it can end its
 * element. */
static inline cJSON *page_data(const char *page)
{
    static const char begin[] = "<script id=\"data\" type=\"application/json\">";
    const char *data = page ? strstr(page, begin) : NULL,
               *end = data ? strstr(data, "</script>") : NULL;
    CHECK(data && end);
    if (!data || !end)
        return NULL;
    data += strlen(begin);
    CHECK(!memchr(data, '<', (size_t)(end - data)));
    cJSON *json = cJSON_ParseWithLength(data, (size_t)(end - data));
    CHECK(json);
    return json;
}

#endif
