/* The programs and libraries of a command line or a process, from files alone. One thread. */
#ifndef CS_CLI_PROGRAM_COMMAND_FACTS_H
#define CS_CLI_PROGRAM_COMMAND_FACTS_H

#include "cli/program/elf.h"
#include "config/config.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the program that a command line runs in the end, with its options --- */

/* Looks for `name` in PATH, unless it has a slash; fills `path` and returns true if it can be run.
 */
bool cs_search_path(const char *name, char *path, size_t size);

/* The part of a command (NULL-ended) that is run in the end, after env, nice, numactl, srun and
 * their like; the command itself if there is no such part. */
char **cs_wrapper_unwrap(char **command);

/* Loads the configuration that the program of `command` would load in the environment of this
 * process. `command` is NULL-ended, or NULL if there is none. The program is the one that the
 * command runs in the end: NAME.ini is that of its program or script, not of env or nice. */
void cs_command_config(struct cs_config *config, char **command, cs_config_note_fn *note,
                       void *ctx);

/* --- the modules that a Python would import, and its packages ---
 *
 * That Python lists them without importing them. */

/* The result. The other pointers to text point into `text`. The struct owns `text` and the two
 * arrays. */
struct cs_packages {
    char *text;
    const char *python, *version; /* the interpreter's file and its version */
    struct cs_module {
        const char *name, *folder;
    } * module;
    size_t modules;
    struct cs_package {
        const char *name, *version, *folder; /* the folder of site-packages that it is in */
    } * package;
    size_t packages;
};

/* Runs `python` to find the modules (NULL-ended) and all packages. A name may be listed twice,
 * because a module may have several folders. Returns false if Python does not report them. Then
 * `why` contains its output or the reason. */
bool cs_packages_read(struct cs_packages *packages, const char *python, const char *const *modules,
                      char *why, size_t size);
void cs_packages_free(struct cs_packages *packages);

/* The first package of a list of names, blanks between them; NULL if none is there. Case and the
 * kind of dashes do not matter. */
const struct cs_package *cs_packages_find(const struct cs_packages *packages, const char *names);

/* --- which cuDNN a file is, reported without loading it --- */

/* The version of a libcudnn.so.N in cuDNN's notation: 91900 for 9.19.0, 8907 for 8.9.7. The sources
 * are the name of the file that it links to, the header next to it, or its package. `packages` may
 * be empty. 0: not reported. */
int cs_libcudnn_version(const char *path, const struct cs_packages *packages);

/* "cuDNN 9.19.0", or from the name "cuDNN 9" if the version is 0. */
const char *cs_libcudnn_title(const char *path, int version, char *text, size_t size);

/* True if it is a cuDNN 9, which convshim supports. */
bool cs_libcudnn_served(const char *path, int version);

/* True if the loader takes a part of this libcudnn.so.9 (libcudnn_*.so.9) from another cuDNN, as
 * LD_LIBRARY_PATH can make it. `line` gets a sentence that names the part and both folders. */
bool cs_libcudnn_foreign(const char *path, char *line, size_t size);

/* --- all of a command line: its program, its Python, and the files that use cuDNN --- */

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

/* The title and, if known, the version of a framework or command. Returns `text`. */
const char *cs_examined_name(const struct cs_examined *subject, char *text, size_t size);

/* Fills all of zeroed facts: cs_program_find, cs_program_packages, cs_clients_find. The command may
 * have wrappers. */
void cs_program_examine(struct cs_program_facts *facts, char **command);

void cs_program_free(struct cs_program_facts *facts);

/* The file that a command runs if it is a Python and names one. NULL: a module, text or nothing. */
const char *cs_program_script_file(char **command);

/* --- the libraries that the loader would load ---
 *
 * The loader itself reports them. It maps the files and runs no code of them. */

/* One library: the required name and the file, NULL if none was found. */
typedef void cs_loader_fn(void *ctx, const char *name, const char *path);

/* Calls `each` for every library that the loader would load with `file` (a program or a library).
 * LD_LIBRARY_PATH is unchanged. `preload` is the value of LD_PRELOAD, or NULL. Returns false if the
 * loader cannot be run. `complaint` gets the loader's error message, one line, or "". */
bool cs_loader_list(const char *file, const char *preload, cs_loader_fn *each, void *ctx,
                    char *complaint, size_t size);

/* Finds the library that dlopen(name) would load for a caller with this RPATH and RUNPATH (NULL:
 * none) in the folder `origin`. Returns true and the path. */
bool cs_loader_find(const char *name, const char *origin, const char *rpath, const char *runpath,
                    char *path, size_t size);

/* --- the library's file, and the values of the variables that load it into a program --- */

/* The absolute path of libconvshim.so: the file `named`, or (NULL) the one that was installed or
 * built with this program. False, and one line of why, if there is none that LD_PRELOAD could name.
 */
bool cs_preload_library(const char *named, char *path, size_t size, char *why, size_t why_size);

/* Returns the next file of an LD_PRELOAD value and its length, and advances *list_p behind it. NULL
 * at the end. */
const char *cs_preload_next(const char **list_p, size_t *length_p);

/* True if a path of `length` bytes names the library, in any folder. */
bool cs_preload_is_library(const char *path, size_t length);

/* `now` (NULL: nothing) with the library in front, but after the runtimes of sanitizers, which must
 * come first. Unchanged if it already contains the library. To be freed; NULL: out of memory. */
char *cs_preload_list(const char *library, const char *now);

/* Items of CONVSHIM_CONFIG (NULL: none) with one more item, which replaces items of the same
 * option. To be freed; NULL: out of memory. */
char *cs_preload_items(const char *now, const char *name, const char *value);

/* --- the files that a running process has loaded, from /proc --- */

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
