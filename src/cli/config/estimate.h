/* The workspace of a convolution by a rule of thumb, for `convshim config --explain`. */
#ifndef CS_CLI_CONFIG_ESTIMATE_H
#define CS_CLI_CONFIG_ESTIMATE_H

#include "convshim/problem.h"

/* Returns an estimate of the workspace in bytes; INT64_MAX beyond 64 bits. Tensor-core engines
 * convert channels-first tensors to channels-last copies, and pad channels to a multiple of eight,
 * in the workspace. cuDNN may require less (engines without workspace) or several times more (sums
 * split over parts). */
int64_t cs_estimate_workspace(const struct cs_problem *problem);

#endif
