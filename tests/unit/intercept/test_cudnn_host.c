/* What the flow is told of the cuDNN in use: its version, its file, whether it is one that is
 * known; and which locks a fork finds free. The libraries are those of this process: libm stands
 * for all of cuDNN or for one of its parts. */
#include "intercept/cudnn_host.h"

#include "cudnn/plan/handle_number.h"
#include "cudnn/run/device_cuda.h"
#include "intercept/graph/shadow.h"
#include "intercept/legacy/oversized_tensor.h"
#include "intercept/legacy/plan_cache.h"
#include "intercept/loader/bypass.h"
#include "vendor_fixture.h"
#include <dlfcn.h>

const struct cs_device cs_device_cuda;
static const char *cudnns; /* folder of cuDNN's files; NULL: none is loaded */
static size_t number;
static int held[4];

bool cs_real_has_file(const char *path)
{
    return cudnns && strncmp(path, cudnns, strlen(cudnns)) == 0;
}

size_t cs_bypass_find(char *text, size_t size)
{
    (void)text, (void)size;
    return 0;
}

void cs_plan_cache_fork(bool before)
{
    held[0] += before ? 1 : -1;
}

void cs_shadow_fork(bool before)
{
    held[1] += before ? 1 : -1;
}

void cs_oversized_tensor_fork(bool before)
{
    held[2] += before ? 1 : -1;
}

void cs_handle_fork(bool before)
{
    held[3] += before ? 1 : -1;
}

static size_t version(void)
{
    return number;
}

/* The minor number has one digit before 9.0 and two since. */
static void a_version_is_three_numbers(void)
{
    static const struct {
        size_t number;
        const char *text;
        bool supported;
    } rows[] = {{0, "", false},
                {8907, "cuDNN 8.9.7", false},
                {9999, "cuDNN 9.9.99", false},
                {90000, "cuDNN 9.0.0", true},
                {91002, "cuDNN 9.10.2", true},
                {91900, "cuDNN 9.19.0", true},
                {99999, "cuDNN 9.99.99", true},
                {100000, "cuDNN 10.0.0", false}};
    char text[64];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        number = rows[i].number;
        vendor = (struct cs_real){.cudnnGetVersion = version};
        strcpy(text, "before");
        cs_host.version(text, sizeof text);
        CHECK_STR(text, rows[i].text);
        CHECK_INT(cs_host.supported(), rows[i].supported);
    }
    vendor = (struct cs_real){.cudnnGetVersion = NULL}; /* then every function says what is wrong */
    cs_host.version(text, sizeof text);
    CHECK_STR(text, "");
    CHECK(cs_host.supported());
    number = 91900;
    vendor = (struct cs_real){.cudnnGetVersion = version};
    memset(text, '#', sizeof text);
    cs_host.version(text, 8);
    CHECK_STR(text, "cuDNN 9");
    CHECK_INT(text[8], '#');
}

/* The one that has all of cuDNN, whichever was loaded first; or else the first of its parts. */
static void its_file_is_one_of_its_libraries(void)
{
    static const char *const names[] = {"libcudnn_graph.so.9", "libcudnn_ops.so.9", "libcudnn.so.9",
                                        "libcudnn_cnn.so.9"};
    char folder[] = "/tmp/convshim-host-XXXXXX", command[256], text[256];
    Dl_info libm = {.dli_fname = ""};
    void *loaded = dlopen("libm.so.6", RTLD_NOW);
    CHECK(loaded && dladdr(dlsym(loaded, "cos"), &libm) && mkdtemp(folder));
    cs_host.file(text, sizeof text);
    CHECK_STR(text, "");
    cudnns = folder;
    for (int i = 0; i < 4; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        snprintf(command, sizeof command, "cp '%s' %s", libm.dli_fname, path);
        CHECK(system(command) == 0 && dlopen(path, RTLD_NOW | RTLD_LOCAL));
        cs_host.file(text, sizeof text);
        CHECK_STR(text + strlen(folder) + 1, names[i < 2 ? 0 : 2]);
    }
    memset(text, '#', sizeof text);
    cs_host.file(text, 4);
    CHECK(strlen(text) == 3 && text[4] == '#');
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK_INT(system(command), 0);
    cudnns = NULL;
}

static void a_fork_holds_every_lock(void)
{
    cs_host.fork(true);
    for (int i = 0; i < 4; i++)
        CHECK_INT(held[i], 1);
    cs_host.fork(false);
    for (int i = 0; i < 4; i++)
        CHECK_INT(held[i], 0);
}

int main(void)
{
    TEST(a_version_is_three_numbers);
    TEST(its_file_is_one_of_its_libraries);
    TEST(a_fork_holds_every_lock);
    return REPORT();
}
