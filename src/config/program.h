/* Which program this is, for what is remembered about it. */
#ifndef CS_CONFIG_PROGRAM_H
#define CS_CONFIG_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

enum {
    CS_PROGRAM_SCRIPT = 64
};

/* A number for the program's name and its first argument that is no option: `python train.py` is
 * another program than `python serve.py`, whatever else is said to it. */
uint64_t cs_program_number(void);

/* The same of a command line as /proc/self/cmdline has it. */
uint64_t cs_program_number_of(const char *arguments, int64_t length);

/* What an interpreter runs, of the command line of this process: the file name of a script, or the
 * module of python -m; "" if the program is none of those that are known, or reads its code from
 * elsewhere. Returns `script`. */
char *cs_program_script(char script[CS_PROGRAM_SCRIPT]);
char *cs_program_script_of(const char *arguments, int64_t length, char script[CS_PROGRAM_SCRIPT]);

/* The words of the command line of this process, each with its NUL, as many as are whole; returns
 * their bytes. errno is kept. Only system calls. */
size_t cs_program_arguments(char *words, size_t size);

#endif
