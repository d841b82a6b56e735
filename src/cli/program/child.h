/* Child processes: their start and end, their output. Children are started before
 * any thread, because a child continues with the locks that other threads held. */
#ifndef CS_CLI_PROGRAM_CHILD_H
#define CS_CLI_PROGRAM_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* Runs `body` in a child, which exits with its result unless it executes a program. Returns the
 * child's id, or -1 with errno. */
pid_t cs_child_start(int (*body)(void *ctx), void *ctx);

/* Returns a status of waitpid as shells show it: the exit status, or 128 + the signal that ended
 * it. */
int cs_child_status(int status);

/* Waits for the end of a child. Returns its status as shells show it, or -1 with errno. */
int cs_child_wait(pid_t pid);

/* Returns true, with the status as shells show it, if a child has ended. Does not wait. The status
 * is 127 if `pid` is no child of this process. */
bool cs_child_ended(pid_t pid, int *status_p);

/* Runs `body` in a child and waits for its end. Returns its status as cs_child_wait, or -1 with
 * errno. */
int cs_child_run(int (*body)(void *ctx), void *ctx);

/* Runs argv[0], which is searched for in PATH, with empty standard input. Its environment is that
 * of this process, changed by `set` ("NAME=VALUE", NULL-ended, may be NULL). LD_PRELOAD is removed
 * unless `set` contains it. *text_p gets the text of its standard output and error, up to
 * 4 MiB, after which its pipe is closed. The caller frees the text. Returns the status as
 * cs_child_wait, 127 if there is no such program, or -1 if no process could be created or memory
 * ran out. */
int cs_child_output(const char *const *argv, const char *const *set, char **text_p);

/* Cuts the next line off *text_p and returns it without its end; NULL if there is none. */
char *cs_child_line(char **text_p);

#endif
