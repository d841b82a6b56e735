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

/* --- device profiles ---
 *
 * Device profiles: the properties of a GPU that cuDNN needs to plan for it, as JSON files
 * (conf/devices, with their sources), and names of GPUs as people and nvidia-smi write them. */

enum {
    CS_DEVICE_FILE_NAME = 64,
    CS_DEVICE_FILE_ERROR = CS_DATA_FILE_ERROR
};

struct cs_device_file {
    char name[CS_DEVICE_FILE_NAME];  /* "h200"; of a file: its name without ".json" */
    char title[CS_DEVICE_FILE_NAME]; /* "NVIDIA H200" */
    char *text;                      /* the JSON; owned */
    char *path;                      /* of the file, from the root; owned */
    int64_t memory;                  /* bytes that programs see, less than the card is sold with */
    int64_t context;                 /* of them, bytes that a process takes before it allocates */
    int64_t version;                 /* compute capability, 900 for 9.0 */
    char
        other[CS_DEVICE_FILE_NAME]; /* profile of the same GPU with another size of memory, or "" */
    char *source;                   /* where the numbers come from; owned, may be NULL */
};

/* Loads a profile. `device` is a name in a folder of profiles, also as people write it
 * (cs_device_name), or a file if it ends with ".json" or contains a slash. `folder` NULL: the
 * profiles installed with the program. Returns false on errors, with a line in `error`. */
bool cs_device_file_load(const char *device, const char *folder, struct cs_device_file *profile,
                         char error[CS_DEVICE_FILE_ERROR]);
void cs_device_file_fini(struct cs_device_file *profile);

/* Prints the profiles of a folder by name, for a command's --device list. Returns its status. */
int cs_device_files_list(const char *command, const char *folder, enum cs_format format);

/* Writes the name of a profile for a written name: "rtx4060" for "NVIDIA GeForce RTX 4060",
 * "RTX4060" and "4060". A size after the name is kept ("a100-40gb"), a form is not ("SXM4",
 * "PCIe"). `name` gets the written name if it is not like one of a GPU. */
void cs_device_name(const char *written, char *name, size_t size);

/* Returns why this GPU has no profile: a part of a GPU (MIG), memory shared with the CPU, or a
 * laptop's GPU, which has other units than the one of its name. NULL: no such reason is known. */
const char *cs_device_name_refusal(const char *written);

#endif
