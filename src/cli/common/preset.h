/* Presets: ini files for common needs (conf/presets). The first line of each describes its purpose.
 */
#ifndef CS_CLI_COMMON_PRESET_H
#define CS_CLI_COMMON_PRESET_H

#include "cli/common/data_files.h"

/* The absolute path of a preset, or of an ini file that is named by its path. False, with a line in
 * `error`. */
bool cs_preset_find(const char *name, char *path, size_t size, char error[CS_DATA_FILE_ERROR]);

/* Prints all presets with their purpose. On failure returns false, with a line in `error`. */
bool cs_preset_list(char error[CS_DATA_FILE_ERROR]);

#endif
