/* Functions that all commands of `convshim` share: error messages, options and exit status.
 *
 * A command is a function of commands.def. Its argv begins with the command's name, and it returns
 * the exit status. Results go to standard output, everything else to standard error. One thread,
 * unless a command says otherwise. */
#ifndef CS_CLI_COMMON_CLI_H
#define CS_CLI_COMMON_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The exit statuses of all commands except `run`, which returns its program's (docs/stability.md).
 */
enum cs_cli_status {
    CS_CLI_OK,    /* done, or the answer is yes */
    CS_CLI_NO,    /* the answer is no */
    CS_CLI_USAGE, /* the command line or an input file is wrong */
    CS_CLI_NONE   /* no answer: something is missing or failed, or it could not be written */
};

#define CS_COMMAND(name, summary) int cs_cli_##name(int argc, char **argv);
#include "cli/commands.def"
#undef CS_COMMAND

/* Writes text that may come from a file. Bytes on which a terminal acts become '?', so the number
 * of bytes stays. cs_cli_put_line replaces ends of lines, too. */
void cs_cli_put(const char *text, FILE *out);
void cs_cli_put_line(const char *text, FILE *out);

/* Prints one line on standard error: "convshim: ...", by cs_cli_put. */
void cs_cli_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a line as cs_cli_complain does, for functions that pass lines to a callback. `ctx` is not
 * used. */
void cs_cli_note(void *ctx, const char *line);

/* The receiver of an option's value: the command, or the parser, which writes it to a member of the
 * command's struct. */
enum cs_cli_kind {
    CS_CLI_TAKEN, /* by cs_cli_take_fn */
    CS_CLI_KEEPS_TEXT,
    CS_CLI_SETS_FLAG,
    CS_CLI_READS_SIZE,   /* at least 1 */
    CS_CLI_READS_NUMBER, /* from `least` to `most` */
    CS_CLI_READS_PERCENT,
    CS_CLI_READS_FORMAT,
    CS_CLI_SETS_LIBRARY /* an option of the library, as its variable in a struct cs_child_variables
                         */
};

#define CS_LIBRARY_GROUP "Options of the library, which override files and CONVSHIM_CONFIG"

/* An option of a command: a row of its table, from which parser, --help and manual page come
 * (command_options.def). */
struct cs_cli_option {
    const char *name;     /* without the dashes; shown with - for _ (cs_cli_spelling) */
    const char *argument; /* the value's name in --help; NULL: no value */
    const char *group;    /* a heading of --help. Rows of a group are consecutive. */
    const char *help;
    enum cs_cli_kind kind;
    size_t at;       /* offset of the member */
    int least, most; /* of a number; `most` also of a percentage */
};

enum {
    CS_CLI_MOST_OPTIONS = 48 /* of one command */
};

/* A command as its user sees it. */
struct cs_cli_command {
    const char *name;
    const char *usage; /* lines as "convshim NAME [options] ...", without "usage: " */
    const char *about; /* a description for --help, a few lines */
    const struct cs_cli_option *option;
    int options;
    bool stops; /* options end at the first operand */
};

/* Declares the description of each command, cs_cli_command_NAME, which the manual page uses. */
#define CS_COMMAND(name, summary) extern const struct cs_cli_command *const cs_cli_command_##name;
#include "cli/commands.def"
#undef CS_COMMAND

/* Takes an option that is CS_CLI_TAKEN. `value` is not "", and NULL if the option has none. Returns
 * false after printing why the value is not allowed (cs_cli_refuse). */
typedef bool cs_cli_take_fn(void *to, int option, const char *value);

/* Reads options: "--name VALUE" or "--name=VALUE". Names may be abbreviated, and - and _ are the
 * same. Operands are moved behind the options. Returns -1 to go on: argv[*operand_p] is the first
 * operand. Otherwise it returns the status to end with, after the text of --help or a usage error.
 */
int cs_cli_parse(const struct cs_cli_command *command, int argc, char **argv, cs_cli_take_fn *take,
                 void *to, int *operand_p);

/* Prints a usage error of a command and a reference to its --help. Returns CS_CLI_USAGE. */
int cs_cli_refuse(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints a usage error about an option's value. `allowed` describes the allowed values. Returns
 * false. */
bool cs_cli_refuse_value(const struct cs_cli_command *command, int option, const char *value,
                         const char *allowed);

/* Reads a size of at least 1 byte. Below 1 MiB it needs a unit. Otherwise prints a usage error and
 * returns false. */
bool cs_cli_take_size(const struct cs_cli_command *command, int option, const char *value,
                      const char *allowed, int64_t *bytes_p);

/* The name of an option as it is typed: - for _. Returns `spelling`. */
enum {
    CS_CLI_NAME = 64
};
const char *cs_cli_spelling(const char *name, char spelling[CS_CLI_NAME]);

/* Returns the word of a NULL-ended list that `word` was probably meant to be; NULL if none is near.
 */
const char *cs_cli_nearest(const char *word, const char *const *words);

/* Reads a size such as "64MiB" as bytes, as in the ini file. False for everything else, also for
 * "auto" and "64". */
bool cs_cli_size(const char *text, int64_t *bytes_p);

#endif
