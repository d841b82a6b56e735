/* Decides which plans are refused to the application. Thread-safe. */
#ifndef CS_FLOW_REFUSAL_H
#define CS_FLOW_REFUSAL_H

#include "convshim/vendor.h"
#include "flow/instance.h"
#include "flow/request.h"

/* True if the request's plan should be refused (cs_decide_refuses). The result is also stored under
 * `key`. */
bool cs_refusal_is_due(struct cs *cs, const struct cs_request *request,
                       const struct cs_vendor *vendor, const struct cs_key *key,
                       struct cs_decision *decision, enum cs_reason reason);

#endif
