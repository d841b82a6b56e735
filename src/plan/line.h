/* The cut axis of a convolution as a convolution in one dimension, and the ranges of it that one
 * tile reads and writes. */
#ifndef CS_PLAN_LINE_H
#define CS_PLAN_LINE_H

#include "convshim/plan.h"

struct cs_line {
    enum cs_dim dim; /* the dimension of x and y that is cut */
    int64_t in, out; /* their extents along it */
    int64_t stride, pre;
    int64_t reach; /* input elements from the first to the last tap of one output element */
};

/* An output range and the input that it reads, as far as that exists; padding stands for the rest.
 */
struct cs_window {
    int64_t first, count;
    int64_t in_first, in_count; /* in_count <= 0: the window lies in the padding alone */
    int64_t pre, post;
};

/* `axis` is not CS_AXIS_NONE. CS_OVERFLOW only for problems that never passed cs_problem_check. */
CS_MUST_CHECK enum cs_status cs_line_of(const struct cs_problem *problem, enum cs_axis axis,
                                        struct cs_line *line);

/* The window of output elements [first, first + count). */
CS_MUST_CHECK enum cs_status cs_line_window(const struct cs_line *line, int64_t first,
                                            int64_t count, struct cs_window *window);

#endif
