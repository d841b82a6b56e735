/* The environment's data about the run that this process belongs to, and the folder that lists its
 * running processes. */
#ifndef CS_CONFIG_SESSION_H
#define CS_CONFIG_SESSION_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CS_SESSION_PATH = 4096
};

/* The process id that `convshim run` passed on (CONVSHIM_RUN), that of the program it started. 0:
 * this process was started another way. */
int64_t cs_session_run(void);

/* True if `convshim run` set expandable segments for PyTorch (CONVSHIM_SEGMENTS), and they are
 * still set. */
bool cs_session_segments(void);

/* True if LD_PRELOAD names the library now, so that child processes load it. */
bool cs_session_preloads(void);

/* The folder of running processes: $XDG_RUNTIME_DIR/convshim, or /tmp/convshim-UID if the former is
 * missing. "" if its name is too long. errno is kept. */
void cs_session_folder(char path[CS_SESSION_PATH]);

#endif
