/* Options that the program sets, checked before they take effect. The forms of the texts are
 * described in include/convshim.h. */
#ifndef CS_FLOW_CONFIGURE_H
#define CS_FLOW_CONFIGURE_H

#include <stddef.h>

/* Checks options. Returns 0, or -1 with the first fault in `error`. */
int cs_configure_check(const char *options, char *error, size_t size);
/* Checks options and applies them. Returns 0; -1: a fault; -2: too late, because cuDNN was already
 * called. `error` gets the text of the fault. */
int cs_configure(const char *options, char *error, size_t size);

#endif
