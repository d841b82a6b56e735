/* Which program this is, for what is remembered about it. */
#ifndef CS_CONFIG_PROGRAM_H
#define CS_CONFIG_PROGRAM_H

#include <stdint.h>

/* A number for the program's name and its first argument that is no option: `python train.py` is
 * another program than `python serve.py`, whatever else is said to it. */
uint64_t cs_program_number(void);

/* The same of a command line as /proc/self/cmdline has it. */
uint64_t cs_program_number_of(const char *arguments, int64_t length);

#endif
