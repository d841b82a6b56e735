/* The library's options as texts, for commands that show or take them. */
#ifndef CS_CLI_OPTION_TEXT_H
#define CS_CLI_OPTION_TEXT_H

#include "config/option_text.h"

/* The names of all policies, NULL-ended. Static; the first call makes them. */
const char *const *cs_policy_names(void);

#endif
