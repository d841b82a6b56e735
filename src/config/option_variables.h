/* The environment variables whose names begin with CONVSHIM_: one for each option, and a few more.
 * Private to src/config. */
#ifndef CS_CONFIG_OPTION_VARIABLES_H
#define CS_CONFIG_OPTION_VARIABLES_H

#include "config/ini.h"

/* Returns the variable of an option, "CONVSHIM_INTERLEAVE_BUDGET" for interleave.budget. The text
 * is valid until the calling thread ends. */
const char *cs_variable_of(int option);

/* Returns the value of an environment variable. NULL if it is empty, or if the program is
 * set-user-id and must not follow its user's environment. */
const char *cs_variable(const char *name);

/* Makes a note of every unknown variable that begins with CONVSHIM_, with the most similar known
 * name. */
void cs_variables_unknown(struct cs_load *load);

#endif
