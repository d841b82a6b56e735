/* `convshim config --explain`: which rule applies to a convolution, and why. */
#ifndef CS_CLI_CONFIG_CONFIG_EXPLAIN_H
#define CS_CLI_CONFIG_CONFIG_EXPLAIN_H

#include "cli/common/table.h"
#include "config/config.h"

/* Prints it for the convolution of `text`: INPUT,FILTER and any words of config_options.def's help.
 * Program and script are those of the names, NULL: none. Returns the status to end with; a line
 * says what is wrong with the text. */
int cs_config_explain(const struct cs_config *config, const char *program, const char *script,
                      const char *text, enum cs_format format);

#endif
