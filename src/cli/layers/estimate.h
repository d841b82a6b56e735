/* An estimate of the workspace for machines without cuDNN: tensor-core engines convert
 * channels-first tensors to channels-last copies, and pad channels to a multiple of eight, in the
 * workspace. The workspace that cuDNN requires may be smaller (engines without workspace) or
 * several times larger (sums split over parts).
 */
#ifndef CS_CLI_LAYERS_ESTIMATE_H
#define CS_CLI_LAYERS_ESTIMATE_H

#include "convshim/vendor.h"

/* Bytes; INT64_MAX beyond 64 bits. */
int64_t cs_estimate_workspace(const struct cs_problem *problem);

/* The rule as a vendor, so that the library's decision works with it. No resources. */
struct cs_vendor cs_estimate_vendor(void);

#endif
