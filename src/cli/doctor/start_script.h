/* The programs that a shell script starts, as its text shows them. */
#ifndef CS_CLI_DOCTOR_START_SCRIPT_H
#define CS_CLI_DOCTOR_START_SCRIPT_H

#include <limits.h>
#include <stdbool.h>

/* The text without comments and double quotes, with the values of variables that have plain ones.
 * Line breaks are kept. A value that names the script's folder or the one it is started in
 * ($(dirname "$0"), $(pwd)) becomes ".". An unknown variable stays $NAME. The caller frees the
 * text. NULL if memory ran out. */
char *cs_start_script_expand(const char *text);

/* The first word of an expanded text that may stand for a Python, or for a script of one. */
struct cs_start {
    char word[PATH_MAX]; /* as written; for an "activate" the python next to it */
    bool activated;      /* it was an "activate": from there on words named python are that one */
    int line;            /* from 1 */
};

/* The next such word behind *text_p, with *line_p (begin with 1): words named python, "activate" of
 * an environment, and the first word of a command. Words with unknown variables are left out. False
 * at the end. */
bool cs_start_script_next(const char **text_p, int *line_p, struct cs_start *start);

/* The next word of an expanded text that ends so, as ".py" does; false if there is none. */
bool cs_start_script_file(const char **text_p, const char *ending, char word[PATH_MAX]);

/* The folder that an expanded text goes to first (cd); "" if it does not, or that is unknown. */
void cs_start_script_folder(const char *text, char folder[PATH_MAX]);

/* The line of a text, as it was written, in which LD_PRELOAD gets a value without the one that it
 * had, and not only where it had none; 0: there is none. */
int cs_start_script_preload(const char *text);

#endif
