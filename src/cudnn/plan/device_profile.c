/* Reads the device properties that the cost model uses, from the driver or from a device
 * profile's JSON. */
#include "cudnn/plan/device_profile.h"

#include "base/log.h"
#include "cudnn/bind/driver.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEPT = 64 /* devices; properties of further ones are read every time */
};

enum state {
    UNKNOWN,
    FILLING,
    KNOWN
};

static struct {
    _Atomic(enum state) state;
    struct cs_profile profile; /* constant after it is known */
} kept[KEPT];

size_t cs_device_profile_json(cudnnBackendDescriptor_t device, char text[CS_DEVICE_JSON])
{
    int64_t length = 0;
    if (CS_REAL(cudnnBackendGetAttribute, device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                CUDNN_TYPE_CHAR, CS_DEVICE_JSON, &length, text) != CUDNN_STATUS_SUCCESS)
        length = 0;
    if (length > CS_DEVICE_JSON - 1)
        length = CS_DEVICE_JSON - 1;
    text[length > 0 ? length : 0] = '\0';
    return strlen(text);
}

/* Finds the text after "key": in an object whose members have different names, or NULL. A full JSON
 * parser would be one more library in the process. */
static const char *value_of(const char *json, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = strchr(json, '"'); at; at = strchr(at + 1, '"')) {
        if (strncmp(at + 1, key, length) != 0 || at[1 + length] != '"')
            continue;
        const char *value = at + length + 2;
        value += strspn(value, " \t\r\n");
        if (*value == ':')
            return value + 1 + strspn(value + 1, " \t\r\n");
    }
    return NULL;
}

static int64_t number_of(const char *json, const char *key)
{
    const char *value = value_of(json, key);
    int64_t number = value ? strtoll(value, NULL, 10) : 0;
    return number > 0 ? number : 0;
}

static void name_of(const char *json, char name[CS_PROFILE_NAME])
{
    const char *value = value_of(json, "deviceName");
    size_t length = value && *value == '"' ? strcspn(value + 1, "\"") : 0;
    if (length > CS_PROFILE_NAME - 1)
        length = CS_PROFILE_NAME - 1;
    if (length > 0)
        memcpy(name, value + 1, length);
    name[length] = '\0';
}

/* Reads the constants that `convshim verify` has measured and added to a profile. Constants out of
 * the bounds of decide/cost.def are not known. */
static struct cs_ladder ladder_of(const char *json)
{
    const double kernel = (double)number_of(json, "kernelNanoseconds") / 1000;
    const double gain = (double)number_of(json, "laneGainPercent") / 100;
    if (kernel < 0.1 || kernel > 50 || gain > 1)
        return (struct cs_ladder){.known = false};
    return (struct cs_ladder){.known = true, .kernel_us = kernel, .lane_gain = gain};
}

/* Fills in the properties that the text contains. Missing ones stay 0. The keys are cuDNN's, and
 * those that only convshim's profiles have (conf/devices): memoryBusWidth and measured constants.
 */
static void parse_profile(const char *json, struct cs_profile *profile)
{
    *profile = (struct cs_profile){
        .capability = number_of(json, "deviceVer"),
        .multiprocessors = number_of(json, "multiProcessorCount"),
        .clock = number_of(json, "smClockRateKHz"),
        .memory_clock = number_of(json, "memClockRateKHz"),
        .bus_width = number_of(json, "memoryBusWidth"),
        .l2 = number_of(json, "l2CacheSize"),
        .memory = number_of(json, "totalGlobalMem"),
        .ladder = ladder_of(json),
    };
    name_of(json, profile->name);
}

static int64_t attribute_of(CUdevice device, CUdevice_attribute attribute)
{
    int value = 0;
    return CS_CU(cuDeviceGetAttribute, &value, attribute, device) == CUDA_SUCCESS && value > 0
               ? value
               : 0;
}

/* Reads the properties of a device from the driver. Missing ones stay 0. */
static struct cs_profile read_device(CUdevice device)
{
    size_t memory = 0;
    struct cs_profile profile = {
        .capability = 100 * attribute_of(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                      10 * attribute_of(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        .multiprocessors = attribute_of(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        .clock = attribute_of(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        .memory_clock = attribute_of(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
        .bus_width = attribute_of(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
        .l2 = attribute_of(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
    };
    if (CS_CU(cuDeviceGetName, profile.name, CS_PROFILE_NAME - 1, device) != CUDA_SUCCESS)
        profile.name[0] = '\0';
    if (CS_CU(cuDeviceTotalMem_v2, &memory, device) == CUDA_SUCCESS && memory <= INT64_MAX)
        profile.memory = (int64_t)memory;
    return profile;
}

static void announce_profile(const struct cs_profile *profile)
{
    cs_log(CS_LOG_DEBUG,
           "predictions for %s: capability %lld, %lld multiprocessors at %lld kHz, "
           "memory of %lld bits at %lld kHz, L2 %lld bytes",
           profile->name, (long long)profile->capability, (long long)profile->multiprocessors,
           (long long)profile->clock, (long long)profile->bus_width,
           (long long)profile->memory_clock, (long long)profile->l2);
}

/* Returns the profile of a device, which is kept after it was read. Threads that come at the same
 * time each read the properties, so no thread waits. A fork during that leaves one place of the
 * table unused. */
static struct cs_profile of_device(CUdevice device)
{
    enum state unknown = UNKNOWN;
    if (device < 0 || device >= KEPT)
        return read_device(device);
    if (atomic_load_explicit(&kept[device].state, memory_order_acquire) == KNOWN)
        return kept[device].profile;
    struct cs_profile profile = read_device(device);
    if (atomic_compare_exchange_strong(&kept[device].state, &unknown, FILLING)) {
        kept[device].profile = profile;
        atomic_store_explicit(&kept[device].state, KNOWN, memory_order_release);
        announce_profile(&profile);
    }
    return profile;
}

bool cs_device_profile_of(const struct cs_target *target, int gpu, struct cs_profile *profile)
{
    char json[CS_DEVICE_JSON];
    *profile = (struct cs_profile){.capability = 0};
    if (!target->handle) {
        if (target->device && cs_device_profile_json(target->device, json) > 0) {
            parse_profile(json, profile);
            announce_profile(profile);
        }
    } else if (gpu >= 0) {
        *profile = of_device(gpu);
    }
    return profile->capability > 0;
}
