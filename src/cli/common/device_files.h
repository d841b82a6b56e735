/* Device profiles: the properties of a GPU that cuDNN needs to plan for it, as JSON files
 * (conf/devices, with their sources), and names of GPUs as people and nvidia-smi write them. */
#ifndef CS_CLI_COMMON_DEVICE_FILES_H
#define CS_CLI_COMMON_DEVICE_FILES_H

#include "cli/common/data_files.h"
#include <stdbool.h>
#include <stddef.h>

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
