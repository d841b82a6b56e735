/* Options as texts, for output. */
#ifndef CS_CONFIG_OPTION_TEXT_H
#define CS_CONFIG_OPTION_TEXT_H

#include "config/config.h"

enum {
    CS_OPTION_VALUE = CS_CONFIG_TEXT + 8 /* bytes that hold every value */
};

/* The value of an option (CS_OPTION_name) as in an ini file. A size has the largest unit in which
 * it is exact. */
void cs_option_text(const struct cs_config *config, int option, char *text, size_t size);

/* The source of a value: "built-in", "FILE:LINE", "CONVSHIM_CONFIG:ITEM" or a variable. */
void cs_option_origin_text(const struct cs_config *config, int option, char *text, size_t size);

#endif
