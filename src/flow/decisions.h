/* The decisions of this process. Thread-safe. */
#ifndef CS_FLOW_DECISIONS_H
#define CS_FLOW_DECISIONS_H

#include "convshim/vendor.h"
#include "decide/by_rules.h"
#include "flow/instance.h"
#include "flow/request.h"

/* The settings of decisions from options and rules. Refers to *cs. */
struct cs_settings cs_decisions_settings(const struct cs *cs);

/* The decision for a request, and the key under which it is remembered. The same request gets the
 * same decision in every process, unless host memory is short (CS_REASON_HOST_MEMORY). A plan with
 * an unknown GPU is not tiled (CS_REASON_UNSEEN). */
struct cs_decision cs_decisions_get(struct cs *cs, const struct cs_request *request,
                                    const struct cs_vendor *vendor, struct cs_key *key);

/* The decision for tiles within the request's limit on one lane. Two lanes take about as long, but
 * need twice the scratch, so that the tiles are not fewer. Not remembered, because a rewriting
 * keeps its ways. */
struct cs_decision cs_decisions_fewer(const struct cs *cs, const struct cs_request *request,
                                      const struct cs_vendor *vendor);

#endif
