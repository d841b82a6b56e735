/* How long tiles take: struct cs_vendor's `time` and `model`, over cuDNN and the driver. */
#ifndef CS_CUDNN_RUN_TIMING_H
#define CS_CUDNN_RUN_TIMING_H

#include "convshim/vendor.h"
#include "cudnn/plan/engine_choice.h"

/* On a stream of our own, through the application's handle, behind what its stream holds already;
 * `build` makes the execution plans that are timed, `destroy` ends them. Leaves the handle as it
 * was. */
enum cs_status cs_timing_plan(const struct cs_engine_choice *choice, const struct cs_vendor *vendor,
                              const struct cs_plan *plan, int64_t limit, double *seconds_p);

int64_t cs_timing_model(const struct cs_engine_choice *choice);

#endif
