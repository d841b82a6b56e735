/* The program that a command line runs in the end: its file, and the options that it would have
 * with the library. */
#ifndef CS_CLI_PROGRAM_RUN_PROGRAM_H
#define CS_CLI_PROGRAM_RUN_PROGRAM_H

#include "config/config.h"
#include <stdbool.h>
#include <stddef.h>

/* True if it is a file that may be executed. */
bool cs_search_path_runnable(const char *path);

/* Looks for `name` in PATH, unless it has a slash; fills `path` and returns true if it can be run.
 */
bool cs_search_path(const char *name, char *path, size_t size);

/* The part of a command (NULL-ended) that is run in the end, behind env, nice, numactl, srun and
 * their like; the command itself if there is no such part. */
char **cs_wrapper_unwrap(char **command);

/* Loads the configuration that the program of `command` would load in the environment of this
 * process. `command` is NULL-ended, or NULL if there is none. The program is the one that the
 * command runs in the end: NAME.ini is that of its program or script, not of env or nice. */
void cs_command_config(struct cs_config *config, char **command, cs_config_note_fn *note,
                       void *ctx);

#endif
