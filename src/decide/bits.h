/* Whether tiles give the same bits as the untiled call. */
#ifndef CS_DECIDE_BITS_H
#define CS_DECIDE_BITS_H

#include "convshim/plan.h"

/* True if tiles of a plan that all run on the application's engine and knobs give the bits of the
 * untiled call: no cut divides a sum, and the engine computes each element of the output in an
 * order that does not depend on the problem's extents. Engine 67 does not: on an H200 its f32
 * forward tiles, and its 16-bit input gradients cut along D, differ from the untiled call in the
 * last bits (docs/results). All other engines that were compared there are equal in all layers. */
bool cs_decide_keeps_bits(const struct cs_plan *plan, int64_t engine);

#endif
