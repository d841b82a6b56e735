/* Runs a program and reads its output. */
#ifndef CS_CLI_PROGRAM_SUBPROCESS_H
#define CS_CLI_PROGRAM_SUBPROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* Runs argv[0], which is searched for in PATH, with empty standard input. Its environment is that
 * of this process, changed by `set` ("NAME=VALUE", NULL-ended, may be NULL). LD_PRELOAD is removed
 * unless `set` contains it. *text_p gets the text of its standard output and error, at most 4 MiB
 * and a NUL byte. The caller frees it. Returns the exit status, 127 if there is no such program,
 * 128 + the signal that ended it, or -1 if no process could be created or memory ran out. To be
 * called before any thread is started. */
int cs_subprocess_run(const char *const *argv, const char *const *set, char **text_p);

/* Cuts the next line off *text_p and returns it without its end; NULL if there is none. */
char *cs_subprocess_line(char **text_p);

#endif
