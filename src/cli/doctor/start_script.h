/* What a shell's script starts, as far as its text says it. */
#ifndef CS_CLI_DOCTOR_START_SCRIPT_H
#define CS_CLI_DOCTOR_START_SCRIPT_H

#include <limits.h>
#include <stdbool.h>

/* The first word of a text that may stand for a Python, or for a script of one. */
struct cs_start {
    char word[PATH_MAX]; /* as written; of an "activate" the python beside it */
    int line;            /* from 1 */
};

/* The next such word behind *text_p, with *line_p (begin with 1): words named python, "activate" of
 * an environment, and the first word of a command. Nothing is expanded: words with variables in
 * them are left out. False at the end. */
bool cs_start_script_next(const char **text_p, int *line_p, struct cs_start *start);

/* The line in which LD_PRELOAD gets a value without the one that it had; 0: there is none. */
int cs_start_script_preload(const char *text);

#endif
