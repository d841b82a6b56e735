/* One number for the process, because frameworks run calls in threads that the program does not
 * control. */
#include "flow/scoped_limit.h"

#include "config/option.h"
#include <stdatomic.h>
#include <stdio.h>

static _Atomic int64_t now;

int64_t cs_scoped_limit(void)
{
    return atomic_load_explicit(&now, memory_order_relaxed);
}

static bool is_allowed(int64_t bytes)
{
    const struct cs_option *option = &cs_options[CS_OPTION_workspace];
    char text[32];
    int64_t same;
    snprintf(text, sizeof text, "%lld", (long long)bytes);
    return option->parse(option, text, NULL, &same);
}

int64_t cs_scoped_limit_set(int64_t bytes)
{
    if (bytes != 0 && !is_allowed(bytes))
        return -1;
    return atomic_exchange(&now, bytes);
}
