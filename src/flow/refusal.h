/* Plans that an application is refused. Thread-safe. */
#ifndef CS_FLOW_REFUSAL_H
#define CS_FLOW_REFUSAL_H

#include "convshim/vendor.h"
#include "flow/instance.h"
#include "flow/request.h"

/* True if a plan that was not tiled for `reason` is one that no tiling makes small enough, and the
 * application is to take another, as option `untileable` says. What is dear to tile is run as it is
 * rather than on an engine that nobody has compared. May ask cuDNN for its list of engines once;
 * what it finds is kept in *decision and remembered under `key`. */
bool cs_refusal_is_due(struct cs *cs, const struct cs_request *request,
                       const struct cs_vendor *vendor, const struct cs_key *key,
                       struct cs_decision *decision, enum cs_reason reason);

#endif
