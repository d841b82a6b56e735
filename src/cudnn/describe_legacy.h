/* From legacy descriptors to a problem, through cuDNN's own getters. */
#ifndef CS_CUDNN_DESCRIBE_LEGACY_H
#define CS_CUDNN_DESCRIBE_LEGACY_H

#include "convshim/gpu.h"
#include "cudnn/legacy.h"

/* Fills `problem`; alignments are those of cudaMalloc'ed memory, or of `addresses` if that is not
 * NULL. */
enum cs_reason cs_describe_legacy(const struct cs_legacy_call *call,
                                  const struct cs_addresses *addresses, struct cs_problem *problem);

#endif
