/* The profile of the GPU that is present, as cuDNN describes device 0, or the one of a handle;
 * every descriptor is destroyed again. */
#include "cudnn/standalone/capture_profile.h"

#include "cudnn/standalone/standalone.h"
#include "vendor_fixture.h"

#define PROFILE "{\"name\": \"a GPU\"}"

static struct {
    int alive, made;
    cudnnStatus_t make, set, finalize, get;
    int64_t length; /* of the text; -1: PROFILE's own */
} fake;
static char descriptor[16];

const char *cs_standalone_file(void)
{
    return "libconvshim-no-such-cudnn.so.9";
}

static cudnnStatus_t create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *made)
{
    CHECK_INT(type, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    if (fake.make != CUDNN_STATUS_SUCCESS)
        return fake.make;
    fake.alive++;
    fake.made++;
    *made = descriptor;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t destroy(cudnnBackendDescriptor_t made)
{
    CHECK(made == descriptor);
    fake.alive--;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set(cudnnBackendDescriptor_t made, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
    CHECK(made == descriptor);
    CHECK_INT(name, CUDNN_ATTR_DEVICEPROP_DEVICE_ID);
    CHECK_INT(type, CUDNN_TYPE_INT32);
    CHECK_INT(count, 1);
    CHECK_INT(*(const int32_t *)elements, 0);
    return fake.set;
}

static cudnnStatus_t finalize(cudnnBackendDescriptor_t made)
{
    CHECK(made == descriptor);
    return fake.finalize;
}

static cudnnStatus_t get(cudnnBackendDescriptor_t made, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t most, int64_t *count,
                         void *elements)
{
    CHECK(made == descriptor);
    CHECK_INT(name, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
    CHECK_INT(type, CUDNN_TYPE_CHAR);
    *count = fake.length >= 0 ? fake.length : (int64_t)strlen(PROFILE);
    if (most > 0)
        memcpy(elements, PROFILE, (size_t)*count);
    return fake.get;
}

/* What is captured; to be freed. */
static char *capture(char error[128])
{
    char *text = NULL;
    int bits = -1;
    vendor = (struct cs_real){.cudnnBackendCreateDescriptor = create,
                              .cudnnBackendDestroyDescriptor = destroy,
                              .cudnnBackendSetAttribute = set,
                              .cudnnBackendFinalize = finalize,
                              .cudnnBackendGetAttribute = get};
    error[0] = '\0';
    fake.alive = fake.made = 0;
    bool good = cs_standalone_capture(&text, &bits, error, 128);
    CHECK(good == (text != NULL));
    CHECK(good ? bits >= 0 : strstr(error, "does not describe a GPU") != NULL);
    CHECK_INT(fake.alive, 0);
    return text;
}

static void start(void)
{
    memset(&fake, 0, sizeof fake);
    fake.length = -1;
}

static void the_text_of_the_first_device(void)
{
    char error[128];
    start();
    char *text = capture(error);
    CHECK_STR(text ? text : "(none)", PROFILE);
    CHECK_INT(fake.made, 1);
    free(text);
}

static void what_is_refused_is_said(void)
{
    static cudnnStatus_t *const answers[] = {&fake.make, &fake.set, &fake.finalize, &fake.get};
    char error[128];
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        start();
        *answers[i] = CUDNN_STATUS_NOT_SUPPORTED;
        CHECK(!capture(error));
    }
    start();
    fake.length = 0;
    CHECK(!capture(error));
}

int main(void)
{
    TEST(the_text_of_the_first_device);
    TEST(what_is_refused_is_said);
    return REPORT();
}
