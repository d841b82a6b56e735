/* The command's only access to environment variables. */
#include "cli/common/environment.h"

#include <stdlib.h>

const char *cs_cli_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}
