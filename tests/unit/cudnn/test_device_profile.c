/* The cost model's description of a device: from its JSON, or from the driver, which is queried
 * once. */
#include "cudnn/plan/device_profile.h"

#include "cudnn/bind/driver.h"
#include "vendor_fixture.h"

static char place[16];
static const char *json;
static int64_t told_length; /* 0: the text's own */

static cudnnStatus_t get(const cudnnBackendDescriptor_t descriptor,
                         cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         int64_t requested, int64_t *count, void *to)
{
    CHECK((void *)descriptor == place);
    CHECK(name == CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION && type == CUDNN_TYPE_CHAR);
    CHECK_INT(requested, CS_DEVICE_JSON);
    if (!json)
        return CUDNN_STATUS_NOT_SUPPORTED;
    size_t length = strlen(json) + 1;
    memcpy(to, json, length < (size_t)requested ? length : (size_t)requested);
    *count = told_length ? told_length : (int64_t)length;
    return CUDNN_STATUS_SUCCESS;
}

static const struct cs_target described = {.device = place};

static bool read_json(const char *text, struct cs_profile *profile)
{
    vendor = (struct cs_real){.cudnnBackendGetAttribute = get};
    json = text;
    return cs_device_profile_of(&described, CS_GPU_UNKNOWN, profile);
}

/* cuDNN reports the length of the text, also if it did not fit, and need not terminate it. */
static void a_text_of_any_length_is_ended(void)
{
    static char text[CS_DEVICE_JSON + 64], long_one[CS_DEVICE_JSON + 40];
    static const int64_t lengths[] = {
        -1, 1, 5, CS_DEVICE_JSON - 1, CS_DEVICE_JSON, CS_DEVICE_JSON + 1, CS_DEVICE_JSON + 30};
    vendor = (struct cs_real){.cudnnBackendGetAttribute = get};
    memset(long_one, 'x', sizeof long_one - 1);
    json = long_one;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int64_t most = lengths[i] < CS_DEVICE_JSON ? lengths[i] : CS_DEVICE_JSON - 1;
        most = most < 0 ? 0 : most;
        told_length = lengths[i];
        memset(text, '#', sizeof text);
        CHECK_INT(cs_device_profile_json(place, text), most);
        CHECK_INT(text[most], '\0');
        for (int j = CS_DEVICE_JSON; j < CS_DEVICE_JSON + 64; j++)
            CHECK_INT(text[j], '#');
    }
    told_length = 0;
    json = NULL;
    CHECK_INT(cs_device_profile_json(place, text), 0);
    CHECK_STR(text, "");
}

static void every_key_has_its_number(void)
{
    static const char *const keys[] = {"deviceVer",       "multiProcessorCount", "smClockRateKHz",
                                       "memClockRateKHz", "memoryBusWidth",      "l2CacheSize",
                                       "totalGlobalMem"};
    for (int i = 0; i < 7; i++) {
        char text[256];
        struct cs_profile p;
        snprintf(text, sizeof text, "{\"other\" : \"%s\", \"%s2\":3, \"%s\" \n:\t 77}", keys[i],
                 keys[i], keys[i]);
        CHECK_INT(read_json(text, &p), i == 0);
        const int64_t found[] = {
            p.capability, p.multiprocessors, p.clock, p.memory_clock, p.bus_width, p.l2, p.memory};
        for (int j = 0; j < 7; j++)
            CHECK_INT(found[j], i == j ? 77 : 0);
    }
}

static void positive_numbers_alone_are_accepted(void)
{
    static const struct {
        const char *text;
        int64_t capability;
    } cases[] = {{"{\"deviceVer\":1}", 1},
                 {"{\"deviceVer\":0}", 0},
                 {"{\"deviceVer\":-1}", 0},
                 {"{\"deviceVer\":\"9\"}", 0},
                 {"{\"deviceVer\" 9}", 0},
                 {"{\"deviceVer\":}", 0},
                 {"{deviceVer:9}", 0},
                 {"\"deviceVer\":9", 9},
                 {"{\"deviceVer", 0},
                 {"", 0},
                 {"{\"deviceVe\":5,\"deviceVer\":6}", 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cs_profile profile;
        CHECK_INT(read_json(cases[i].text, &profile), cases[i].capability > 0);
        CHECK_INT(profile.capability, cases[i].capability);
    }
}

static void name_is_cut_to_its_buffer(void)
{
    for (int length = 0; length < CS_PROFILE_NAME + 5; length++) {
        char name[CS_PROFILE_NAME + 5] = "", text[CS_PROFILE_NAME + 64];
        struct cs_profile profile;
        memset(name, 'n', (size_t)length);
        snprintf(text, sizeof text, "{\"deviceName\": \"%s\",\"deviceVer\":9}", name);
        CHECK(read_json(text, &profile));
        name[length < CS_PROFILE_NAME ? length : CS_PROFILE_NAME - 1] = '\0';
        CHECK_STR(profile.name, name);
    }
    struct cs_profile profile;
    CHECK(read_json("{\"deviceName\": 12,\"deviceVer\":9}", &profile));
    CHECK_STR(profile.name, "");
}

static CUdevice device;
static int asked;
static CUdevice_attribute lacking; /* is refused */
static size_t total;
static CUresult memory_status, name_status;

static CUresult attribute(int *to, CUdevice_attribute which, CUdevice of)
{
    static const int known[][2] = {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
                                   {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 3},
                                   {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
                                   {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
                                   {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2619000},
                                   {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120},
                                   {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 1}};
    CHECK_INT(of, device);
    asked++;
    *to = -5;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i][0] == (int)which)
            *to = known[i][1];
    return which == lacking ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult name(char *to, int size, CUdevice of)
{
    CHECK_INT(of, device);
    CHECK_INT(size, CS_PROFILE_NAME - 1);
    snprintf(to, (size_t)size, "a GPU");
    return name_status;
}

static CUresult memory(size_t *to, CUdevice of)
{
    CHECK_INT(of, device);
    *to = total;
    return memory_status;
}

static bool ask(CUdevice of, struct cs_profile *profile)
{
    const struct cs_target target = {.handle = (cudnnHandle_t)(void *)place, .device = place};
    driver = (struct cs_driver){
        .cuDeviceGetAttribute = attribute, .cuDeviceGetName = name, .cuDeviceTotalMem_v2 = memory};
    device = of;
    return cs_device_profile_of(&target, of, profile);
}

static void all_properties_come_from_the_driver(void)
{
    struct cs_profile p;
    total = 1000;
    CHECK(ask(0, &p));
    CHECK_INT(p.capability, 930);
    CHECK_INT(p.multiprocessors, 132);
    CHECK_INT(p.clock, 1980000);
    CHECK_INT(p.memory_clock, 2619000);
    CHECK_INT(p.bus_width, 5120);
    CHECK_INT(p.l2, 1);
    CHECK_INT(p.memory, 1000);
    CHECK_STR(p.name, "a GPU");
    CHECK_INT(asked, 7);
}

static void device_is_queried_once(void)
{
    static const struct {
        CUdevice device;
        bool kept;
    } cases[] = {{0, true}, {1, true}, {63, true}, {64, false}, {1000, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cs_profile first, second;
        CHECK(ask(cases[i].device, &first));
        asked = 0;
        total = 2000 + i;
        CHECK(ask(cases[i].device, &second));
        CHECK_INT(asked, cases[i].kept ? 0 : 7);
        CHECK_INT(second.memory, cases[i].kept ? first.memory : (int64_t)total);
        CHECK_INT(second.capability, 930);
    }
}

/* Of a device that is never kept. */
static void unreported_properties_are_0(void)
{
    struct cs_profile p;
    lacking = CU_DEVICE_ATTRIBUTE_CLOCK_RATE;
    memory_status = name_status = CUDA_ERROR_INVALID_VALUE;
    total = 99;
    CHECK(ask(100, &p));
    CHECK_INT(p.clock, 0);
    CHECK_INT(p.memory_clock, 2619000);
    CHECK_INT(p.memory, 0);
    CHECK_STR(p.name, "");
    memory_status = CUDA_SUCCESS;
    total = INT64_MAX;
    CHECK(ask(100, &p) && p.memory == INT64_MAX);
    total++;
    CHECK(ask(100, &p) && p.memory == 0);
    lacking = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    CHECK(ask(100, &p));
    CHECK_INT(p.capability, 30);
    CHECK(!ask(CS_GPU_UNKNOWN, &p));
    CHECK_INT(p.multiprocessors, 0);
}

static void a_target_without_either_has_no_profile(void)
{
    const struct cs_target nothing = {.handle = NULL};
    struct cs_profile profile;
    CHECK(!cs_device_profile_of(&nothing, 0, &profile));
    CHECK_INT(profile.capability, 0);
    CHECK(!read_json(NULL, &profile));
}

int main(void)
{
    TEST(a_text_of_any_length_is_ended);
    TEST(every_key_has_its_number);
    TEST(positive_numbers_alone_are_accepted);
    TEST(name_is_cut_to_its_buffer);
    TEST(all_properties_come_from_the_driver);
    TEST(device_is_queried_once);
    TEST(unreported_properties_are_0);
    TEST(a_target_without_either_has_no_profile);
    return REPORT();
}
