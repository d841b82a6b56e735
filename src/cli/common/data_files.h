/* Files that come with the program: device profiles and presets, which are named without a folder
 * and suffix, and libraries. */
#ifndef CS_CLI_COMMON_DATA_FILES_H
#define CS_CLI_COMMON_DATA_FILES_H

#include "cli/common/table.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    CS_DATA_FILE_ERROR = 320
};

struct cs_data_files {
    const char *folder; /* "devices": the folder's name under share/convshim or conf */
    const char *what;   /* "device": the noun for one file, and the option that takes it */
    const char *suffix; /* ".json": the end of the name, which users may omit */
};

/* True if a name is a path: it has a slash or the suffix. */
bool cs_data_file_is_path(const struct cs_data_files *files, const char *name);

/* Finds the path of a data file. If `folder` is NULL, it searches the installation of this program,
 * or the source tree that the program was built in. Returns false if there is no such file. Then
 * `error` contains a line with the name as it was `written` and the most similar one. */
bool cs_data_files_find(const struct cs_data_files *files, const char *folder, const char *name,
                        const char *written, char *path, size_t size,
                        char error[CS_DATA_FILE_ERROR]);

/* Adds a file's row to a table; false, having written `error`, ends the list. */
typedef bool cs_data_file_add_fn(struct cs_table *table, const char *path,
                                 char error[CS_DATA_FILE_ERROR]);

/* Prints a table of all files in order of names on standard output. On failure returns false, with
 * a line in `error`. */
bool cs_data_files_list(const struct cs_data_files *files, const char *folder,
                        const struct cs_column *column, int columns, cs_data_file_add_fn *add,
                        enum cs_format format, char error[CS_DATA_FILE_ERROR]);

/* Writes the name of a path: its last part without the suffix, cut to `size`. */
void cs_data_file_name(const struct cs_data_files *files, const char *path, char *name,
                       size_t size);

/* --- presets: ini files for common needs (conf/presets), whose first line is their purpose --- */

/* The absolute path of a preset, or of an ini file that is named by its path. On failure
 * returns false, with a line in `error`. */
bool cs_preset_find(const char *name, char *path, size_t size, char error[CS_DATA_FILE_ERROR]);

/* Prints all presets with their purpose. False after printing the reason. */
bool cs_preset_list(void);

/* --- the installation --- */

/* The folder of the running program, without a slash at its end. Returns false if the system does
 * not report it. */
bool cs_cli_folder(char *path, size_t size);

/* Finds the absolute path of a library or of another file under LIBDIR. `name` is relative to
 * LIBDIR of the installation ("libconvshim.so", "convshim/simdev/libcudart.so.13") or, in a build,
 * to this program's folder. The search starts at the program's folder, because an installation may
 * be moved as a whole. Returns false, with errno, if there is no readable file. */
bool cs_cli_installed(const char *name, char path[PATH_MAX]);

#endif
