/* `convshim config --explain`: which rule applies to a convolution, and why. */
#ifndef CS_CLI_CONFIG_CONFIG_EXPLAIN_H
#define CS_CLI_CONFIG_CONFIG_EXPLAIN_H

#include "cli/common/table.h"
#include "config/config.h"

/* Prints it for the convolution of `text`: see config_options.def.
 * `program` and `script` have the given names, NULL if there is none. Returns the exit status.
 * Reports a mistake in the text in one line. */
int cs_config_explain(const struct cs_config *config, const char *program, const char *script,
                      const char *text, enum cs_format format);

#endif
