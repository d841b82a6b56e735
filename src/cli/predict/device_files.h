/* Device profiles: what cuDNN has to know of a card to plan for it, as JSON files (conf/devices,
 * with their sources). */
#ifndef CS_CLI_PREDICT_DEVICE_FILES_H
#define CS_CLI_PREDICT_DEVICE_FILES_H

#include "cli/common/data_files.h"

enum {
    CS_CARD_NAME = 64,
    CS_CARD_ERROR = CS_SHELF_ERROR
};

struct cs_card {
    char name[CS_CARD_NAME];  /* "h200"; of a file: its name without ".json" */
    char title[CS_CARD_NAME]; /* "NVIDIA H200" */
    char *text;               /* the JSON; owned */
    int64_t memory;           /* bytes of the card */
    int64_t version;          /* compute capability, 900 for 9.0 */
    char *source;             /* where the numbers come from; owned, may be NULL */
};

/* Loads the profile of a name in a folder of profiles, or a file: what ends with ".json" or has a
 * slash. `folder` NULL: those installed with the program. False, with a line in `error`. */
bool cs_card_load(const char *device, const char *folder, struct cs_card *profile,
                  char error[CS_CARD_ERROR]);
void cs_card_fini(struct cs_card *profile);

/* Prints the profiles of a folder by name. False, with a line in `error`. */
bool cs_card_list(const char *folder, enum cs_format format, char error[CS_CARD_ERROR]);

#endif
