/* Converts legacy descriptors to a problem through cuDNN's own getters. */
#ifndef CS_INTERCEPT_LEGACY_DESCRIBE_LEGACY_H
#define CS_INTERCEPT_LEGACY_DESCRIBE_LEGACY_H

#include "convshim/gpu.h"
#include "convshim/status.h"
#include "cudnn/plan/legacy_call.h"

/* Fills `problem` and the addresses of its tensors. Alignments are those of the call's addresses.
 * Queries have no addresses, so they get the alignment of cudaMalloc'ed memory. Returns
 * CS_REASON_NONE, or the reason why the call cannot be described. The caller must check the problem
 * (cs_describe_check) unless it finds an entry for the same one, because the check takes as long as
 * the description. */
enum cs_reason cs_describe_legacy(const struct cs_legacy_call *call, struct cs_problem *problem,
                                  struct cs_addresses *addresses);

#endif
