/* Finds a policy by name in the generated registry. */
#include "convshim/policy.h"
#include <string.h>

const struct cs_policy *cs_policy_find(const char *name)
{
    for (const struct cs_policy *const *policy = cs_policies; *policy; policy++) {
        if (strcmp((*policy)->name, name) == 0)
            return *policy;
    }
    return NULL;
}

bool cs_policy_uses_tiles(const char *name)
{
    static const struct cs_limits limits = {.workspace = -1, .tiles = 2};
    const struct cs_policy *policy = cs_policy_find(name);
    return policy && policy->tiles(&limits) == limits.tiles;
}

const char *cs_policy_with_tiles(void)
{
    const char *const *name = cs_policy_names;
    while (*name && !cs_policy_uses_tiles(*name))
        name++;
    return *name ? *name : "NAME";
}
