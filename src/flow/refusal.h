/* Plans that the application is refused. Thread-safe. */
#ifndef CS_FLOW_REFUSAL_H
#define CS_FLOW_REFUSAL_H

#include "convshim/vendor.h"
#include "flow/instance.h"
#include "flow/request.h"

/* True if no tiling of a plan is small enough, and the application should take another plan by
 * option `untileable`. `reason`: why it is not tiled, or CS_REASON_NONE if its limit was raised. A
 * plan whose tiles are only too slow runs unchanged, because other engines may be slower. May query
 * cuDNN's list of engines once. The result is stored in *decision and under `key`. */
bool cs_refusal_is_due(struct cs *cs, const struct cs_request *request,
                       const struct cs_vendor *vendor, const struct cs_key *key,
                       struct cs_decision *decision, enum cs_reason reason);

#endif
