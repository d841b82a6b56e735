/* The library's options as texts, for commands that show or take them. */
#ifndef CS_CLI_OPTION_TEXT_H
#define CS_CLI_OPTION_TEXT_H

#include "config/config.h"

/* The value of an option (CS_OPTION_name) as an ini file would have it: sizes in the largest unit
 * that tells them exactly. */
void cs_option_text(const struct cs_config *config, int option, char *text, size_t size);

/* Where it comes from: "built-in", "FILE:LINE", "CONVSHIM_CONFIG:ITEM" or a variable. */
void cs_origin_text(const struct cs_config *config, int option, char *text, size_t size);

/* The names of all policies, NULL-ended. Static; the first call makes them. */
const char *const *cs_policy_names(void);

#endif
