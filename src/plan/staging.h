/* Which tensors of a plan are staged, and where. */
#ifndef CS_PLAN_STAGING_H
#define CS_PLAN_STAGING_H

#include "convshim/plan.h"

/* Chooses the staged tensors of a plan whose cuts and kinds are made, none of them staged yet, lays
 * them out and counts what is copied. `required`: all that cuts leave in pieces or out of
 * alignment; else the filter alone, where it must be. CS_ILLEGAL if one cannot be copied;
 * CS_OVERFLOW. */
CS_MUST_CHECK enum cs_status cs_plan_stage(struct cs_plan *plan, bool required);

#endif
