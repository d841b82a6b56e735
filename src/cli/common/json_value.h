/* Whole numbers of JSON that another program wrote: a value is looked at before it becomes an
 * integer. */
#ifndef CS_CLI_COMMON_JSON_VALUE_H
#define CS_CLI_COMMON_JSON_VALUE_H

#include <stdint.h>

struct cJSON;

/* The number without its fraction. Returns `otherwise` if `item` is NULL, is not a number, is
 * negative, or is 2^53 or more. A double cannot represent every integer from 2^53 on. */
int64_t cs_json_whole(const struct cJSON *item, int64_t otherwise);

#endif
