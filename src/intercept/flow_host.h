/* Facts about the vendor's library and the process that the flow needs: see flow/host.h. */
#ifndef CS_INTERCEPT_FLOW_HOST_H
#define CS_INTERCEPT_FLOW_HOST_H

#include "flow/host.h"

extern const struct cs_host cs_host;

/* False in a copy of this library that comes after another copy in the loader's list. Takes no
 * lock. */
bool cs_host_first_copy(void);

#endif
