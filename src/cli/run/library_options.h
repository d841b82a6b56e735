/* Options of the library on a command's line (library_options.def), which become CONVSHIM_CONFIG of
 * a program. */
#ifndef CS_CLI_RUN_LIBRARY_OPTIONS_H
#define CS_CLI_RUN_LIBRARY_OPTIONS_H

#include "config/option.h"
#include <stdbool.h>

struct cs_library_options {
    char *items;            /* becomes CONVSHIM_CONFIG; NULL: no option of the library was given */
    bool given[CS_OPTIONS]; /* whose own variables would win over it, and have to go */
};

/* Takes the option of that index. False: it cannot be given like that, and a line of `command` has
 * said so. */
bool cs_library_options_take(struct cs_library_options *options, const char *command, int index,
                             const char *value);

/* The variable, as "CONVSHIM_POLICY", that stands in the way of option `index` and is set; NULL:
 * none. */
const char *cs_library_options_variable(const struct cs_library_options *options, int index);

void cs_library_options_free(struct cs_library_options *options);

#endif
