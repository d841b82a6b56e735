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

/* Returns the part of a command (NULL-ended) that is run in the end, after env, nice, numactl, srun
 * and their like: the first of their words that can be run. The command itself if there is none. */
char **cs_wrapper_unwrap(char **command);

/* Loads the configuration that the program of `command` would load in the environment of this
 * process. `command` is NULL-ended, or NULL if there is none. The program is the one that the
 * command runs in the end: NAME.ini is that of its program or script, not of env or nice. */
void cs_command_config(struct cs_config *config, char **command, cs_config_note_fn *note,
                       void *ctx);

/* Returns the options in a JSON summary that are not the defaults, by name, with the member
 * "source": the ini file, or "variables". NULL: there are none, or memory is short. The caller
 * deletes the object. Call cs_json_begin first. */
struct cJSON;
struct cJSON *cs_command_changed_options(const struct cJSON *summary);

/* --- which cuDNN a file is, reported without loading it --- */

/* Finds the libcudnn.so.9, or else the libcudnn.so.8, that dlopen would load for the file `caller`
 * (cs_loader_find). */
bool cs_libcudnn_find(const char *caller, char path[PATH_MAX]);

/* Returns the version of a libcudnn.so.N in the notation of cuDNN 9: 91900 for 9.19.0, 80907 for
 * 8.9.7, and 90000 if only the 9 is known. The sources are the name of the file that it links to,
 * the header next to it, and its own name. */
int cs_libcudnn_version(const char *path);

/* Writes a version as "cuDNN 9.19.0", or "cuDNN 9" if only that is known. Returns text. */
const char *cs_libcudnn_title(int version, char *text, size_t size);

/* True if it is a cuDNN 9, which convshim supports. */
bool cs_libcudnn_served(int version);

/* True if the loader takes a part of this libcudnn.so.9 (libcudnn_*.so.9) from another cuDNN, as
 * LD_LIBRARY_PATH can make it. `line` gets a sentence that names the part and both folders. */
bool cs_libcudnn_foreign(const char *path, char *line, size_t size);

/* --- all of a command line: its program, its Python, and the files that use cuDNN --- */

/* A file that links, looks up or contains cuDNN. */
struct cs_client {
    enum cs_linkage linkage;
    char path[PATH_MAX];
};

/* A framework, or the command, with its files. */
struct cs_examined {
    const char *title;
    const char *package; /* its name on PyPI; "": the command, or not known */
    const char *version; /* "" likewise */
    const char *asked;   /* see frameworks.def */
    struct cs_client *client;
    size_t clients;
    char cudnn[PATH_MAX]; /* the cuDNN that its files would load; "": none was found */
    int cudnn_version;    /* cs_libcudnn_version; 0: none */
    bool packaged;        /* it is that of NVIDIA's package, which the loader does not find */
};

struct cs_program_facts {
    char program[PATH_MAX];     /* the file that the kernel runs in the end; "": not found */
    char python[PATH_MAX];      /* the Python that runs the command; "": none */
    bool shell;                 /* the program is a shell: `python` is the python3 in PATH */
    char *listing;              /* the output of that Python; it owns the next texts */
    const char *python_version; /* NULL: Python was not run, or did not list its files */
    const char **nvidia;        /* the libraries in NVIDIA's packages */
    size_t nvidia_libraries;
    struct cs_examined *subject;
    size_t subjects;
    bool broken; /* out of memory */
};

/* Fills `program`, `python` and `shell` of zeroed facts from an unwrapped command (NULL-ended).
 * False if its program cannot be run. */
bool cs_program_find(struct cs_program_facts *facts, char **command);

/* Returns why no library can be preloaded into the program at `path`, or why it cannot be read;
 * then *readable_p is false. NULL if a library can be preloaded. */
const char *cs_program_obstacle(const char *path, bool *readable_p);

/* Adds the frameworks of `python`, without importing them. Unreadable files are left out. False if
 * Python does not list them. Then `why` has its last line of output or another reason. */
bool cs_frameworks_find(struct cs_program_facts *facts, char *why, size_t size);

/* Adds `program` with its libraries as the only subject. */
void cs_own_files_find(struct cs_program_facts *facts);

/* Fills all of zeroed facts: the program, and its frameworks or own files. The command may have
 * wrappers. */
void cs_program_examine(struct cs_program_facts *facts, char **command);

void cs_program_free(struct cs_program_facts *facts);

/* --- the libraries that the loader would load ---
 *
 * The loader itself reports them. It maps the files and runs no code of them. */

/* Receives one library: the required name and the file, NULL if none was found. */
typedef void cs_loader_fn(void *ctx, const char *name, const char *path);

/* Calls `each` for every library that the loader would load with `file`, a program or a library.
 * LD_LIBRARY_PATH is unchanged, and nothing is preloaded. */
void cs_loader_list(const char *file, cs_loader_fn *each, void *ctx);

/* Loads the library `file` with the loader, as LD_PRELOAD does. `complaint` gets the first line of
 * the loader's error message, or "". Returns false if the loader cannot be run. */
bool cs_loader_try(const char *file, char *complaint, size_t size);

/* Finds the library that dlopen(name) would load for a caller: a file, whose RPATH and RUNPATH
 * count, or NULL. Returns true and the path. False: `path` is unchanged. */
bool cs_loader_find(const char *name, const char *caller, char *path, size_t size);

/* --- the library's file, and the values of the variables that load it into a program --- */

/* The absolute path of libconvshim.so: the file `named`, or (NULL) the one that was installed or
 * built with this program. False, and one line of why, if there is none that LD_PRELOAD could name.
 */
bool cs_preload_library(const char *named, char path[PATH_MAX], char *why, size_t why_size);

/* Returns the next file of an LD_PRELOAD value and its length, and advances *list_p behind it. NULL
 * at the end. */
const char *cs_preload_next(const char **list_p, size_t *length_p);

/* True if a path of `length` bytes names the library, in any folder. */
bool cs_preload_is_library(const char *path, size_t length);

/* Returns the LD_PRELOAD value `now` (NULL: nothing) with the library in front, but after the
 * runtimes of sanitizers, which must come first. Unchanged if it already contains the library. To
 * be freed; NULL: out of memory. */
char *cs_preload_list(const char *library, const char *now);

/* --- the files that a running process has loaded, from /proc --- */

struct cs_process_files {
    char program[64];       /* its name, as the kernel has it */
    char library[PATH_MAX]; /* the libconvshim.so that it has loaded; "": none */
    char cudnn[PATH_MAX];   /* likewise the first libcudnn; the dispatcher before its parts */
};

/* Returns false with errno: ESRCH if there is no such process, EACCES if it belongs to another
 * user. */
bool cs_process_files(int64_t pid, struct cs_process_files *files);

/* Reads a word as a process id; 0 if it is none. */
int64_t cs_process_id(const char *word);

#endif
