/* Dividing an extent into tiles of several sizes at the least total cost: micro-batches, strips. */
#ifndef CS_DECIDE_DIVISION_H
#define CS_DECIDE_DIVISION_H

#include "convshim/status.h"
#include <stdint.h>

enum {
    CS_MAX_UNITS = 1024, /* that an extent may have */
    CS_MAX_PORTIONS = 48
};

/* A size that tiles may have. */
struct cs_portion {
    int64_t extent; /* units, at least 1 */
    double seconds; /* what one tile of it costs; finite */
};

/* How many tiles of each portion to take, count[i] of portion[i], so that their extents add up to
 * `total` units, [1, CS_MAX_UNITS], and their seconds are the least possible; among equals the
 * fewest tiles. `portions` is at most CS_MAX_PORTIONS. CS_ILLEGAL if no sum of extents is the
 * total, or on arguments out of bounds. The dynamic program of Oyama et al., "Accelerating Deep
 * Learning Frameworks with Micro-batches" (2018), workspace reuse: what fits the workspace is known
 * beforehand, so that each tile's cost is its own. */
CS_MUST_CHECK enum cs_status cs_division_best(int64_t total, const struct cs_portion *portion,
                                              int portions, int64_t *count);

#endif
