/* `convshim config` as its parts see it. */
#ifndef CS_CLI_CONFIG_CONFIG_COMMAND_H
#define CS_CLI_CONFIG_CONFIG_COMMAND_H

#include "cli/common/table.h"
#include "config/config.h"

/* Calls `note` with a line for each option that has no effect, each rule that hides all later ones,
 * each key of a rule that has no effect, and each path in quotes or with ~. Options with their
 * default values are not reported. */
void cs_config_advise(const struct cs_config *config, cs_config_note_fn *note, void *ctx);

/* Prints which rule applies to the convolution in `text` (the SHAPE of --explain), and why.
 * `program` and `script` are its names for rules, NULL if not given. Returns the exit status, after
 * a line about a mistake in the text. */
int cs_config_explain(const struct cs_config *config, const char *program, const char *script,
                      const char *text);

#endif
