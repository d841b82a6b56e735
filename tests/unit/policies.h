/* The policies of the library by what they do: no test depends on their names. */
#ifndef POLICIES_H
#define POLICIES_H

#include "config/option.h"
#include "convshim/policy.h"
#include <stdio.h>
#include <stdlib.h>

static inline const struct cs_policy *require_policy(const struct cs_policy *policy)
{
    if (!policy) {
        fputs("no such policy\n", stderr);
        exit(1);
    }
    return policy;
}

/* The default of option policy. */
static inline const struct cs_policy *default_policy(void)
{
    return require_policy(cs_policy_find(cs_options[CS_OPTION_policy].value));
}

/* The one whose number of tiles is option tiles. */
static inline const struct cs_policy *policy_with_tiles(void)
{
    return require_policy(cs_policy_find(cs_policy_with_tiles()));
}

/* The one that changes no call. */
static inline const struct cs_policy *report_only_policy(void)
{
    const struct cs_policy *const *policy = cs_policies;
    while (*policy && !(*policy)->report_only)
        policy++;
    return require_policy(*policy);
}

#endif
