/* From legacy descriptors to a problem, through cuDNN's own getters. */
#ifndef CS_INTERCEPT_LEGACY_DESCRIBE_LEGACY_H
#define CS_INTERCEPT_LEGACY_DESCRIBE_LEGACY_H

#include "convshim/gpu.h"
#include "convshim/status.h"
#include "intercept/legacy/legacy_call.h"

/* Fills `problem` and the addresses of its tensors. Alignments are those of the call's addresses,
 * or of cudaMalloc'ed memory in queries, which have none. The problem is still to be checked
 * (cs_describe_check), which costs as much again: who finds what was made for the same one need
 * not. */
enum cs_reason cs_describe_legacy(const struct cs_legacy_call *call, struct cs_problem *problem,
                                  struct cs_addresses *addresses);

#endif
