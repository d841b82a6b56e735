/* What a decision builds is kept until the decision is carried out, which mostly needs some of it
 * again: a vendor around another, for one request. One thread's.
 *
 * Kernels of `vendor` are destroyed by its `destroy` before cs_kept_fini; those of cs_kept_build
 * and cs_kept_lifeboat are the other vendor's own. */
#ifndef CS_FLOW_BUILT_PLANS_H
#define CS_FLOW_BUILT_PLANS_H

#include "convshim/vendor.h"

struct cs_kept_kernel;

struct cs_kept {
    struct cs_vendor vendor; /* to decide with */
    const struct cs_vendor *real;
    struct cs_kept_kernel *first; /* those that nobody uses, the latest first */
    int count;
};

/* `vendor` is referred to until cs_kept_fini. The struct is not to be moved. */
void cs_kept_init(struct cs_kept *kept, const struct cs_vendor *vendor);
void cs_kept_fini(struct cs_kept *kept);

/* As the vendor's own functions. */
CS_MUST_CHECK enum cs_status cs_kept_build(struct cs_kept *kept, const struct cs_problem *problem,
                                           enum cs_latitude latitude, void **kernel_p,
                                           int64_t *workspace_p);
CS_MUST_CHECK enum cs_status cs_kept_lifeboat(struct cs_kept *kept, int64_t limit, void **kernel_p,
                                              int64_t *workspace_p);

#endif
