/* The programs and libraries of a command line, from files alone: its program, its Python, and the
 * files that use cuDNN. One thread. */
#ifndef CS_CLI_PROGRAM_PROGRAM_FACTS_H
#define CS_CLI_PROGRAM_PROGRAM_FACTS_H

#include "cli/program/linkage.h"
#include "cli/program/packages.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* A file that links, looks up or contains cuDNN. */
struct cs_client {
    enum cs_linkage linkage;
    bool names_deepbind; /* the word is among its constants */
    bool names_none;     /* it calls functions of cuDNN, and no library that it loads is one */
    char path[PATH_MAX];
    char cudnn[PATH_MAX]; /* the cuDNN that it would load; "": none was found */
    int version;          /* of that, as 90800; 0: not known */
    bool packaged;        /* it is that of NVIDIA's package, which the loader does not find */
};

/* A framework, or the command, with its files. */
struct cs_examined {
    const char *title;
    const char *package; /* "": the command, which is none */
    char version[64];    /* "" likewise */
    const char *asked;   /* see frameworks.def */
    struct cs_client *client;
    size_t clients;
};

struct cs_program_facts {
    char program[PATH_MAX]; /* the file that the kernel runs in the end; "": not found */
    char python[PATH_MAX];  /* the Python that runs the command; "": none */
    bool shell;             /* the program is a shell: `python` is the python3 in PATH */
    struct cs_packages packages;
    struct cs_examined *subject;
    size_t subjects;
    bool broken; /* out of memory */
};

/* Fills `program`, `python` and `shell` of zeroed facts from an unwrapped command (NULL-ended).
 * False if its program cannot be run. */
bool cs_program_find(struct cs_program_facts *facts, char **command);

/* Why no library can be preloaded into the program at `path`. NULL if one can. Also the reason why
 * it cannot be read; then *readable_p is false. */
const char *cs_program_obstacle(const char *path, bool *readable_p);

/* Lists the packages of `python`. False if it does not report them. Then `why` has the reason. */
bool cs_program_packages(struct cs_program_facts *facts, char *why, size_t size);

/* Fills `subject` from `packages`, or from `program` if there is no Python. Unreadable files are
 * left out. Sets `broken` if memory runs out. */
void cs_clients_find(struct cs_program_facts *facts);

/* Its title and, where it is known, its version, as a finding names it. Returns `text`. */
const char *cs_examined_name(const struct cs_examined *subject, char *text, size_t size);

/* Both, and the files that use cuDNN (cs_clients_find). The command may have wrappers. */
void cs_program_examine(struct cs_program_facts *facts, char **command);

void cs_program_free(struct cs_program_facts *facts);

/* The file that a command runs if it is a Python and names one. NULL: a module, text or nothing. */
const char *cs_program_script_file(char **command);

#endif
