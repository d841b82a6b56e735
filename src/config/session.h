/* Reads from the environment the run that this process belongs to, and the folder that lists the
 * user's running processes. */
#ifndef CS_CONFIG_SESSION_H
#define CS_CONFIG_SESSION_H

#include <stdbool.h>
#include <stddef.h>
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

/* --- the running program ---
 *
 * Reads the command line of the running program, and finds the script in it. */

enum {
    CS_PROGRAM_SCRIPT = 64
};

/* Finds the script that an interpreter runs by this process's command line: a file name, or the
 * module of python -m. "" if the program is not a known interpreter, or reads its code from
 * elsewhere. Returns `script`. */
char *cs_program_script(char script[CS_PROGRAM_SCRIPT]);

/* As cs_program_script, for another command line: `length` bytes of words, each with its NUL. */
char *cs_program_script_of(const char *arguments, int64_t length, char script[CS_PROGRAM_SCRIPT]);

/* Copies the words of this process's command line, each with its NUL. Words that do not fit are
 * left out. Returns the number of bytes. errno is kept. Makes only system calls. */
size_t cs_program_arguments(char *words, size_t size);

#endif
