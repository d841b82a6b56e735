#include "cli/common/data_files.h"

#include "cli/common/cli.h"
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

static bool has_suffix(const struct cs_shelf *shelf, const char *name)
{
    size_t length = strlen(name), suffix = strlen(shelf->suffix);
    return length > suffix && strcmp(name + length - suffix, shelf->suffix) == 0;
}

bool cs_shelf_is_path(const struct cs_shelf *shelf, const char *name)
{
    return strchr(name, '/') || has_suffix(shelf, name);
}

void cs_shelf_name(const struct cs_shelf *shelf, const char *path, char *name, size_t size)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    size_t cut = has_suffix(shelf, file) ? strlen(shelf->suffix) : 0;
    snprintf(name, size, "%.*s", (int)(strlen(file) - cut), file);
}

static bool find_folder(const struct cs_shelf *shelf, const char *given, char folder[PATH_MAX],
                        char error[CS_SHELF_ERROR])
{
    static const char *const beside[] = {"../share/convshim", "../conf", "../../conf"};
    char own[PATH_MAX];
    if (given)
        return snprintf(folder, PATH_MAX, "%s", given) < PATH_MAX;
    for (size_t i = 0; i < sizeof beside / sizeof *beside && cs_cli_folder(own, sizeof own); i++) {
        int length = snprintf(folder, PATH_MAX, "%s/%s/%s", own, beside[i], shelf->folder);
        if (length < PATH_MAX && access(folder, R_OK) == 0)
            return true;
    }
    snprintf(error, CS_SHELF_ERROR, "the folder of %ss is not where the program expects it%s%s%s",
             shelf->what, shelf->option ? "; " : "", shelf->option ? shelf->option : "",
             shelf->option ? " tells" : "");
    return false;
}

/* The entries of a folder by name, or -1 with a line in `error`. */
static int read_folder(const char *folder, struct dirent ***entry_p, char error[CS_SHELF_ERROR])
{
    int found = scandir(folder, entry_p, NULL, alphasort);
    if (found < 0)
        snprintf(error, CS_SHELF_ERROR, "%.150s: %s", folder, strerror(errno));
    return found;
}

static void free_entries(struct dirent **entry, int found)
{
    for (int i = 0; i < found; i++)
        free(entry[i]);
    free(entry);
}

static bool on_shelf(const struct cs_shelf *shelf, const char *file)
{
    return file[0] != '.' && has_suffix(shelf, file);
}

static bool fill(const struct cs_shelf *shelf, const char *given, cs_shelf_add_fn *add,
                 struct cs_table *table, char error[CS_SHELF_ERROR])
{
    char folder[PATH_MAX], path[2 * PATH_MAX];
    struct dirent **entry;
    if (!find_folder(shelf, given, folder, error))
        return false;
    int found = read_folder(folder, &entry, error);
    if (found < 0)
        return false;
    bool good = true;
    for (int i = 0; i < found && good; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        good = !on_shelf(shelf, entry[i]->d_name) || add(table, path, error);
    }
    free_entries(entry, found);
    return good;
}

bool cs_shelf_list(const struct cs_shelf *shelf, const char *folder, const struct cs_column *column,
                   int columns, cs_shelf_add_fn *add, enum cs_format format,
                   char error[CS_SHELF_ERROR])
{
    struct cs_table table;
    cs_table_init(&table, column, columns);
    bool good = fill(shelf, folder, add, &table, error);
    if (good && !cs_table_print(&table, format, stdout)) {
        snprintf(error, CS_SHELF_ERROR, "out of memory");
        good = false;
    }
    cs_table_fini(&table);
    return good;
}

/* "unknown device 'h20'; did you mean 'h200'?; --device list shows all" */
static void refuse_name(const struct cs_shelf *shelf, const char *folder, const char *name,
                        char error[CS_SHELF_ERROR])
{
    struct dirent **entry;
    const char *names[MOST_NAMED + 1] = {NULL};
    int found = read_folder(folder, &entry, error), named = 0;
    if (found < 0)
        return;
    for (int i = 0; i < found && named < MOST_NAMED; i++)
        if (on_shelf(shelf, entry[i]->d_name)) {
            entry[i]->d_name[strlen(entry[i]->d_name) - strlen(shelf->suffix)] = '\0';
            names[named++] = entry[i]->d_name;
        }
    const char *nearest = cs_cli_nearest(name, names);
    snprintf(error, CS_SHELF_ERROR, "unknown %s '%.60s'%s%s%s; --%s list shows all", shelf->what,
             name, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "",
             shelf->what);
    free_entries(entry, found);
}

bool cs_shelf_find(const struct cs_shelf *shelf, const char *given, const char *name, char *path,
                   size_t size, char error[CS_SHELF_ERROR])
{
    char folder[PATH_MAX];
    if (!find_folder(shelf, given, folder, error))
        return false;
    int length = snprintf(path, size, "%s/%s%s", folder, name, shelf->suffix);
    if (length > 0 && (size_t)length < size && access(path, F_OK) == 0)
        return true;
    refuse_name(shelf, folder, name, error);
    return false;
}
