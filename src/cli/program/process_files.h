/* The files that a running process has loaded, from /proc. */
#ifndef CS_CLI_PROGRAM_PROCESS_FILES_H
#define CS_CLI_PROGRAM_PROCESS_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_process_files {
    char program[64];       /* its name, as the kernel has it */
    char library[PATH_MAX]; /* the libconvshim.so that it has loaded; "": none */
    char cudnn[PATH_MAX];   /* likewise the first libcudnn; the dispatcher before its parts */
};

/* Returns false with errno: ESRCH if there is no such process, EACCES if it belongs to another
 * user. */
bool cs_process_files(int64_t pid, struct cs_process_files *files);

/* Copies the value of a variable that the process was started with; false if it was not set, or
 * cannot be read. */
bool cs_process_variable(int64_t pid, const char *name, char *value, size_t size);

/* A word as a process id; 0 if it is none. */
int64_t cs_process_id(const char *word);

#endif
