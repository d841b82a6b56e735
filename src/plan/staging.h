/* Which tensors of a plan are staged, and where. */
#ifndef CS_PLAN_STAGING_H
#define CS_PLAN_STAGING_H

#include "convshim/plan.h"

/* Chooses the staged tensors of a plan whose cuts and tile shapes are made, none of them staged
 * yet, lays them out and counts what is copied. `required`: all that cuts leave in pieces or out of
 * alignment; else the filter alone, where it must be, and what has spare elements. CS_ILLEGAL if
 * one cannot be copied, or if a virtual tensor would be larger than the whole one; CS_OVERFLOW. */
CS_MUST_CHECK enum cs_status cs_plan_stage(struct cs_plan *plan, bool required);

#endif
