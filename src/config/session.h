/* What the environment says of the run that this process belongs to, and the folder in which its
 * processes can be found while they run. */
#ifndef CS_CONFIG_SESSION_H
#define CS_CONFIG_SESSION_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CS_SESSION_PATH = 4096
};

/* The process id that `convshim run` handed on (CONVSHIM_RUN), which is that of the program that it
 * started; 0: this was not started so. */
int64_t cs_session_run(void);

/* True if LD_PRELOAD, as it is now, names the library: what this process starts gets it. */
bool cs_session_preloads(void);

/* The folder of running processes: $XDG_RUNTIME_DIR/convshim, or /tmp/convshim-UID where there is
 * no such place. "" if its name is too long. errno is kept. */
void cs_session_folder(char path[CS_SESSION_PATH]);

#endif
