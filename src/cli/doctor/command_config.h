/* The options that a command would have with the library. */
#ifndef CS_CLI_DOCTOR_COMMAND_CONFIG_H
#define CS_CLI_DOCTOR_COMMAND_CONFIG_H

#include "config/config.h"

/* Loads the configuration that the program of `command` would load in the environment of this
 * process. `command` is NULL-ended, or NULL if there is none. The program is the one that the
 * command runs in the end: NAME.ini is that of its program or script, not of env or nice. */
void cs_command_config(struct cs_config *config, char **command, cs_config_note_fn *note,
                       void *ctx);

#endif
