/* JSON that is whole, or is not written: cJSON_Add* leave out what they have no memory for, and
 * what they return is looked at nowhere. Here every request of libcjson's for memory is watched
 * instead.
 *
 *     cs_json_begin();
 *     cJSON *root = cJSON_CreateObject();
 *     ...
 *     return cs_json_print(root, stdout);
 */
#ifndef CS_CLI_COMMON_JSON_OUTPUT_H
#define CS_CLI_COMMON_JSON_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct cJSON;

/* Of one thread at a time. */
void cs_json_begin(void);

/* `item`, which cannot be NULL but for want of memory, becomes a member of the object `parent`, or
 * with a NULL `name` an element of that array; it is deleted where there is no memory for that. */
void cs_json_add(struct cJSON *parent, const char *name, struct cJSON *item);

/* No memory was lacking since cs_json_begin(). */
bool cs_json_complete(void);

/* Writes `root` with an end of line and deletes it. False: memory was lacking, nothing is written.
 */
bool cs_json_print(struct cJSON *root, FILE *out);

#endif
