/* Finds and lists the files that are installed with the command (device profiles, presets), by
 * name or path. */
#include "cli/common/data_files.h"
#include "base/path.h"
#include "cli/common/cli.h"
#include "cli/common/read_file.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_NAMED = 256 /* files that may be the nearest name */
};

static bool has_suffix(const struct cs_data_files *files, const char *name)
{
    size_t length = strlen(name), suffix = strlen(files->suffix);
    return length > suffix && strcmp(name + length - suffix, files->suffix) == 0;
}

bool cs_data_file_is_path(const struct cs_data_files *files, const char *name)
{
    return strchr(name, '/') || has_suffix(files, name);
}

void cs_data_file_name(const struct cs_data_files *files, const char *path, char *name, size_t size)
{
    const char *file = cs_path_file(path);
    size_t cut = has_suffix(files, file) ? strlen(files->suffix) : 0;
    snprintf(name, size, "%.*s", (int)(strlen(file) - cut), file);
}

/* Finds the folder of data files: the given one, or that of the installation or source tree. False
 * with a line in `error`. */
static bool find_folder(const struct cs_data_files *files, const char *given, char folder[PATH_MAX],
                        char error[CS_DATA_FILE_ERROR])
{
    static const char *const beside[] = {"../share/convshim", "../conf", "../../conf"};
    char own[PATH_MAX];
    if (given) {
        snprintf(folder, PATH_MAX, "%s", given);
        return true;
    }
    for (size_t i = 0; i < sizeof beside / sizeof *beside && cs_cli_folder(own, sizeof own); i++) {
        int length = snprintf(folder, PATH_MAX, "%s/%s/%s", own, beside[i], files->folder);
        if (length < PATH_MAX && access(folder, R_OK) == 0)
            return true;
    }
    snprintf(error, CS_DATA_FILE_ERROR,
             "the folder of %ss was not found. Install convshim again, or give a path: --%s FILE",
             files->what, files->what);
    return false;
}

/* Reads the names of all data files in a folder, sorted and without their suffix. Returns their
 * number, or -1 with a line in `error`. */
static int read_names(const struct cs_data_files *files, const char *folder,
                      struct dirent ***entry_p, char error[CS_DATA_FILE_ERROR])
{
    const int found = scandir(folder, entry_p, NULL, alphasort);
    int names = 0;
    if (found < 0) {
        snprintf(error, CS_DATA_FILE_ERROR, "%.150s: %s", folder, strerror(errno));
        return -1;
    }
    for (int i = 0; i < found; i++) {
        struct dirent *entry = (*entry_p)[i];
        if (entry->d_name[0] == '.' || !has_suffix(files, entry->d_name)) {
            free(entry);
            continue;
        }
        entry->d_name[strlen(entry->d_name) - strlen(files->suffix)] = '\0';
        (*entry_p)[names++] = entry;
    }
    return names;
}

static void free_names(struct dirent **entry, int names)
{
    for (int i = 0; i < names; i++)
        free(entry[i]);
    free(entry);
}

/* Adds a row for each file of the folder. False with a line in `error`. */
static bool fill_table(const struct cs_data_files *files, const char *given,
                       cs_data_file_add_fn *add, struct cs_table *table,
                       char error[CS_DATA_FILE_ERROR])
{
    char folder[PATH_MAX], path[2 * PATH_MAX];
    struct dirent **entry = NULL;
    if (!find_folder(files, given, folder, error))
        return false;
    const int names = read_names(files, folder, &entry, error);
    bool good = names >= 0;
    for (int i = 0; i < names && good; i++) {
        snprintf(path, sizeof path, "%s/%s%s", folder, entry[i]->d_name, files->suffix);
        good = add(table, path, error);
    }
    free_names(entry, names);
    return good;
}

bool cs_data_files_list(const struct cs_data_files *files, const char *folder,
                        const struct cs_column *column, int columns, cs_data_file_add_fn *add,
                        enum cs_format format, char error[CS_DATA_FILE_ERROR])
{
    struct cs_table table;
    cs_table_init(&table, column, columns);
    bool good = fill_table(files, folder, add, &table, error);
    if (good && !cs_table_print(&table, format, stdout)) {
        snprintf(error, CS_DATA_FILE_ERROR, "out of memory");
        good = false;
    }
    cs_table_fini(&table);
    return good;
}

/* Writes the error for an unknown name: "unknown device 'h20'; did you mean 'h200'?; to list all:
 * --device list". */
static void refuse_name(const struct cs_data_files *files, const char *folder, const char *name,
                        const char *written, char error[CS_DATA_FILE_ERROR])
{
    struct dirent **entry = NULL;
    const char *near[MOST_NAMED + 1] = {NULL};
    const int names = read_names(files, folder, &entry, error);
    if (names < 0)
        return;
    for (int i = 0; i < names && i < MOST_NAMED; i++)
        near[i] = entry[i]->d_name;
    const char *nearest = cs_cli_nearest(name, near);
    snprintf(error, CS_DATA_FILE_ERROR, "unknown %s '%.60s'%s%s%s; to list all: --%s list",
             files->what, written, nearest ? "; did you mean '" : "", nearest ? nearest : "",
             nearest ? "'?" : "", files->what);
    free_names(entry, names);
}

bool cs_data_files_find(const struct cs_data_files *files, const char *given, const char *name,
                        const char *written, char *path, size_t size,
                        char error[CS_DATA_FILE_ERROR])
{
    char folder[PATH_MAX];
    if (!find_folder(files, given, folder, error))
        return false;
    int length = snprintf(path, size, "%s/%s%s", folder, name, files->suffix);
    if (length > 0 && (size_t)length < size && access(path, F_OK) == 0)
        return true;
    refuse_name(files, folder, name, written, error);
    return false;
}

/* --- presets --- */

static const struct cs_data_files presets = {"presets", "preset", ".ini"};

bool cs_preset_find(const char *name, char *path, size_t size, char error[CS_DATA_FILE_ERROR])
{
    char found[2 * PATH_MAX], real[PATH_MAX];
    bool is_path = cs_data_file_is_path(&presets, name);
    if (!is_path && !cs_data_files_find(&presets, NULL, name, name, found, sizeof found, error))
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

bool cs_preset_list(void)
{
    static const struct cs_column columns[] = {{"name", "preset", CS_CELL_TEXT},
                                               {"about", "what for", CS_CELL_TEXT}};
    char error[CS_DATA_FILE_ERROR];
    if (cs_data_files_list(&presets, NULL, columns, sizeof columns / sizeof *columns, add_row,
                           CS_FORMAT_TEXT, error))
        return true;
    cs_cli_complain("%s", error);
    return false;
}
