/* A copy between a view, which is a part of one of the application's tensors, and a packed buffer
 * with the same elements. It consists of rows, planes of rows and boxes of planes, as devices copy
 * them. Pure values. */
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

/* A copy of `times` boxes. A box has `depth` planes of `height` rows of `width` contiguous bytes.
 * All are at least 1, and width is at most CS_COPY_PITCH. */
struct cs_copy {
    int64_t width, height, depth, times;
    /* Bytes from row to row, from plane to plane and from box to box, on each side. If height or
     * depth is more than 1: width <= pitch <= CS_COPY_PITCH. If depth is more than 1: slice is a
     * multiple of pitch and at least height * pitch. */
    int64_t pitch[CS_COPY_SIDES], slice[CS_COPY_SIDES], step[CS_COPY_SIDES];
};

/* Makes the copy between a view and a packed tensor of the same dtype and extents. A dimension that
 * continues the previous one on both sides is copied with it as one. CS_ILLEGAL if more dimensions
 * remain than a copy has, if it needs more than CS_COPY_TIMES boxes, or if a row is too long.
 * CS_OVERFLOW if a number exceeds 64 bits. */
CS_MUST_CHECK enum cs_status cs_copy_between(const struct cs_tensor *view,
                                             const struct cs_tensor *packed, struct cs_copy *copy);

#endif
