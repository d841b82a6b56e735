/* Reads the command line of the running program, and finds the script in it. */
#ifndef CS_CONFIG_RUNNING_PROGRAM_H
#define CS_CONFIG_RUNNING_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

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
