/* Copies of tiles on the host. */
#ifndef HOST_COPY_H
#define HOST_COPY_H

#include "check.h"
#include "convshim/plan.h"

/* Copies as a device does, with only the operations that devices have. */
static inline void host_copy(const struct cs_copy *copy, char *view, char *packed, bool in)
{
    CHECK(copy->times >= 1 && copy->times <= CS_COPY_TIMES && copy->width <= CS_COPY_PITCH);
    for (int side = 0; side < CS_COPY_SIDES; side++) {
        CHECK(copy->height == 1 ||
              (copy->pitch[side] >= copy->width && copy->pitch[side] <= CS_COPY_PITCH));
        CHECK(copy->depth == 1 || (copy->slice[side] % copy->pitch[side] == 0 &&
                                   copy->slice[side] / copy->pitch[side] >= copy->height));
    }
    for (int64_t i = 0; i < copy->times * copy->depth * copy->height; i++) {
        int64_t row = i % copy->height, plane = i / copy->height % copy->depth;
        int64_t box = i / copy->height / copy->depth, at[CS_COPY_SIDES];
        for (int side = 0; side < CS_COPY_SIDES; side++)
            at[side] = row * copy->pitch[side] + plane * copy->slice[side] + box * copy->step[side];
        char *outside = view + at[CS_COPY_VIEW], *inside = packed + at[CS_COPY_PACKED];
        memcpy(in ? inside : outside, in ? outside : inside, (size_t)copy->width);
    }
}

#endif
