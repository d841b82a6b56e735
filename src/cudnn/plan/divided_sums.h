/* Engines that divide the sums of their last thread blocks (stream-K).
 *
 * The thread blocks of a plan rarely fill all multiprocessors a whole number of times. Some engines
 * made for capability 9.0 and later divide the sums of the remaining blocks among all
 * multiprocessors, and add the parts in the workspace. Where a sum is divided depends on the number
 * of blocks, so on the extents of the problem. So tiles have other last bits than the untiled call
 * if it divides sums, or if they do.
 *
 * On an H200 this holds without exception for engine 67: 18 compared tilings with parts of sums in
 * the workspace of the untiled plan or of the tiles have other last bits, and 15 without are equal
 * (docs/design/decisions.md). */
#ifndef CS_CUDNN_PLAN_DIVIDED_SUMS_H
#define CS_CUDNN_PLAN_DIVIDED_SUMS_H

#include "cudnn/plan/descriptors.h"

/* True if plans of the engine with its knobs may divide sums. *undivided_p is then the same engine
 * with a knob by which it divides none. */
bool cs_divided_sums(const struct cs_engine *engine, struct cs_engine *undivided_p);

#endif
