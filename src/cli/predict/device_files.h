/* Device profiles: what cuDNN has to know of a GPU to plan for it, as JSON files (conf/devices,
 * with their sources). */
#ifndef CS_CLI_PREDICT_DEVICE_FILES_H
#define CS_CLI_PREDICT_DEVICE_FILES_H

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
    int64_t memory;                  /* bytes of the GPU */
    int64_t version;                 /* compute capability, 900 for 9.0 */
    char *source;                    /* where the numbers come from; owned, may be NULL */
};

/* Loads the profile of a name in a folder of profiles, or a file: what ends with ".json" or has a
 * slash. `folder` NULL: those installed with the program. False, with a line in `error`. */
bool cs_device_file_load(const char *device, const char *folder, struct cs_device_file *profile,
                         char error[CS_DEVICE_FILE_ERROR]);
void cs_device_file_fini(struct cs_device_file *profile);

/* Prints the profiles of a folder by name. False, with a line in `error`. */
bool cs_device_files_list(const char *folder, enum cs_format format,
                          char error[CS_DEVICE_FILE_ERROR]);

#endif
