/* The staged tensors of a plan and their places in the scratch. */
#ifndef CS_PLAN_STAGING_H
#define CS_PLAN_STAGING_H

#include "convshim/plan.h"

/* Chooses the staged tensors of a plan with cuts and tile shapes, lays them out and counts the
 * copied bytes. `required`: all tensors that cuts leave non-contiguous or unaligned. Otherwise only
 * a filter that must be staged, and tensors with spare elements. CS_ILLEGAL if one cannot be
 * copied, or if a virtual tensor would be larger than the whole one; CS_OVERFLOW. */
CS_MUST_CHECK enum cs_status cs_plan_stage(struct cs_plan *plan, bool required);

#endif
