/* Copies between a view, a part of one of the application's tensors, and a packed buffer with the
 * same elements: rows, planes of rows and boxes of planes, as devices copy them. Pure values. */
#ifndef CONVSHIM_COPY_H
#define CONVSHIM_COPY_H

#include "convshim/problem.h"

enum {
    CS_COPY_VIEW,
    CS_COPY_PACKED,
    CS_COPY_SIDES
};
enum {
    CS_COPY_TIMES = 256 /* most boxes of a copy */
};
#define CS_COPY_PITCH                                                                              \
    INT64_C(0x7fffffff) /* most bytes from row to row, CU_DEVICE_ATTRIBUTE_MAX_PITCH */

/* `times` boxes of `depth` planes of `height` rows of `width` contiguous bytes; all at least 1,
 * width at most CS_COPY_PITCH. */
struct cs_copy {
    int64_t width, height, depth, times;
    /* Bytes from row to row, from plane to plane, from box to box on either side. If height or
     * depth is more than 1: width <= pitch <= CS_COPY_PITCH. If depth is more than 1: slice is a
     * multiple of pitch and at least height * pitch. */
    int64_t pitch[CS_COPY_SIDES], slice[CS_COPY_SIDES], step[CS_COPY_SIDES];
};

/* The copy between a view and a packed tensor of the same dtype and extents. Dimensions that lie
 * the same way on both sides are copied as one. CS_ILLEGAL if more dimensions are left than a copy
 * has, or more than CS_COPY_TIMES boxes, or if a row is too long; CS_OVERFLOW. */
CS_MUST_CHECK enum cs_status cs_copy_between(const struct cs_tensor *view,
                                             const struct cs_tensor *packed, struct cs_copy *copy);

#endif
