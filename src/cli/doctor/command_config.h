/* The options that a command would have with the library. */
#ifndef CS_CLI_DOCTOR_COMMAND_CONFIG_H
#define CS_CLI_DOCTOR_COMMAND_CONFIG_H

#include "config/config.h"

/* Loads what the program that `command` (NULL-ended; NULL: none) runs in the end would load in the
 * environment of this process: NAME.ini is that of its program or script, not of env or nice. */
void cs_command_config(struct cs_config *config, char **command, cs_config_note_fn *note,
                       void *ctx);

#endif
