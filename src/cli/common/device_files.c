/* Loads and checks device profiles: JSON files with the properties that cuDNN needs to plan for
 * a GPU. */
#include "cli/common/data_files.h"

#include "base/checked.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/read_file.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const struct cs_data_files devices = {"devices", "device", ".json"};

/* Returns a whole number from 1 to 2^53 of the profile; 0 if it has none. */
static int64_t number_of(const cJSON *root, const char *name)
{
    const double number = cs_json_double(root, name);
    return number >= 1 && number <= 0x1p53 ? (int64_t)number : 0;
}

/* Returns the bytes of a context with the kernels that PyTorch 2 loads into it: the profile's
 * figure, else an estimate. The estimate follows 12 public out-of-memory messages. In these "this
 * process has" less "allocated by PyTorch" and "reserved" is 0.13 GiB on a T4 (40 multiprocessors),
 * 0.11 on an RTX 4060 (24), 0.18 on an RTX 3070 (46), 0.25 on an RTX 3080 (68), 0.48 on an RTX 4090
 * (128), 0.59 on an RTX 5090 (170), and 0.40 to 0.50 on an A100 (108). The driver reserves local
 * memory for each thread that the GPU can run at once. docs/gpu-memory.md lists the messages. */
static int64_t context_of(const cJSON *root)
{
    const int64_t fixed = (int64_t)32 << 20, each_thread = 2400;
    const int64_t given = number_of(root, "contextBytes");
    int64_t threads, bytes;
    if (!cs_mul(number_of(root, "multiProcessorCount"), number_of(root, "maxThreadsPerSM"),
                &threads) ||
        !cs_mul(threads, each_thread, &bytes) || !cs_add(bytes, fixed, &bytes))
        bytes = fixed;
    return given > 0 ? given : bytes;
}

/* Reads the fields of the profile that convshim uses. Refuses values that cuDNN accepts, but with
 * which its plans are wrong, or it crashes (it copies the name into 256 bytes). Returns the error
 * as text, or NULL. */
static const char *read_profile(const cJSON *root, struct cs_device_file *profile)
{
    enum {
        LONGEST_NAME = 255,
        OLDEST = 500,
        NEWEST = 2000
    };
    const char *title = cs_json_text(root, "deviceName"), *source = cs_json_text(root, "source");
    profile->memory = number_of(root, "totalGlobalMem");
    profile->version = number_of(root, "deviceVer");
    profile->context = context_of(root);
    snprintf(profile->title, sizeof profile->title, "%s", title ? title : "");
    snprintf(profile->other, sizeof profile->other, "%s",
             cs_json_text(root, "otherSize") ? cs_json_text(root, "otherSize") : "");
    profile->source = source ? strdup(source) : NULL;
    if (!title || profile->memory == 0 || profile->version == 0)
        return "not a device profile: deviceName, deviceVer and totalGlobalMem are required";
    if (source && !profile->source)
        return "out of memory";
    if (strlen(title) > LONGEST_NAME)
        return "deviceName is longer than 255 characters";
    if (cs_json_at(root, "multiProcessorCount") && number_of(root, "multiProcessorCount") == 0)
        return "multiProcessorCount must be at least 1";
    if (profile->version < OLDEST || profile->version >= NEWEST || profile->version % 10 != 0)
        return "deviceVer must be a compute capability times 100, such as 900 for 9.0";
    return NULL;
}

/* Loads the profile in a file. False with a line in `error`. */
static bool load_file(const char *path, struct cs_device_file *profile,
                      char error[CS_DEVICE_FILE_ERROR])
{
    char reason[CS_FILE_ERROR];
    struct cs_device_file loaded = {.text = cs_read_file_text(path, reason)};
    if (!loaded.text) {
        snprintf(error, CS_DEVICE_FILE_ERROR, "%.150s: %s", path, reason);
        return false;
    }
    loaded.path = realpath(path, NULL);
    cs_data_file_name(&devices, path, loaded.name, sizeof loaded.name);
    const char *why = strerror(errno);
    if (loaded.path) {
        cJSON *root = cJSON_Parse(loaded.text);
        why = read_profile(root, &loaded);
        cJSON_Delete(root);
    }
    if (why) {
        snprintf(error, CS_DEVICE_FILE_ERROR, "%.150s: %s", path, why);
        cs_device_file_fini(&loaded);
        return false;
    }
    *profile = loaded;
    return true;
}

bool cs_device_file_load(const char *device, const char *folder, struct cs_device_file *profile,
                         char error[CS_DEVICE_FILE_ERROR])
{
    char path[2 * PATH_MAX], name[2 * CS_DEVICE_FILE_NAME];
    const char *refusal = cs_device_name_refusal(device);
    if (cs_data_file_is_path(&devices, device))
        return load_file(device, profile, error);
    cs_device_name(device, name, sizeof name);
    if (cs_data_files_find(&devices, folder, device, device, path, sizeof path, error) ||
        (!refusal && cs_data_files_find(&devices, folder, name, device, path, sizeof path, error)))
        return load_file(path, profile, error);
    if (strchr(device, ','))
        snprintf(error, CS_DEVICE_FILE_ERROR, "device '%.60s': one name only, without a comma",
                 device);
    else if (refusal)
        snprintf(error, CS_DEVICE_FILE_ERROR, "device '%.60s': %s", device, refusal);
    return false;
}

void cs_device_file_fini(struct cs_device_file *profile)
{
    free(profile->text);
    free(profile->path);
    free(profile->source);
}

static bool add_row(struct cs_table *table, const char *path, char error[CS_DEVICE_FILE_ERROR])
{
    struct cs_device_file profile;
    if (!load_file(path, &profile, error))
        return false;
    char capability[CS_DEVICE_FILE_NAME];
    snprintf(capability, sizeof capability, "%" PRId64 ".%" PRId64, profile.version / 100,
             profile.version / 10 % 10);
    const struct cs_value row[] = {{.text = profile.name},
                                   {.text = profile.title},
                                   {.text = capability},
                                   {.number = profile.memory},
                                   {.text = profile.source}};
    cs_table_add(table, row);
    cs_device_file_fini(&profile);
    return true;
}

int cs_device_files_list(const char *command, const char *folder, enum cs_format format)
{
    char error[CS_DEVICE_FILE_ERROR];
    static const struct cs_column columns[] = {{"name", "name", CS_CELL_TEXT},
                                               {"device", "device", CS_CELL_TEXT},
                                               {"capability", "capability", CS_CELL_TEXT},
                                               {"memory_bytes", "memory", CS_CELL_BYTES},
                                               {"source", "source", CS_CELL_TEXT}};
    if (cs_data_files_list(&devices, folder, columns, sizeof columns / sizeof *columns, add_row,
                           format, error))
        return CS_CLI_OK;
    cs_cli_complain("%s: %s", command, error);
    return CS_CLI_USAGE;
}
