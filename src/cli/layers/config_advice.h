/* The advice of `convshim config`. */
#ifndef CS_CLI_LAYERS_CONFIG_ADVICE_H
#define CS_CLI_LAYERS_CONFIG_ADVICE_H

#include "config/config.h"

/* Calls `note` with a line for each option that has no effect, each rule that hides all later ones,
 * each key of a rule that has no effect, and each path in quotes or with ~. Options with their
 * default values are not reported. */
void cs_config_advise(const struct cs_config *config, cs_config_note_fn *note, void *ctx);

#endif
