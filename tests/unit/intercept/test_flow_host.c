/* Facts about cuDNN and this library, for the flow and for the program. */
#include "intercept/intercept.h"

#include "convshim.h"
#include "entry_fixture.h"
#include "flow/ending.h"
#include "loaded_objects.h"

static size_t version;
static bool ours_first, disabled, off;
static const char *other;
static struct cs *made;

static size_t get_version(void)
{
    return version;
}

WRAPPED(const char *, cs_find_dlsym_other, const char *name, bool *first)
{
    CHECK_STR(name, "convshim_version");
    *first = ours_first;
    return other;
}

WRAPPED(bool, cs_config_disabled, void)
{
    return disabled;
}

WRAPPED(bool, cs_instance_off, void)
{
    return off;
}

WRAPPED(struct cs *, cs_instance_made, void)
{
    return made;
}

WRAPPED(size_t, cs_ending_text, struct cs *cs, char *json, size_t size)
{
    CHECK(cs == made);
    return (size_t)snprintf(json, size, "{}");
}

static void versions_are_written_as_cudnns(void)
{
    static const struct {
        size_t version;
        const char *text;
        bool supported;
    } rows[] = {{91900, "cuDNN 9.19.0", true},
                {90102, "cuDNN 9.1.2", true},
                {8907, "cuDNN 8.9.7", false},
                {100000, "cuDNN 10.0.0", false},
                {0, "", false}};
    char text[40];
    vendor = (struct cs_real){.cudnnGetVersion = get_version};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        version = rows[i].version;
        cs_host.version(text, sizeof text);
        CHECK_STR(text, rows[i].text);
        CHECK_INT(cs_host.supported(), rows[i].supported);
    }
    vendor.cudnnGetVersion = NULL; /* a part of cuDNN, whose functions answer for themselves */
    CHECK(cs_host.supported());
    cs_host.version(text, sizeof text);
    CHECK_STR(text, "");
}

static void the_file_with_all_of_cudnn_is_preferred(void)
{
    char text[40];
    cs_host.file(text, sizeof text);
    CHECK_STR(text, "");
    loaded_add("/a/libtorch.so", 1 << 20, 4096);
    loaded_add("/a/libcudnn_cnn.so.9", 2 << 20, 4096);
    loaded_add("/a/libcudnn_ops.so.9", 3 << 20, 4096);
    cs_host.file(text, sizeof text);
    CHECK_STR(text, "/a/libcudnn_cnn.so.9");
    loaded_add("/a/libcudnn.so.9", 4 << 20, 4096);
    loaded_add("/b/libcudnn.so.8", 5 << 20, 4096);
    cs_host.file(text, sizeof text);
    CHECK_STR(text, "/a/libcudnn.so.9");
}

static void the_first_copy_of_the_library_works(void)
{
    other = NULL;
    ours_first = false;
    CHECK(cs_host_first_copy() && !cs_host.second_copy());
    other = "/other/libconvshim.so";
    CHECK(!cs_host_first_copy() && !cs_host.second_copy());
    ours_first = true;
    CHECK(cs_host_first_copy());
    CHECK_STR(cs_host.second_copy(), other);
}

static void the_program_hears_whether_the_library_works(void)
{
    char json[8] = "before";
    for (int i = 0; i < 4; i++) {
        disabled = i & 1;
        off = i & 2;
        CHECK_INT(convshim_active(), i == 0);
    }
    CHECK_INT(convshim_summary(json, 0), 0);
    CHECK_STR(json, "before");
    CHECK_INT(convshim_summary(json, sizeof json), 0);
    CHECK_STR(json, "");
    made = (struct cs *)(void *)json;
    CHECK_INT(convshim_summary(json, sizeof json), 2);
    CHECK_STR(json, "{}");
}

int main(void)
{
    TEST(versions_are_written_as_cudnns);
    TEST(the_file_with_all_of_cudnn_is_preferred);
    TEST(the_first_copy_of_the_library_works);
    TEST(the_program_hears_whether_the_library_works);
    return REPORT();
}
