/* Reads CONVSHIM_RUN, CONVSHIM_SEGMENTS, LD_PRELOAD and XDG_RUNTIME_DIR. */
#include "config/session.h"

#include "config/ini.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libconvshim.so"

int64_t cs_session_run(void)
{
    const char *value = cs_variable("CONVSHIM_RUN");
    size_t digits = value ? strspn(value, "0123456789") : 0;
    return digits > 0 && digits < 12 && !value[digits] ? strtoll(value, NULL, 10) : 0;
}

bool cs_session_segments(void)
{
    const char *set = cs_variable("PYTORCH_CUDA_ALLOC_CONF");
    return cs_variable("CONVSHIM_SEGMENTS") && set && strstr(set, "expandable_segments:True");
}

/* Uses getenv, which a shell implements itself so that it includes the variables that its script
 * has exported. secure_getenv would return the environment at the start of the shell. */
bool cs_session_preloads(void)
{
    const char *list = getenv("LD_PRELOAD");
    const char *found = list ? strstr(list, LIBRARY) : NULL;
    return found && (found == list || strchr(": /", found[-1]));
}

void cs_session_folder(char path[CS_SESSION_PATH])
{
    const char *base = cs_variable("XDG_RUNTIME_DIR");
    int error = errno;
    /* In cluster jobs the variable may name a folder that does not exist. */
    int length = base && base[0] == '/' && access(base, W_OK | X_OK) == 0
                     ? snprintf(path, CS_SESSION_PATH, "%s/convshim", base)
                     : snprintf(path, CS_SESSION_PATH, "/tmp/convshim-%lld", (long long)geteuid());
    if (length >= CS_SESSION_PATH)
        path[0] = '\0';
    errno = error;
}
