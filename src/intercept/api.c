/* The functions of include/convshim.h. */
#include "convshim.h"

#include "base/version.h"
#include "flow/configure.h"
#include "flow/ending.h"
#include "flow/scoped_limit.h"
#include "intercept/entry/entry.h"

CS_EXPORT const char *convshim_version(void)
{
    return CS_VERSION;
}

CS_EXPORT int convshim_active(void)
{
    return !cs_config_disabled() && !cs_instance_off();
}

CS_EXPORT int convshim_check(const char *options, char *error, size_t size)
{
    return cs_configure_check(options, error, size);
}

CS_EXPORT int convshim_configure(const char *options, char *error, size_t size)
{
    return cs_configure(options, error, size);
}

CS_EXPORT size_t convshim_summary(char *json, size_t size)
{
    struct cs *cs = cs_instance_made();
    if (size > 0)
        json[0] = '\0';
    return cs ? cs_ending_text(cs, json, size) : 0;
}

CS_EXPORT int64_t convshim_limit(int64_t bytes)
{
    return cs_scoped_limit_set(bytes);
}
