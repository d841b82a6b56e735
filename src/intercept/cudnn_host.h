/* What flow asks of the vendor's library and of the process: see flow/host.h. */
#ifndef CS_INTERCEPT_CUDNN_HOST_H
#define CS_INTERCEPT_CUDNN_HOST_H

#include "flow/host.h"

extern const struct cs_host cs_host;

/* False in a copy of this library that is loaded behind another copy. Takes no lock. */
bool cs_host_first_copy(void);

#endif
