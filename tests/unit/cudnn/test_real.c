/* Which of the loaded libraries is cuDNN, and where its functions come from. Each case is a child
 * process with its own list of loaded libraries, because functions are bound once. */
#include "cudnn/bind/real.h"

#include "cudnn/bind/driver.h"
#include "cudnn/bind/find_dlsym.h"
#include "cudnn/bind/runtime.h"
#include "loaded_objects.h"
#include <dlfcn.h>
#include <sys/wait.h>

enum {
    LIBRARIES = 6,
    FUNCTIONS = 300 /* a library's function is the address of its name's byte */
};

/* A loaded library. It has the functions whose names contain `has`. */
static struct library {
    const char *path, *has;
    size_t version;  /* that its cudnnGetVersion returns; 0: it has no such function */
    bool only_links; /* its functions are another library's */
    char function[FUNCTIONS];
} library[LIBRARIES];
static int libraries, opened;
static struct library behind; /* the next library is that of RTLD_NEXT */
static const struct library *ours;

static size_t version_of_0(void)
{
    return library[0].version;
}

static size_t version_of_1(void)
{
    return library[1].version;
}

static size_t version_of_2(void)
{
    return library[2].version;
}

static size_t version_behind(void)
{
    return behind.version;
}

static size_t (*const versions[])(void) = {version_of_0, version_of_1, version_of_2};

static char *function_of(struct library *from, const char *name)
{
    unsigned place = 0;
    for (const char *c = name; *c; c++)
        place = place * 31 + (unsigned char)*c;
    return &from->function[place % FUNCTIONS];
}

static void *fake_dlsym(void *handle, const char *name)
{
    struct library *from = handle == RTLD_NEXT ? &behind : handle;
    if (strcmp(name, "cudnnGetVersion") == 0 && from->version)
        return (void *)(uintptr_t)(from == &behind ? version_behind : versions[from - library]);
    return from->has && strstr(name, from->has) ? function_of(from, name) : NULL;
}

WRAPPED(struct cs_find_dlsym_libc, cs_find_dlsym_libc, void)
{
    return (struct cs_find_dlsym_libc){fake_dlsym, NULL};
}

WRAPPED(bool, cs_find_dlsym_ours, const void *base)
{
    return base == ours;
}

WRAPPED(void *, dlopen, const char *name, int flags)
{
    CHECK_INT(flags, RTLD_LAZY | RTLD_NOLOAD);
    for (int i = 0; i < libraries; i++) {
        const char *slash = strrchr(library[i].path, '/');
        if (strcmp(name, library[i].path) == 0 || (slash && strcmp(name, slash + 1) == 0)) {
            opened++;
            return &library[i];
        }
    }
    return NULL;
}

WRAPPED(int, dlclose, void *handle)
{
    return opened--, !handle;
}

static struct library *owner_of(const void *address)
{
    for (int i = 0; i < libraries; i++)
        if ((const char *)address >= library[i].function &&
            (const char *)address < library[i].function + FUNCTIONS)
            return &library[i];
    for (int i = 0; i < 3; i++)
        if (address == (void *)(uintptr_t)versions[i])
            return &library[i];
    return NULL;
}

WRAPPED(int, dladdr, const void *address, Dl_info *info)
{
    struct library *owner = owner_of(address);
    *info = (Dl_info){.dli_fname = owner ? owner->path : "", .dli_fbase = owner};
    return owner != NULL;
}

WRAPPED(int, dladdr1, const void *address, Dl_info *info, void **extra, int flags)
{
    struct library *owner = owner_of(address);
    CHECK_INT(flags, RTLD_DL_LINKMAP);
    *extra = owner && owner->only_links ? NULL : owner;
    return __wrap_dladdr(address, info);
}

static struct library *add(const char *path, const char *has, size_t version)
{
    struct library *added = &library[libraries++];
    added->path = path;
    added->has = has;
    added->version = version;
    loaded_add(path, (uintptr_t)libraries << 20, 4096);
    return added;
}

#define FINALIZE(from) function_of(from, "cudnnBackendFinalize")
#define AT(pointer) ((const char *)(uintptr_t)(pointer))
#define BOUND_TO(from) (AT(cs_real()->cudnnBackendFinalize) == FINALIZE(from))

static void libcudnn_is_preferred(void)
{
    add("/old/libcudnn.so.8", "cudnn", 8904);
    struct library *whole = add("/lib/libcudnn.so.9", "cudnn", 91900);
    add("/lib/libcudnn_graph.so.9", "cudnnBackend", 0);
    CHECK(!cs_real_bound());
    CHECK(BOUND_TO(whole));
    CHECK(cs_real_bound());
    CHECK(cs_real() == cs_real_completed());
    CHECK(cs_real_owns("/lib/libcudnn.so.9") && cs_real_owns("/lib/libcudnn_cnn.so.9"));
    CHECK(!cs_real_owns("/other/libcudnn.so.9") && !cs_real_owns("/lib/libtorch.so"));
    const size_t slot = offsetof(struct cs_real, cudnnBackendFinalize);
    CHECK(cs_real_calls("cudnnBackendFinalize", slot, FINALIZE(whole)));
    CHECK(cs_real_calls("cudnnBackendFinalize", slot, FINALIZE(&library[2]))); /* its own part */
    CHECK(!cs_real_calls("cudnnBackendFinalize", slot, FINALIZE(&library[0])));
}

/* A program linked to cuDNN's graph library alone loads another part later. */
static void parts_are_completed_when_more_are_loaded(void)
{
    struct library *graph = add("/lib/libcudnn_graph.so.9", "cudnnBackend", 0);
    CHECK(BOUND_TO(graph));
    CHECK(!cs_real()->cudnnConvolutionForward);
    CHECK(cs_real() == cs_real_completed());
    struct library *cnn = add("/lib/libcudnn_cnn.so.9", "Convolution", 0);
    const struct cs_real *before = cs_real();
    CHECK(cs_real_completed() != before && cs_real_completed() == cs_real());
    CHECK(BOUND_TO(graph));
    CHECK(AT(cs_real()->cudnnConvolutionForward) == function_of(cnn, "cudnnConvolutionForward"));
}

/* Of two files under other names, the one of this major version is taken. */
static void a_renamed_file_is_found_by_its_version(void)
{
    add("/pkg/libcudnn-1a2b3c.so.8.9", "cudnn", 8904);
    struct library *nine = add("/pkg/libcudnn-4d5e6f.so.9.1", "cudnn", 90100);
    CHECK(BOUND_TO(nine));
    CHECK_INT(opened, 1);
}

static void another_major_version_serves_its_own_callers_alone(void)
{
    struct library *eight = add("/pkg/libcudnn.so.8", "cudnn", 8904);
    CHECK(!cs_real_owns("/pkg/libcudnn.so.8"));
    CHECK(!cs_real_calls("cudnnBackendFinalize", offsetof(struct cs_real, cudnnBackendFinalize),
                         FINALIZE(eight)));
    CHECK(!cs_real_bound() && opened == 0);
    CHECK(BOUND_TO(eight));
}

static void cudnn_inside_of_another_library_is_found(void)
{
    add("/fw/libstubs.so", "cudnn", 91900)->only_links = true;
    struct library *inside = add("/fw/libframework.so", "cudnn", 91900);
    CHECK(BOUND_TO(inside));
    CHECK_INT(opened, 1);
}

static void functions_of_this_library_are_no_cudnn(void)
{
    ours = add("/x/libcudnn_graph.so.9", "cudnnBackend", 0); /* a name that is searched */
    CHECK(!cs_real()->cudnnBackendFinalize && !cs_real_bound());
}

static void nothing_is_bound_without_cudnn(void)
{
    behind = (struct library){.has = "cudnn", .version = 100000};
    CHECK(!cs_real_owns("/lib/libcudnn.so.9") && !cs_real_bound());
    behind.has = NULL;
    CHECK(!cs_real()->cudnnBackendFinalize && !cs_real_bound());
    CHECK(!cs_driver()->cuMemAlloc_v2);
    CHECK_INT(CS_REAL(cudnnBackendFinalize, NULL), CUDNN_STATUS_NOT_SUPPORTED);
}

static void the_newer_runtime_is_preferred(void)
{
    add("/c/libcudart.so.12", "cuda", 0);
    struct library *newer = add("/c/libcudart.so.13", "cuda", 0),
                   *cuda = add("/c/libcuda.so.1", "cu", 0);
    behind.has = "cuda";
    CHECK(AT(cs_runtime()->cudaGraphCreate) == function_of(newer, "cudaGraphCreate"));
    CHECK(AT(cs_driver()->cuMemAlloc_v2) == function_of(cuda, "cuMemAlloc_v2"));
}

static void names_of_files(void)
{
    CHECK(cs_real_has_file("libcudnn.so.9") && cs_real_has_file("/a/libcudnn_cnn.so.9"));
    CHECK(!cs_real_has_file("/libcudnn/libother.so") && !cs_real_has_file(""));
}

/* Runs a case as a test in a child process. */
static void run_in_child(void (*test)(void))
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        test();
        fflush(NULL);
        _exit(check_failures != 0);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
}

static void (*const cases[])(void) = {libcudnn_is_preferred,
                                      parts_are_completed_when_more_are_loaded,
                                      a_renamed_file_is_found_by_its_version,
                                      another_major_version_serves_its_own_callers_alone,
                                      cudnn_inside_of_another_library_is_found,
                                      functions_of_this_library_are_no_cudnn,
                                      nothing_is_bound_without_cudnn,
                                      the_newer_runtime_is_preferred};

static void each_list_of_libraries_has_its_cudnn(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CASE("%zu", i);
        run_in_child(cases[i]);
    }
}

int main(void)
{
    TEST(each_list_of_libraries_has_its_cudnn);
    TEST(names_of_files);
    return REPORT();
}
