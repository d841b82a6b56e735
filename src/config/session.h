/* Reads from the environment the run that this process belongs to, and the folder that lists the
 * user's running processes. */
#ifndef CS_CONFIG_SESSION_H
#define CS_CONFIG_SESSION_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CS_SESSION_PATH = 4096
};

/* Returns the process id in CONVSHIM_RUN, which `convshim run` sets: that of the program it
 * started. 0 if this process was started another way. */
int64_t cs_session_run(void);

/* True if `convshim run` set expandable segments for PyTorch (CONVSHIM_SEGMENTS), and they are
 * still set. */
bool cs_session_segments(void);

/* True if LD_PRELOAD names the library now, so that child processes load it. */
bool cs_session_preloads(void);

/* Writes the folder of running processes: $XDG_RUNTIME_DIR/convshim, or /tmp/convshim-UID if the
 * former is missing. "" if its name is too long. errno is kept. */
void cs_session_folder(char path[CS_SESSION_PATH]);

#endif
