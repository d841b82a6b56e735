/* Numbers of JSON as integers. */
#include "cli/common/json_value.h"

#include <cjson/cJSON.h>

int64_t cs_json_whole(const cJSON *item, int64_t otherwise)
{
    return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 0x1p53
               ? (int64_t)item->valuedouble
               : otherwise;
}
