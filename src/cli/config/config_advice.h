/* Settings that a configuration may contain, but that are probably mistakes. */
#ifndef CS_CLI_CONFIG_CONFIG_ADVICE_H
#define CS_CLI_CONFIG_CONFIG_ADVICE_H

#include "config/config.h"

/* Makes a line for each option that has no effect, each rule that hides all that follow, each key
 * of a rule that has no effect, and each path in quotes or with ~. Values that are the defaults are
 * no mistake of the user. */
void cs_config_advise(const struct cs_config *config, cs_config_note_fn *note, void *ctx);

#endif
