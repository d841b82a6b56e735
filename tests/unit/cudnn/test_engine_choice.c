/* Decisions are kept by scope: a number that differs where plans may need other workspaces, and
 * with every handle that is destroyed. */
#include "cudnn/plan/engine_choice.h"

#include "cudnn/plan/device_profile.h"
#include "cudnn/plan/handle_number.h"
#include "vendor_fixture.h"

static char first[16], second[16];

static int64_t scope_of(void *handle, int sm_count, int shared_memory, bool no_clusters)
{
    static const struct cs_problem problem;
    static const int64_t uid[CS_MAX_TENSORS];
    struct cs_engine_choice choice;
    cs_engine_choice_init(&choice, &problem, uid, (cudnnHandle_t)handle);
    choice.target.settings.sm_count = sm_count;
    choice.target.settings.shared_memory = shared_memory;
    choice.target.settings.no_clusters = no_clusters;
    int64_t scope = cs_engine_choice_scope(&choice);
    cs_engine_choice_fini(&choice);
    return scope;
}

/* The workspace of a plan may depend on them, so plans with different settings must not share a
 * reported size. */
static void engine_settings_have_separate_scopes(void)
{
    int64_t scopes[] = {scope_of(first, 0, 0, false),  scope_of(first, 8, 0, false),
                        scope_of(first, 9, 0, false),  scope_of(first, 0, 8, false),
                        scope_of(first, 0, 9, false),  scope_of(first, 0, 0, true),
                        scope_of(first, 8, 8, false),  scope_of(first, 8, 0, true),
                        scope_of(second, 0, 0, false), scope_of(second, 8, 0, false)};
    int count = (int)(sizeof scopes / sizeof *scopes);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            CHECK(scopes[i] != scopes[j]);
    CHECK_INT(scope_of(first, 8, 8, true), scope_of(first, 8, 8, true));
}

/* Its address is handed out again, for another device. */
static void reused_handle_address_gets_a_new_scope(void)
{
    int64_t before = scope_of(first, 0, 0, false), other = scope_of(second, 0, 0, false);
    CHECK_INT(scope_of(first, 0, 0, false), before);
    cs_handle_retire((cudnnHandle_t)(void *)first);
    CHECK(scope_of(first, 0, 0, false) != before);
    /* The scope of another handle is kept. */
    CHECK_INT(scope_of(second, 0, 0, false), other);
}

/* --- reading a configuration, and a device that is only described --- */

static int created, asked_types;
static const char *described = "";

static cudnnStatus_t create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *made_p)
{
    static char places[64];
    (void)type;
    *made_p = (cudnnBackendDescriptor_t)(void *)&places[created++ % 64];
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t release(cudnnBackendDescriptor_t descriptor)
{
    (void)descriptor;
    created--;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t get(const cudnnBackendDescriptor_t descriptor,
                         cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         int64_t requested, int64_t *count, void *to)
{
    (void)descriptor, (void)type;
    *count = 1;
    switch ((int)name) {
    case CUDNN_ATTR_ENGINECFG_ENGINE:
    case CUDNN_ATTR_ENGINE_DEVICEPROP:
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
        *(int64_t *)to = 34;
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
        *count = 2;
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE:
        *(cudnnBackendKnobType_t *)to = (cudnnBackendKnobType_t)(5 + asked_types++);
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE:
        *(int64_t *)to = 100 + asked_types;
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION:
        *count = (int64_t)strlen(described);
        snprintf(to, (size_t)requested, "%s", described);
        return CUDNN_STATUS_SUCCESS;
    default:
        *count = 0;
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
}

static void use_descriptions(void)
{
    vendor = (struct cs_real){.cudnnBackendCreateDescriptor = create,
                              .cudnnBackendDestroyDescriptor = release,
                              .cudnnBackendGetAttribute = get};
    created = asked_types = 0;
}

static void knobs_of_a_configuration_are_read(void)
{
    static const struct cs_problem problem;
    static const int64_t uid[CS_MAX_TENSORS];
    struct cs_engine_choice choice;
    use_descriptions();
    cs_engine_choice_init(&choice, &problem, uid, (cudnnHandle_t)(void *)first);
    (void)cs_engine_choice_read(&choice, (cudnnBackendDescriptor_t)(void *)second);
    CHECK_INT(choice.engine.index, 34);
    CHECK_INT(choice.engine.knobs, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(choice.engine.knob_type[i], 5 + i);
        CHECK_INT(choice.engine.knob_value[i], 101 + i);
    }
    CHECK_INT(choice.target.settings.sm_count, 0);
    cs_engine_choice_fini(&choice);
    CHECK_INT(created, 0);
}

static int64_t scope_of_device(const char *json)
{
    static const struct cs_problem problem;
    static const int64_t uid[CS_MAX_TENSORS];
    struct cs_engine_choice choice;
    use_descriptions();
    described = json;
    cs_engine_choice_init(&choice, &problem, uid, NULL);
    choice.target.device = (cudnnBackendDescriptor_t)(void *)second;
    int64_t scope = cs_engine_choice_scope(&choice);
    choice.target.device = NULL;
    cs_engine_choice_fini(&choice);
    return scope;
}

static void equal_device_descriptions_share_a_scope(void)
{
    int64_t one = scope_of_device("{\"deviceVer\":900}");
    CHECK_INT(scope_of_device("{\"deviceVer\":900}"), one);
    CHECK(scope_of_device("{\"deviceVer\":800}") != one);
    CHECK(scope_of_device("") != one);
}

static void a_profile_is_read_from_a_description(void)
{
    struct cs_target target = {.device = (cudnnBackendDescriptor_t)(void *)second};
    struct cs_profile profile;
    char json[512], name[300];
    use_descriptions();
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(json, sizeof json,
             "{\"deviceName\":\"%s\", \"deviceVer\": 900,\"l2CacheSize\":7,\"totalGlobalMem\":-5}",
             name);
    described = json;
    CHECK(cs_device_profile_of(&target, &profile));
    CHECK_INT(strnlen(profile.name, sizeof profile.name + 1), CS_PROFILE_NAME - 1);
    CHECK_INT(profile.capability, 900);
    CHECK_INT(profile.l2, 7);
    CHECK_INT(profile.memory, 0);
    CHECK_INT(profile.clock, 0);
    described = "{\"deviceName\":\"H100\"}";
    CHECK(!cs_device_profile_of(&target, &profile));
    CHECK_STR(profile.name, "H100");
}

static CUresult current_device(CUdevice *device_p)
{
    *device_p = 3;
    return CUDA_SUCCESS;
}

static CUresult some_attributes(int *value_p, CUdevice_attribute attribute, CUdevice device)
{
    CHECK_INT(device, 3);
    *value_p = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? 9
               : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 1
               : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? 132
                                                                           : 0;
    return attribute == CU_DEVICE_ATTRIBUTE_CLOCK_RATE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* Properties that the driver does not report are 0. */
static void a_profile_is_asked_of_the_driver(void)
{
    struct cs_target target = {.handle = (cudnnHandle_t)(void *)first};
    struct cs_profile profile;
    driver = (struct cs_driver){.cuCtxGetDevice = current_device,
                                .cuDeviceGetAttribute = some_attributes};
    CHECK(cs_device_profile_of(&target, &profile));
    CHECK_INT(profile.capability, 910);
    CHECK_INT(profile.multiprocessors, 132);
    CHECK_INT(profile.clock, 0);
    CHECK_INT(profile.l2, 0);
    CHECK_INT(profile.memory, 0);
    CHECK_STR(profile.name, "");
}

int main(void)
{
    TEST(engine_settings_have_separate_scopes);
    TEST(reused_handle_address_gets_a_new_scope);
    TEST(knobs_of_a_configuration_are_read);
    TEST(equal_device_descriptions_share_a_scope);
    TEST(a_profile_is_read_from_a_description);
    TEST(a_profile_is_asked_of_the_driver);
    return REPORT();
}
