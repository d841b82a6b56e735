#include "cli/card.h"

#include "cli/cli.h"
#include "cli/file.h"
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".json"

enum {
    MOST_PROFILES = 256
};

/* Beside an installed program, or in the source tree that it was built in. */
static bool find_folder(char folder[PATH_MAX])
{
    static const char *const beside[] = {"/../share/convshim/devices", "/../conf/devices",
                                         "/../../conf/devices"};
    char own[PATH_MAX];
    if (!cs_cli_folder(own, sizeof own))
        return false;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        int length = snprintf(folder, PATH_MAX, "%s%s", own, beside[i]);
        if (length < PATH_MAX && access(folder, R_OK) == 0)
            return true;
    }
    return false;
}

static bool folder_of(const char *given, char folder[PATH_MAX], char error[CS_CARD_ERROR])
{
    if (given)
        return snprintf(folder, PATH_MAX, "%s", given) < PATH_MAX;
    if (find_folder(folder))
        return true;
    snprintf(error, CS_CARD_ERROR,
             "the folder of device profiles is not where the program expects it; --devices tells");
    return false;
}

static bool has_suffix(const char *name)
{
    size_t length = strlen(name), suffix = strlen(SUFFIX);
    return length > suffix && strcmp(name + length - suffix, SUFFIX) == 0;
}

static int is_profile(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && has_suffix(entry->d_name);
}

static void copy_text(char *to, size_t size, const char *text, size_t length)
{
    snprintf(to, size, "%.*s", (int)length, text);
}

static void set_name(struct cs_card *profile, const char *path)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    size_t length = strlen(file);
    copy_text(profile->name, sizeof profile->name, file,
              has_suffix(file) ? length - strlen(SUFFIX) : length);
}

static int64_t number_of(const cJSON *root, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);
    double number = cJSON_IsNumber(item) ? item->valuedouble : 0;
    return number >= 1 && number <= 0x1p53 ? (int64_t)number : 0;
}

/* What we read ourselves; the rest is cuDNN's to judge. */
static bool read_profile(struct cs_card *profile)
{
    cJSON *root = cJSON_Parse(profile->text);
    const char *title = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "deviceName"));
    const char *source = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "source"));
    profile->memory = number_of(root, "totalGlobalMem");
    profile->version = number_of(root, "deviceVer");
    snprintf(profile->title, sizeof profile->title, "%s", title ? title : "");
    profile->source = source ? strdup(source) : NULL;
    cJSON_Delete(root);
    return title && profile->memory > 0 && profile->version > 0;
}

static bool load_file(const char *path, struct cs_card *profile, char error[CS_CARD_ERROR])
{
    char reason[CS_FILE_ERROR];
    struct cs_card loaded = {.text = cs_file_text(path, reason)};
    if (!loaded.text) {
        snprintf(error, CS_CARD_ERROR, "%.150s: %s", path, reason);
        return false;
    }
    set_name(&loaded, path);
    if (!read_profile(&loaded)) {
        snprintf(error, CS_CARD_ERROR,
                 "%.150s: no device profile: deviceName, deviceVer and totalGlobalMem are needed",
                 path);
        cs_card_fini(&loaded);
        return false;
    }
    *profile = loaded;
    return true;
}

static void refuse_name(const char *device, const char *folder, char error[CS_CARD_ERROR])
{
    struct dirent **entry;
    const char *names[MOST_PROFILES + 1] = {NULL};
    int found = scandir(folder, &entry, is_profile, alphasort);
    for (int i = 0; i < found && i < MOST_PROFILES; i++) {
        entry[i]->d_name[strlen(entry[i]->d_name) - strlen(SUFFIX)] = '\0';
        names[i] = entry[i]->d_name;
    }
    const char *nearest = cs_cli_nearest(device, names);
    snprintf(error, CS_CARD_ERROR, "unknown device '%.60s'%s%s%s; --device list shows all", device,
             nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    for (int i = 0; i < found; i++)
        free(entry[i]);
    if (found >= 0)
        free(entry);
}

bool cs_card_load(const char *device, const char *given, struct cs_card *profile,
                  char error[CS_CARD_ERROR])
{
    char folder[PATH_MAX], path[2 * PATH_MAX];
    if (has_suffix(device) || strchr(device, '/'))
        return load_file(device, profile, error);
    if (!folder_of(given, folder, error))
        return false;
    snprintf(path, sizeof path, "%s/%s" SUFFIX, folder, device);
    if (access(path, F_OK) == 0)
        return load_file(path, profile, error);
    refuse_name(device, folder, error);
    return false;
}

void cs_card_fini(struct cs_card *profile)
{
    free(profile->text);
    free(profile->source);
}

static bool add_row(struct cs_table *table, const char *folder, const char *file,
                    char error[CS_CARD_ERROR])
{
    char path[2 * PATH_MAX];
    struct cs_card profile;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    if (!load_file(path, &profile, error))
        return false;
    char capability[CS_CARD_NAME];
    snprintf(capability, sizeof capability, "%" PRId64 ".%" PRId64, profile.version / 100,
             profile.version / 10 % 10);
    const struct cs_value row[] = {{.text = profile.name},
                                   {.text = profile.title},
                                   {.text = capability},
                                   {.number = profile.memory},
                                   {.text = profile.source}};
    cs_table_add(table, row);
    cs_card_fini(&profile);
    return true;
}

bool cs_card_list(const char *given, enum cs_format format, char error[CS_CARD_ERROR])
{
    static const struct cs_column columns[] = {{"name", "name", CS_CELL_TEXT},
                                               {"device", "device", CS_CELL_TEXT},
                                               {"capability", "capability", CS_CELL_TEXT},
                                               {"memory_bytes", "memory", CS_CELL_BYTES},
                                               {"source", "source", CS_CELL_TEXT}};
    char folder[PATH_MAX];
    struct dirent **entry;
    struct cs_table table;
    if (!folder_of(given, folder, error))
        return false;
    int found = scandir(folder, &entry, is_profile, alphasort);
    if (found < 0) {
        snprintf(error, CS_CARD_ERROR, "%.150s: %s", folder, strerror(errno));
        return false;
    }
    snprintf(error, CS_CARD_ERROR, "out of memory");
    cs_table_init(&table, columns, sizeof columns / sizeof *columns);
    bool good = true;
    for (int i = 0; i < found; i++) {
        good = good && add_row(&table, folder, entry[i]->d_name, error);
        free(entry[i]);
    }
    free(entry);
    if (good)
        good = cs_table_print(&table, format, stdout);
    cs_table_fini(&table);
    return good;
}
