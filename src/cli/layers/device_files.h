/* Device profiles: the properties of a GPU that cuDNN needs to plan for it, as JSON files
 * (conf/devices, with their sources). */
#ifndef CS_CLI_LAYERS_DEVICE_FILES_H
#define CS_CLI_LAYERS_DEVICE_FILES_H

#include "cli/common/data_files.h"

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
    char *source;                    /* where the numbers come from; owned, may be NULL */
};

/* Loads a profile. `device` is a name in a folder of profiles, also as people write it
 * (device_name.h), or a file if it ends with ".json" or contains a slash. `folder` NULL: the
 * profiles installed with the program. Returns false on errors, with a line in `error`. */
bool cs_device_file_load(const char *device, const char *folder, struct cs_device_file *profile,
                         char error[CS_DEVICE_FILE_ERROR]);
void cs_device_file_fini(struct cs_device_file *profile);

/* Prints the profiles of a folder by name. False, with a line in `error`. */
bool cs_device_files_list(const char *folder, enum cs_format format,
                          char error[CS_DEVICE_FILE_ERROR]);

#endif
