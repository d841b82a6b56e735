/* Options as texts, for those who show them. */
#ifndef CS_CONFIG_OPTION_TEXT_H
#define CS_CONFIG_OPTION_TEXT_H

#include "config/config.h"

enum {
    CS_OPTION_VALUE = CS_CONFIG_TEXT + 8 /* bytes that hold every value */
};

/* The value of an option (CS_OPTION_name) as an ini file would have it: sizes in the largest unit
 * that tells them exactly. */
void cs_option_text(const struct cs_config *config, int option, char *text, size_t size);

/* Where it comes from: "built-in", "FILE:LINE", "CONVSHIM_CONFIG:ITEM" or a variable. */
void cs_option_origin_text(const struct cs_config *config, int option, char *text, size_t size);

#endif
