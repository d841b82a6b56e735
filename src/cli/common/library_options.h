/* Options of the library on a command's line (library_options.def), which become CONVSHIM_CONFIG of
 * a program. */
#ifndef CS_CLI_COMMON_LIBRARY_OPTIONS_H
#define CS_CLI_COMMON_LIBRARY_OPTIONS_H

#include "config/option.h"
#include <stdbool.h>

#define CS_LIBRARY_GROUP "Options of the library, which override files and CONVSHIM_CONFIG"

struct cs_library_options {
    char *items;            /* becomes CONVSHIM_CONFIG; NULL: no option of the library was given */
    bool given[CS_OPTIONS]; /* true: the option's own variable must be unset, because it would
                               override */
};

/* Adds the option of this index to `items`. Returns false, after an error message for `command`, if
 * the value is not allowed or memory is short. */
bool cs_library_options_take(struct cs_library_options *options, const char *command, int index,
                             const char *value);

/* The variable (such as "CONVSHIM_POLICY") that is set and would override option `index`. NULL if
 * it is not set. */
const char *cs_library_options_variable(const struct cs_library_options *options, int index);

void cs_library_options_free(struct cs_library_options *options);

#endif
