/* How long tiles take: struct cs_vendor's `time` and `model`, over cuDNN and the driver. */
#ifndef CS_CUDNN_RUN_TIMING_H
#define CS_CUDNN_RUN_TIMING_H

#include "convshim/vendor.h"
#include "cudnn/plan/engine_choice.h"

/* The vendor of cs_execution_plan_vendor, which can also time on the present device: on a separate
 * stream, through the application's handle, after the work on its stream. Leaves the handle
 * unchanged. `choice` must outlive its use. */
struct cs_vendor cs_timing_vendor(struct cs_engine_choice *choice);

#endif
