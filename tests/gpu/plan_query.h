/* The plan that cuDNN would run for a convolution, in any direction, on a GPU or for a device
 * profile. Nothing is executed. */
#ifndef PLAN_QUERY_H
#define PLAN_QUERY_H

#include "../support/apps/conv.h"

enum direction {
    DIRECTION_FORWARD,
    DIRECTION_BACKWARD_DATA,   /* dx of y's gradient and the filter */
    DIRECTION_BACKWARD_FILTER, /* dw of x and y's gradient */
    DIRECTIONS
};

/* fwd, dgrad, wgrad */
const char *direction_name(enum direction direction);
bool direction_parse(const char *name, enum direction *direction);

struct plan_answer {
    int64_t configs;   /* that the heuristics offer, by mode A */
    int64_t engine;    /* of the first that becomes a plan; -1 if none does */
    int64_t workspace; /* its bytes; -1 likewise */
};

/* Queries with the handle if `profile` is NULL, otherwise with this finalized device descriptor and
 * without a handle. An empty list from cuDNN is a result. Returns false, with a line on stderr, on
 * any other failure. */
bool plan_ask(cudnnHandle_t handle, cudnnBackendDescriptor_t profile,
              const struct conv_problem *problem, enum direction direction,
              struct plan_answer *answer);

/* True if engine and workspace are the same. */
bool plan_equal(const struct plan_answer *a, const struct plan_answer *b);

#endif
