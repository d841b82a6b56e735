/* The command opens a cuDNN that can plan without a device, and returns the absolute path of its
 * file. */
#include "cudnn/standalone/standalone.h"

#include "check.h"
#include "cudnn/bind/real.h"
#include <dlfcn.h>
#include <glob.h>

static size_t version;
static const char *missing, *path; /* function that the library lacks, its file for dladdr */
static char pattern[2][256];
static int patterns, drivers, closed;

static size_t get_version(void)
{
    return version;
}

WRAPPED(void *, dlopen, const char *file, int flags)
{
    return (void)flags, strcmp(file, "none") == 0 ? NULL : &version;
}

WRAPPED(char *, dlerror, void)
{
    return (char *)(uintptr_t) "no such file";
}

WRAPPED(int, dlclose, void *library)
{
    closed += library == &version;
    return 0;
}

WRAPPED(void *, dlsym, void *library, const char *name)
{
    CHECK(library == &version);
    return missing && strcmp(name, missing) == 0 ? NULL : (void *)(uintptr_t)get_version;
}

WRAPPED(int, dladdr, const void *address, Dl_info *info)
{
    CHECK(address == (void *)(uintptr_t)get_version);
    info->dli_fname = path;
    return path != NULL;
}

WRAPPED(int, glob, const char *text, int flags, int (*error)(const char *, int), glob_t *found)
{
    (void)flags, (void)error, (void)found;
    snprintf(pattern[patterns++ % 2], sizeof pattern[0], "%s", text);
    return GLOB_NOMATCH;
}

WRAPPED(void, cs_standalone_open_driver, void)
{
    drivers++;
}

static bool open_file(const char *file, size_t with_version, const char *without, char error[200])
{
    version = with_version;
    missing = without;
    patterns = drivers = closed = 0;
    error[0] = '\0';
    return cs_standalone_open(file, error, 200);
}

static void a_file_that_cannot_plan_is_refused(void)
{
    static const char *const needed[] = {
        "cudnnGetVersion",          "cudnnBackendCreateDescriptor",
        "cudnnBackendFinalize",     "cudnnBackendSetAttribute",
        "cudnnBackendGetAttribute", "cudnnBackendDestroyDescriptor"};
    char error[200];
    CHECK(!open_file("none", 91900, NULL, error));
    CHECK_STR(error, "no such file");
    for (int i = 0; i < 6; i++) {
        CASE("without %s", needed[i]);
        CHECK(!open_file("a", 91900, needed[i], error));
        CHECK(strstr(error, "cuDNN 9.8 or a later 9 is needed") && closed == 1 && drivers == 0);
    }
    CHECK(!open_file("a", 90799, NULL, error) && strstr(error, "a: version 90799"));
    CHECK(!open_file("a", 100000, NULL, error) && strstr(error, "a: version 100000"));
    CHECK_INT(cs_standalone_version(), 0);
    CHECK(!cs_real()->cudnnBackendFinalize);
    CHECK_STR(cs_standalone_file(), "");
}

/* The loader finds "libcudnn.so.9" in its folders. NVRTC's builtins are in the folder of the file
 * that it found. */
static void the_file_is_the_one_that_the_loader_found(void)
{
    char error[200];
    path = "/packages/nvidia/cudnn/lib/libcudnn.so.9";
    CHECK(open_file("libcudnn.so.9", 90800, NULL, error));
    CHECK_STR(cs_standalone_file(), path);
    CHECK_INT(patterns, 2);
    CHECK_STR(pattern[0], "/packages/nvidia/cudnn/lib/../../cu13/lib/libnvrtc-builtins.so.*");
    CHECK_STR(pattern[1], "/packages/nvidia/cudnn/lib/../../cuda_nvrtc/lib/libnvrtc-builtins.so.*");
    CHECK(drivers == 1 && closed == 0);
    CHECK_INT(cs_standalone_version(), 90800);
    CHECK(cs_real()->cudnnBackendFinalize && cs_real_completed() == cs_real());
    path = NULL;
    CHECK(open_file("asked", 99999, "cudnnConvolutionForward", error));
    CHECK_STR(cs_standalone_file(), "asked");
    CHECK(!cs_real()->cudnnConvolutionForward && patterns == 0);
}

int main(void)
{
    TEST(a_file_that_cannot_plan_is_refused);
    TEST(the_file_is_the_one_that_the_loader_found);
    return REPORT();
}
