/* The referee of policy `measure`: contenders are run on the device once, the fastest is remembered
 * for this and later processes. Where they cannot be run, the policy's own choice stands, and for
 * this process it stays. */
#ifndef CS_FLOW_MEASURE_H
#define CS_FLOW_MEASURE_H

#include "config/store.h"
#include "decide/contest.h"

struct cs_request;

/* One decision that is being made; all of it outlives the referee. */
struct cs_measure {
    struct cs_store *store;
    const struct cs_request *request;
    const struct cs_vendor *vendor;
    const struct cs_limits *limits;
};

struct cs_referee cs_measure_referee(struct cs_measure *measure);

#endif
