#include "cli/option_text.h"

#include "convshim/policy.h"
#include <stddef.h>

enum {
    MAX_POLICIES = 32
};

const char *const *cs_policy_names(void)
{
    static const char *names[MAX_POLICIES + 1];
    for (int i = 0; i < MAX_POLICIES && cs_policies[i]; i++)
        names[i] = cs_policies[i]->name;
    return names;
}
