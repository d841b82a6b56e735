/* Options that the program sets, checked before they take effect. The forms of the texts are
 * described in include/convshim.h. */
#ifndef CS_FLOW_CONFIGURE_H
#define CS_FLOW_CONFIGURE_H

#include <stddef.h>

int cs_configure_check(const char *options, char *error, size_t size);
int cs_configure(const char *options, char *error, size_t size);

#endif
