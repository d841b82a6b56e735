/* A request for a decision. */
#ifndef CS_FLOW_REQUEST_H
#define CS_FLOW_REQUEST_H

#include "convshim/problem.h"

/* Whether an application has other plans if one is refused. */
enum cs_plan_source {
    CS_SOURCE_NONE,  /* the application requests no plan (legacy API) */
    CS_SOURCE_OWN,   /* the application named the engine */
    CS_SOURCE_LISTED /* the engine is from a heuristics list of several */
};

/* A convolution with the application's requirements. */
struct cs_request {
    struct cs_problem problem; /* checked */
    struct cs_engine engine;
    int64_t required; /* workspace bytes of the application's own plan */
    int64_t limit;    /* scratch bytes that the caller has provided; 0: the configured limit */
    int64_t scope; /* separates devices, because the same problem may need a different workspace on
                      each */
    enum cs_plan_source source;
};

#endif
