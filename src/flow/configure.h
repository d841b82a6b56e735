/* Options that the program sets itself: looked at before they are taken. Texts are as
 * include/convshim.h has them, for which these are. */
#ifndef CS_FLOW_CONFIGURE_H
#define CS_FLOW_CONFIGURE_H

#include <stddef.h>

int cs_configure_check(const char *options, char *error, size_t size);
int cs_configure(const char *options, char *error, size_t size);

#endif
