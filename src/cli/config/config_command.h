/* `convshim config` as its parts see it. */
#ifndef CS_CLI_CONFIG_CONFIG_COMMAND_H
#define CS_CLI_CONFIG_CONFIG_COMMAND_H

#include "cli/common/table.h"
#include "config/config.h"

/* Makes a line for each option that has no effect, each rule that hides all that follow, each key
 * of a rule that has no effect, and each path in quotes or with ~. Values that are the defaults are
 * no mistake of the user. */
void cs_config_advise(const struct cs_config *config, cs_config_note_fn *note, void *ctx);

/* Prints it for the convolution of `text`: see config_options.def.
 * `program` and `script` have the given names, NULL if there is none. Returns the exit status.
 * Reports a mistake in the text in one line. */
int cs_config_explain(const struct cs_config *config, const char *program, const char *script,
                      const char *text);

#endif
