/* The proof that a copy moves a staged tensor, without the arithmetic of copy.c. */
#ifndef CS_PLAN_CHECK_COPY_H
#define CS_PLAN_CHECK_COPY_H

#include "convshim/plan.h"

/* True if the copy moves each element of `packed` from or to its place in `view`, and nothing else.
 * The view has the strides of the application's tensor. The extents are those of `packed`. */
bool cs_copy_connects(const struct cs_copy *copy, const struct cs_tensor *view,
                      const struct cs_tensor *packed);

#endif
