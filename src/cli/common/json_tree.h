/* Trees of libcjson: output that is complete or absent, and whole numbers of input. If memory runs
 * out, cJSON_Add* omit the item, and no caller checks their results. Instead, every allocation of
 * libcjson is checked here.
 *
 *     cs_json_begin();
 *     cJSON *root = cJSON_CreateObject();
 *     ...
 *     return cs_json_print(root, stdout);
 */
#ifndef CS_CLI_COMMON_JSON_TREE_H
#define CS_CLI_COMMON_JSON_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct cJSON;

/* Must be called before a tree is made. For one thread at a time. */
void cs_json_begin(void);

/* Adds `item` to the object `parent` as the member `name`. If `name` is NULL, `parent` is an array
 * and `item` becomes an element. `item` is NULL only if memory ran out. If there is no memory to
 * add it, it is deleted. */
void cs_json_add(struct cJSON *parent, const char *name, struct cJSON *item);

/* True if every allocation since cs_json_begin() succeeded. */
bool cs_json_complete(void);

/* Writes one character of a text that should be UTF-8, and advances behind it. An invalid byte is
 * written as Latin-1, as cs_json_string does. */
void cs_json_put_character(const char **text_p, FILE *out);

/* Writes `root` with an end of line and deletes it. False: memory was lacking, nothing is written.
 */
bool cs_json_print(struct cJSON *root, FILE *out);

/* Writes `root` as cs_json_print does, but on one line, which a reader at the other end of a pipe
 * gets at once. */
bool cs_json_print_line(struct cJSON *root, FILE *out);

/* Returns a number without its fraction, of JSON that another program wrote. Returns `otherwise` if
 * `item` is NULL, is not a number, is negative, or is 2^53 or more. A double cannot represent every
 * integer from 2^53 on. */
int64_t cs_json_whole(const struct cJSON *item, int64_t otherwise);

/* Returns a member of an object that another program wrote. `way` joins the names of members by
 * dots: "totals.calls". NULL if there is none. The object may be NULL. */
const struct cJSON *cs_json_at(const struct cJSON *object, const char *way);

/* Return the value of such a member as a whole number, a text or a double. If it is absent or of
 * another kind: `otherwise` (cs_json_whole), 0 or NULL. */
int64_t cs_json_whole_at(const struct cJSON *object, const char *way, int64_t otherwise);
const char *cs_json_text_at(const struct cJSON *object, const char *way, const char *otherwise);
double cs_json_double(const struct cJSON *object, const char *way);
const char *cs_json_text(const struct cJSON *object, const char *way);

#endif
