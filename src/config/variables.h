/* The environment variables whose names begin with CONVSHIM_: one for every option, a few beside.
 * Private to src/config. */
#ifndef CS_CONFIG_VARIABLES_H
#define CS_CONFIG_VARIABLES_H

#include "config/ini.h"

/* The variable of an option, "CONVSHIM_INTERLEAVE_BUDGET" for interleave.budget. Static; the
 * first time not thread-safe. */
const char *cs_variable_of(int option);

/* What the environment says of a variable. NULL for what is set to nothing; a set-user-id program
 * must not follow what its user says. */
const char *cs_variable(const char *name);

/* Makes a note of every variable that begins with CONVSHIM_ and is none of ours, with the name that
 * it was probably meant to have. */
void cs_variables_unknown(struct cs_load *load);

#endif
