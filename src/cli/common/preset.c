/* Lists presets and hands one to the library as its configuration file. */
#include "cli/common/preset.h"

#include "cli/common/read_file.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cs_data_files presets = {"presets", "preset", ".ini", NULL};

bool cs_preset_find(const char *name, char *path, size_t size, char error[CS_DATA_FILE_ERROR])
{
    char found[2 * PATH_MAX], real[PATH_MAX];
    bool is_path = cs_data_file_is_path(&presets, name);
    if (!is_path && !cs_data_files_find(&presets, NULL, name, found, sizeof found, error))
        return false;
    if (realpath(is_path ? name : found, real) && (size_t)snprintf(path, size, "%s", real) < size)
        return true;
    snprintf(error, CS_DATA_FILE_ERROR, "%.150s: %s", name, strerror(errno));
    return false;
}

static bool add_row(struct cs_table *table, const char *path, char error[CS_DATA_FILE_ERROR])
{
    char name[NAME_MAX], reason[CS_FILE_ERROR];
    char *text = cs_read_file_text(path, reason);
    if (!text) {
        snprintf(error, CS_DATA_FILE_ERROR, "%.150s: %s", path, reason);
        return false;
    }
    cs_data_file_name(&presets, path, name, sizeof name);
    text[strcspn(text, "\n")] = '\0';
    cs_table_add(table, (struct cs_value[]){{.text = name}, {.text = text + strspn(text, "# ")}});
    free(text);
    return true;
}

bool cs_preset_list(char error[CS_DATA_FILE_ERROR])
{
    static const struct cs_column columns[] = {{"name", "preset", CS_CELL_TEXT},
                                               {"about", "what for", CS_CELL_TEXT}};
    return cs_data_files_list(&presets, NULL, columns, sizeof columns / sizeof *columns, add_row,
                              CS_FORMAT_TEXT, error);
}
