/* Which files the command takes for a cuDNN that it can plan with, and where a driver must be stood
 * in for. */
#include "cudnn/standalone/standalone.h"

#include "check.h"
#include "cudnn/bind/driver.h"
#include "cudnn/bind/real.h"
#include "cudnn/standalone/open_driver.h"
#include <dlfcn.h>
#include <string.h>

/* The file that is opened. */
static struct {
    size_t version;    /* 0: it does not say */
    const char *lacks; /* a function */
    bool missing, nameless, driver;
    int opened, closed, stood_in;
} tried;

static size_t version(void)
{
    return tried.version;
}

static void *open_file(const char *path, int flags)
{
    CHECK_STR(path, "libcudnn.so.9");
    CHECK_INT(flags, RTLD_NOW | RTLD_LOCAL);
    tried.opened += !tried.missing;
    return tried.missing ? NULL : &tried;
}

static int close_file(void *library)
{
    CHECK(library == &tried);
    tried.closed++;
    return 0;
}

static void *look_up(void *library, const char *name)
{
    CHECK(library == &tried);
    if ((tried.lacks && strcmp(name, tried.lacks) == 0) || tried.version == 0)
        return NULL;
    return strcmp(name, "cudnnGetVersion") == 0 ? (void *)version : (void *)&tried;
}

static char *no_file(void)
{
    return "no such file";
}

static int place_of(const void *address, Dl_info *info)
{
    CHECK(address == (void *)version);
    info->dli_fname = "/lib/libcudnn.so.9";
    return !tried.nameless;
}

bool cs_standalone_driver(void)
{
    return tried.driver;
}

void cs_standalone_stand_in(void)
{
    tried.stood_in++;
}

#define dlopen open_file
#define dlclose close_file
#define dlsym look_up
#define dlerror no_file
#define dladdr place_of
#include "cudnn/standalone/open_cudnn.c" /* NOLINT(bugprone-suspicious-include) */
#undef dlopen
#undef dlclose
#undef dlsym
#undef dlerror
#undef dladdr

static bool try_to_open(char *error, size_t size)
{
    tried.opened = tried.closed = tried.stood_in = 0;
    error[0] = '\0';
    return cs_standalone_open("libcudnn.so.9", error, size);
}

static void versions_from_9_8_to_the_next_major(void)
{
    static const struct {
        size_t version;
        bool taken;
    } row[] = {{90800, true}, {90799, false},  {8907, false},   {91900, true},
               {99999, true}, {100000, false}, {110000, false}, {0, false}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char error[128], wanted[128] = "";
        memset(&tried, 0, sizeof tried);
        tried.version = row[i].version;
        CHECK_INT(try_to_open(error, sizeof error), row[i].taken);
        if (!row[i].taken)
            snprintf(wanted, sizeof wanted,
                     "libcudnn.so.9: version %zu, but cuDNN 9.8 or a later 9 is needed",
                     row[i].version);
        CHECK_STR(error, wanted);
        CHECK_INT(tried.opened, 1);
        CHECK_INT(tried.closed, !row[i].taken);
        CHECK_INT((int64_t)cs_standalone_version(), row[i].taken ? (int64_t)row[i].version : 0);
        CHECK_INT(cs_real()->cudnnBackendExecute != NULL, row[i].taken);
        CHECK(cs_real_completed() == cs_real());
        CHECK(!cs_driver()->cuMemAlloc_v2);
    }
}

/* Those without which nothing is planned. */
static void functions_that_it_must_have(void)
{
    static const struct {
        const char *name;
        bool needed;
    } row[] = {{"cudnnGetVersion", true},          {"cudnnBackendCreateDescriptor", true},
               {"cudnnBackendFinalize", true},     {"cudnnBackendSetAttribute", true},
               {"cudnnBackendGetAttribute", true}, {"cudnnBackendDestroyDescriptor", true},
               {"cudnnBackendExecute", false},     {"cudnnConvolutionForward", false}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char error[128];
        memset(&tried, 0, sizeof tried);
        tried.version = 91000;
        tried.lacks = row[i].name;
        CHECK_INT(try_to_open(error, sizeof error), !row[i].needed);
        CHECK_INT(tried.closed, row[i].needed);
    }
}

static void what_is_not_there(void)
{
    char error[128];
    memset(&tried, 0, sizeof tried);
    tried.missing = true;
    CHECK(!try_to_open(error, sizeof error));
    CHECK_STR(error, "no such file");
    CHECK_INT(tried.closed, 0);
}

/* Only a cuDNN that is linked to the driver wants one, and only where there is none. */
static void a_driver_is_stood_in_for(void)
{
    for (int i = 0; i < 4; i++) {
        char error[128];
        memset(&tried, 0, sizeof tried);
        tried.version = i & 1 ? CS_LINKED_TO_DRIVER : CS_LINKED_TO_DRIVER - 1;
        tried.driver = i & 2;
        CHECK(try_to_open(error, sizeof error));
        CHECK_INT(tried.stood_in, i == 1);
    }
}

static void the_file_that_was_found_is_named(void)
{
    char error[128];
    memset(&tried, 0, sizeof tried);
    tried.version = 91900;
    CHECK(try_to_open(error, sizeof error));
    CHECK_STR(cs_standalone_file(), "/lib/libcudnn.so.9");
    tried.nameless = true;
    CHECK(try_to_open(error, sizeof error));
    CHECK_STR(cs_standalone_file(), "libcudnn.so.9");
}

int main(void)
{
    TEST(versions_from_9_8_to_the_next_major);
    TEST(functions_that_it_must_have);
    TEST(what_is_not_there);
    TEST(a_driver_is_stood_in_for);
    TEST(the_file_that_was_found_is_named);
    return REPORT();
}
