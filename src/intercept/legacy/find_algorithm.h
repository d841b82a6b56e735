/* The Find... queries of the legacy API, which run every algorithm to time it: what convshim would
 * rewrite is timed tiled, in the workspace that would be reported for it. */
#ifndef CS_INTERCEPT_LEGACY_FIND_ALGORITHM_H
#define CS_INTERCEPT_LEGACY_FIND_ALGORITHM_H

#include "intercept/legacy/dispatch.h"

/* Find...AlgorithmEx, on the caller's tensors and workspace. Algorithms that want more than was
 * provided are tried tiled. Returns the vendor's status. */
int cs_find_algorithm_ex(struct cs *cs, const struct cs_legacy_call *call,
                         const struct cs_legacy_results *results);

/* Find...Algorithm, for which cuDNN allocates tensors and the largest workspace of all algorithms:
 * here the tensors, as it does, and the largest workspace that convshim reports. Without the CUDA
 * runtime cuDNN's own search runs, and only the memory it tells is ours. */
int cs_find_algorithm(struct cs *cs, const struct cs_legacy_call *call,
                      const struct cs_legacy_results *results);

#endif
