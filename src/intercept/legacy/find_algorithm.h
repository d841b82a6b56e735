/* The Find... queries of the legacy API, which run every algorithm to time it. Algorithms that
 * convshim would tile are timed tiled, in the workspace that would be reported. */
#ifndef CS_INTERCEPT_LEGACY_FIND_ALGORITHM_H
#define CS_INTERCEPT_LEGACY_FIND_ALGORITHM_H

#include "intercept/legacy/dispatch.h"

/* Runs Find...AlgorithmEx on the caller's tensors and workspace. Algorithms that require more than
 * the provided workspace are tried tiled. Returns the vendor's status. */
int cs_find_algorithm_ex(struct cs *cs, const struct cs_legacy_call *call,
                         const struct cs_legacy_results *results);

/* Runs Find...Algorithm. cuDNN's version allocates the tensors and the largest workspace that any
 * algorithm requires. This one allocates the tensors and the largest workspace that convshim
 * reports. If they cannot be allocated, cuDNN's search runs, and only the memory fields of its
 * results are changed. */
int cs_find_algorithm(struct cs *cs, const struct cs_legacy_call *call,
                      const struct cs_legacy_results *results);

#endif
