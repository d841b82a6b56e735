/* Runs a program and reads what it prints. */
#ifndef CS_CLI_DOCTOR_SUBPROCESS_H
#define CS_CLI_DOCTOR_SUBPROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* Runs argv[0], looked for in PATH, with `set` ("NAME=VALUE", NULL-ended, may be NULL) over this
 * process's environment, without LD_PRELOAD unless that is among them, and nothing to read. *text_p
 * gets what it wrote to its standard output and error, at most 4 MiB, ended by a NUL byte: to be
 * freed. The exit status, 127 if there is no such program, 128 + the signal that ended it, or -1 if
 * no process could be made. Before any thread is started. */
int cs_subprocess_run(const char *const *argv, const char *const *set, char **text_p);

/* Cuts the next line off *text_p and returns it without its end; NULL if there is none. */
char *cs_subprocess_line(char **text_p);

#endif
