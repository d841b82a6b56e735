/* The referee of policy `measure`: runs the contenders on the device once, and stores the fastest
 * for this and later processes. If they cannot run, the policy's own choice applies for the rest of
 * this process. */
#ifndef CS_FLOW_MEASURE_H
#define CS_FLOW_MEASURE_H

#include "config/store.h"
#include "decide/shortlist.h"

struct cs_request;

/* One decision in progress. All members outlive the referee. */
struct cs_measure {
    struct cs_store *store;
    const struct cs_request *request;
    const struct cs_vendor *vendor;
    const struct cs_limits *limits;
};

struct cs_referee cs_measure_referee(struct cs_measure *measure);

#endif
