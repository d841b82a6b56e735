/* Files that come with the program and are called by their names alone: device profiles, presets.
 */
#ifndef CS_CLI_COMMON_DATA_FILES_H
#define CS_CLI_COMMON_DATA_FILES_H

#include "cli/common/table.h"
#include <stdbool.h>
#include <stddef.h>

enum {
    CS_DATA_FILE_ERROR = 320
};

struct cs_data_files {
    const char *folder; /* "devices": the folder's name under share/convshim or conf */
    const char *what;   /* "device": what a line calls one file */
    const char *suffix; /* ".json": what its name has that users leave out */
    const char *option; /* "--device": takes the path of such a file, too; NULL: there is none */
};

/* True if a name stands for itself, as a path: it has a slash or the suffix. */
bool cs_data_file_is_path(const struct cs_data_files *files, const char *name);

/* The path of a file of the shelf. `folder` NULL: beside the installed program, or in the source
 * tree that it was built in. False, with a line in `error` that names the nearest. */
bool cs_data_files_find(const struct cs_data_files *files, const char *folder, const char *name,
                        char *path, size_t size, char error[CS_DATA_FILE_ERROR]);

/* Adds a file's row to a table; false, having written `error`, ends the list. */
typedef bool cs_data_file_add_fn(struct cs_table *table, const char *path,
                                 char error[CS_DATA_FILE_ERROR]);

/* Prints a table of all files in order of names on standard output. False, with a line in `error`.
 */
bool cs_data_files_list(const struct cs_data_files *files, const char *folder,
                        const struct cs_column *column, int columns, cs_data_file_add_fn *add,
                        enum cs_format format, char error[CS_DATA_FILE_ERROR]);

/* The name of a path: its last part without the suffix, cut to `size`. */
void cs_data_file_name(const struct cs_data_files *files, const char *path, char *name,
                       size_t size);

#endif
