/* The simulated GPUs: their profiles, and the functions that query them (CUDA Runtime API, Device
 * Management). */
#include "cudart_device.h"
#include "cudart_context.h"
#include "cudart_record.h"
#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SIMDEV_RUNTIME_VERSION
#define SIMDEV_RUNTIME_VERSION CUDART_VERSION
#endif

static const char builtin_profile[] =
    "{\"source\":\"NVIDIA H200 data sheet (2024), SXM; Hopper architecture whitepaper; not read "
    "back from a GPU; usable memory: PyTorch's total in out-of-memory messages, 139.72 to 139.81, "
    "nvidia-smi 143771 MiB\",\"memoryBusWidth\":6144,\"cudaDeviceId\":0,\"deviceVer\":900,"
    "\"driverVer\":13000,"
    "\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
    "\"regsPerBlock\":65536,\"multiProcessorCount\":132,\"smClockRateKHz\":1980000,"
    "\"memClockRateKHz\":3201000,\"l2CacheSize\":62914560,\"warpSize\":32,"
    "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":232448,"
    "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"pciDeviceId\":0,"
    "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,"
    "\"totalGlobalMem\":150023176192,\"isTccDriver\":0,\"supportCoopLaunch\":1,"
    "\"deviceName\":\"NVIDIA H200\"}";

/* Every key that cuDNN requires, checked here so that a bad profile fails once and by name. */
static const char *const integer_keys[] = {
    "cudaDeviceId",
    "deviceVer",
    "driverVer",
    "regsPerBlock",
    "multiProcessorCount",
    "smClockRateKHz",
    "memClockRateKHz",
    "l2CacheSize",
    "warpSize",
    "maxSharedMemoryPerBlock",
    "maxSharedMemoryPerBlockOptin",
    "reservedSharedMemoryPerBlock",
    "maxRegistersPerSM",
    "pciDeviceId",
    "maxCtasPerSM",
    "maxThreadsPerBlock",
    "maxThreadsPerSM",
    "totalGlobalMem",
    "isTccDriver",
    "supportCoopLaunch",
};

struct model {
    const char *path; /* NULL: built-in */
    const char *text; /* NULL until everything was found good */
    char *read;       /* content of the file; NULL: no file */
    cJSON *profile;   /* NULL: as the first device */
    size_t capacity;
    struct simdev_limits limits;
};

static struct {
    struct model model[SIMDEV_MAX_DEVICES];
    size_t context;
    int count; /* of devices */
} device;

/* Values from before the settings were read again. Other threads may still use them. */
static struct {
    cJSON *profile;
    char *read;
} earlier[SIMDEV_MAX_DEVICES];

static const struct model *model_of(int ordinal)
{
    return &device.model[device.model[ordinal].profile ? ordinal : 0];
}

/* The model of the device of the calling thread, or of the work that it runs. */
static const struct model *current_model(void)
{
    return model_of(simdev_owner_current().device);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    char *text = NULL;
    size_t bytes = 0;
    if (getdelim(&text, &bytes, '\0', file) < 0) {
        free(text);
        text = NULL;
        errno = EIO;
    }
    fclose(file);
    return text;
}

static bool is_triple(const cJSON *item)
{
    if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != 3)
        return false;
    const cJSON *number;
    cJSON_ArrayForEach(number, item) if (!cJSON_IsNumber(number)) return false;
    return true;
}

/* The first key that is missing or of the wrong type, or NULL. */
static const char *bad_key(const cJSON *profile)
{
    for (size_t i = 0; i < sizeof(integer_keys) / sizeof(*integer_keys); i++) {
        if (!cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(profile, integer_keys[i])))
            return integer_keys[i];
    }
    if (!is_triple(cJSON_GetObjectItemCaseSensitive(profile, "maxGridSize")))
        return "maxGridSize";
    if (!is_triple(cJSON_GetObjectItemCaseSensitive(profile, "maxBlockSize")))
        return "maxBlockSize";
    if (!cJSON_IsString(cJSON_GetObjectItemCaseSensitive(profile, "deviceName")))
        return "deviceName";
    return NULL;
}

static bool parse_bytes(const char *text, size_t *bytes)
{
    static const char units[] = "KMGT";
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0)
        return false;
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    unsigned shift = 0;
    if (unit) {
        shift = 10 * (unsigned)(unit - units + 1);
        end += end[1] == 'i' ? 2 : 1;
    }
    if (toupper((unsigned char)*end) == 'B')
        end++;
    if (*end != '\0' || value == 0 || value > (SIZE_MAX >> shift))
        return false;
    *bytes = (size_t)value << shift;
    return true;
}

static double read_number(const struct model *model, const char *key)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(model->profile, key));
}

static int read_integer(const struct model *model, const char *key)
{
    return (int)read_number(model, key);
}

/* A key that cuDNN does not require. 0 if the profile lacks it. */
static int read_optional(const struct model *model, const char *key)
{
    return cJSON_HasObjectItem(model->profile, key) ? read_integer(model, key) : 0;
}

static int read_element(const struct model *model, const char *key, int index)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(model->profile, key);
    return (int)cJSON_GetNumberValue(cJSON_GetArrayItem(array, index));
}

static int shared_per_multiprocessor(const struct model *model)
{
    return read_integer(model, "maxSharedMemoryPerBlockOptin") +
           read_integer(model, "reservedSharedMemoryPerBlock");
}

static void read_limits(struct model *model)
{
    struct simdev_limits *limits = &model->limits;
    *limits = (struct simdev_limits){
        .warp = read_integer(model, "warpSize"),
        .threads_per_block = read_integer(model, "maxThreadsPerBlock"),
        .threads_per_multiprocessor = read_integer(model, "maxThreadsPerSM"),
        .blocks_per_multiprocessor = read_integer(model, "maxCtasPerSM"),
        .registers_per_block = read_integer(model, "regsPerBlock"),
        .registers_per_multiprocessor = read_integer(model, "maxRegistersPerSM"),
        .shared_per_block = read_integer(model, "maxSharedMemoryPerBlock"),
        .shared_per_block_optin = read_integer(model, "maxSharedMemoryPerBlockOptin"),
        .shared_reserved = read_integer(model, "reservedSharedMemoryPerBlock"),
        .shared_per_multiprocessor = shared_per_multiprocessor(model),
        .multiprocessors = read_integer(model, "multiProcessorCount"),
    };
    for (int i = 0; i < 3; i++) {
        limits->grid[i] = read_element(model, "maxGridSize", i);
        limits->block[i] = read_element(model, "maxBlockSize", i);
    }
}

const struct simdev_limits *simdev_device_limits(void)
{
    const struct model *model = current_model();
    return model->text ? &model->limits : NULL;
}

int simdev_device_arch(void)
{
    const struct model *model = current_model();
    return model->text ? read_integer(model, "deviceVer") / 10 : 0;
}

/* One multiply-add per clock for each of 128 lanes of a multiprocessor, doubled for tensor cores.
 * Memory transfers twice per clock. The bus is PCI Express 4.0 with 16 lanes. */
struct simdev_rates simdev_device_rates(void)
{
    const struct model *model = current_model();
    const double width =
        read_optional(model, "memoryBusWidth") > 0 ? read_optional(model, "memoryBusWidth") : 384;
    return (struct simdev_rates){
        .memory = 2 * (double)read_integer(model, "memClockRateKHz") * 1e3 * width / 8 / 1e9,
        .bus = 25,
        .arithmetic = 2.0 * 2 * 128 * read_integer(model, "multiProcessorCount") *
                      (double)read_integer(model, "smClockRateKHz") * 1e3 / 1e9,
    };
}

/* SIMDEV_PROFILE is for all devices, SIMDEV_PROFILE_1 for device 1 only. */
static bool load_profile(int ordinal)
{
    struct model *model = &device.model[ordinal];
    char variable[32] = "SIMDEV_PROFILE";
    if (ordinal > 0)
        snprintf(variable, sizeof(variable), "SIMDEV_PROFILE_%d", ordinal);
    const char *path = getenv(variable);
    *model = (struct model){.path = path && *path ? path : NULL};
    if (ordinal > 0 && !model->path)
        return true;
    model->read = model->path ? read_file(model->path) : NULL;
    const char *text = model->path ? model->read : builtin_profile;
    if (!text) {
        simdev_violation("%s %s: %s", variable, model->path, strerror(errno));
        return false;
    }
    model->profile = cJSON_Parse(text);
    const bool is_object = cJSON_IsObject(model->profile);
    const char *key = is_object ? bad_key(model->profile) : NULL;
    if (!is_object)
        simdev_violation("%s %s: not a JSON object", variable, simdev_device_profile());
    if (key)
        simdev_violation("%s %s: key %s is missing or of the wrong type", variable,
                         model->path ? model->path : "built-in", key);
    if (!is_object || key)
        return false;
    model->text = text;
    model->capacity = (size_t)read_number(model, "totalGlobalMem");
    read_limits(model);
    return true;
}

static bool load_profiles(void)
{
    bool good = true;
    for (int i = 0; i < SIMDEV_MAX_DEVICES; i++) {
        cJSON_Delete(earlier[i].profile);
        free(earlier[i].read);
        earlier[i].profile = device.model[i].profile;
        earlier[i].read = device.model[i].read;
        device.model[i] = (struct model){.path = NULL};
    }
    for (int i = 0; good && i < device.count; i++)
        good = load_profile(i);
    return good;
}

static bool parse_count(const char *text)
{
    char *end;
    device.count = 1;
    if (!text || !*text)
        return true;
    const long count = strtol(text, &end, 10);
    if (end == text || *end != '\0' || count < 1 || count > SIMDEV_MAX_DEVICES) {
        simdev_violation("SIMDEV_DEVICES %s: not a number from 1 to %d", text, SIMDEV_MAX_DEVICES);
        return false;
    }
    device.count = (int)count;
    return true;
}

static bool read_settings(void)
{
    size_t bytes = 0;
    const char *capacity = getenv("SIMDEV_CAPACITY");
    if (capacity && *capacity && !parse_bytes(capacity, &bytes)) {
        simdev_violation("SIMDEV_CAPACITY %s: not a size like 8GiB, 512M or a number of bytes",
                         capacity);
        return false;
    }
    for (int i = 0; bytes > 0 && i < device.count; i++)
        device.model[i].capacity = bytes;
    const char *context = getenv("SIMDEV_CONTEXT");
    device.context = 0;
    if (context && *context && !parse_bytes(context, &device.context)) {
        simdev_violation("SIMDEV_CONTEXT %s: not a size like 300M or a number of bytes", context);
        return false;
    }
    return true;
}

bool simdev_device_init(void)
{
    const bool good = parse_count(getenv("SIMDEV_DEVICES")) && load_profiles() && read_settings();
    for (int i = 0; !good && i < SIMDEV_MAX_DEVICES; i++)
        device.model[i].text = NULL;
    return good;
}

size_t simdev_device_capacity(int number)
{
    return model_of(number)->capacity;
}

size_t simdev_device_context(void)
{
    return device.context;
}

int simdev_device_count(void)
{
    return device.count;
}

cudaError_t simdev_check_device(int number)
{
    return number >= 0 && number < device.count ? cudaSuccess : cudaErrorInvalidDevice;
}

const char *simdev_device_name(int number)
{
    const struct model *model = model_of(number);
    return model->text ? cJSON_GetObjectItemCaseSensitive(model->profile, "deviceName")->valuestring
                       : "none";
}

const char *simdev_device_profile(void)
{
    return device.model[0].path ? device.model[0].path : "built-in";
}

const char *simdev_profile_text(int number)
{
    (void)simdev_usable();
    return simdev_check_device(number) == cudaSuccess ? model_of(number)->text : NULL;
}

/* The device of that number must exist. */
static cudaError_t check_ordinal(int ordinal)
{
    if (ordinal >= 0 && ordinal < device.count)
        return cudaSuccess;
    simdev_record_missing_device(ordinal);
    return cudaErrorInvalidDevice;
}

/* Values that the profile lacks and that all CUDA GPUs share are set. The rest is 0. */
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int ordinal)
{
    static const char uuid[] = "simulateddevice";
    cudaError_t error = simdev_begin(__func__);
    if (error == cudaSuccess && !prop)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = check_ordinal(ordinal);
    if (error != cudaSuccess)
        return simdev_leave(error);
    const struct model *model = model_of(ordinal);
    memset(prop, 0, sizeof(*prop));
    snprintf(prop->name, sizeof(prop->name), "%s", simdev_device_name(ordinal));
    prop->totalGlobalMem = model->capacity;
    for (int i = 0; i < 3; i++) {
        prop->maxGridSize[i] = read_element(model, "maxGridSize", i);
        prop->maxThreadsDim[i] = read_element(model, "maxBlockSize", i);
    }
    memcpy(prop->uuid.bytes, uuid, sizeof(prop->uuid.bytes));
    prop->uuid.bytes[15] = (char)ordinal;
#define PROPERTY(attribute, member, value) prop->member = (__typeof__(prop->member))(value);
#define ATTRIBUTE(attribute, value)
#include "device_properties.def"
#undef PROPERTY
#undef ATTRIBUTE
    return cudaSuccess;
}

enum {
    LAST_ATTRIBUTE = 160 /* highest attribute of CUDA 13.3 */
};

/* Returns the value of an attribute, 0 if it is not simulated, -1 if there is no such attribute. */
static int attribute_value(int ordinal, enum cudaDeviceAttr attribute)
{
    const struct model *model = model_of(ordinal);
    /* NOLINTBEGIN(bugprone-branch-clone): neighbours may have the same value */
    switch ((int)attribute) {
#define PROPERTY(attribute, member, value) ATTRIBUTE(attribute, value)
#define ATTRIBUTE(attribute, value)                                                                \
    case attribute:                                                                                \
        return value;
#include "device_properties.def"
#undef PROPERTY
#undef ATTRIBUTE
    default:
        return (int)attribute >= 1 && (int)attribute <= LAST_ATTRIBUTE ? 0 : -1;
    }
    /* NOLINTEND(bugprone-branch-clone) */
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int ordinal)
{
    cudaError_t error = simdev_begin(__func__);
    if (error == cudaSuccess && !value)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = check_ordinal(ordinal);
    const int found = error == cudaSuccess ? attribute_value(ordinal, attribute) : -1;
    if (error == cudaSuccess && found < 0)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *value = found;
    return simdev_leave(error);
}

/* Programs query this while they import packages, so it is not yet a use of the device. */
cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t error = simdev_begin_there(__func__);
    if (error == cudaSuccess && !count)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *count = device.count;
    return simdev_leave(error);
}

cudaError_t cudaGetDevice(int *ordinal)
{
    cudaError_t error = simdev_begin(__func__);
    if (error == cudaSuccess && !ordinal)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *ordinal = simdev_context_device();
    return simdev_leave(error);
}

cudaError_t cudaSetDevice(int ordinal)
{
    cudaError_t error = simdev_begin(__func__);
    if (error == cudaSuccess)
        error = check_ordinal(ordinal);
    if (error == cudaSuccess)
        error = simdev_context_set_device(ordinal);
    return simdev_leave(error);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    if (!version)
        return simdev_leave(cudaErrorInvalidValue);
    *version = SIMDEV_RUNTIME_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    cudaError_t error = version ? simdev_there() : cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *version = read_integer(model_of(0), "driverVer");
    return simdev_leave(error);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *result)
{
    (void)flags; /* selects the default stream, which programs select by the calls themselves */
    cudaError_t error = symbol && function ? simdev_there() : cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        *function = simdev_driver_entry(symbol, version);
        if (result)
            *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    }
    return simdev_leave(error);
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *result)
{
    return cudaGetDriverEntryPointByVersion(symbol, function, SIMDEV_RUNTIME_VERSION, flags,
                                            result);
}
