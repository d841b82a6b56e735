/* A convolution of a JSON summary as lines of a rule that match it (docs/options.md). Pure. */
#ifndef CS_CLI_TUNE_RULE_KEYS_H
#define CS_CLI_TUNE_RULE_KEYS_H

#include <stddef.h>

struct cJSON;

/* "direction = fwd\ndtype = f16\n...". Keys that `site` (an element of `sites`) lacks are left out.
 */
void cs_rule_keys(const struct cJSON *site, char *text, size_t size);

#endif
