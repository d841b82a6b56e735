/* Which lookups are answered with an entry: those of cuDNN's functions, by a program, in the cuDNN
 * that is in use. libm stands for cuDNN here, and the loader's functions are the test's. */
#include "intercept/loader/dlsym.h"

#include "check.h"
#include "cudnn/bind/find_dlsym.h"
#include "cudnn/bind/real.h"
#include "flow/instance.h"
#include "intercept/cudnn_host.h"
#include "intercept/entry/entries.h"
#include <dlfcn.h>
#include <math.h>
#include <unistd.h>

#define NAME "cudnnCreate"

const struct cs_host cs_host;
static int entry, next[2];
static struct {
    bool unrelocated, bound,
        other;        /* other: the entry calls another function than what was found */
    const void *ours; /* an address of our library */
    void *found;
    int asked, entries, instances;
    const char *version;
} now;

void *cs_entries_find(const char *name)
{
    now.entries++;
    return strcmp(name, NAME) == 0 ? &entry : NULL;
}

bool cs_entries_call(const char *name, const void *address)
{
    CHECK_STR(name, NAME);
    CHECK(address == now.found);
    return !now.other;
}

bool cs_real_has_file(const char *path)
{
    return strstr(path, "/libm.so") != NULL;
}

bool cs_real_bound(void)
{
    return now.bound;
}

struct cs *cs_instance(const struct cs_host *host)
{
    CHECK(host == &cs_host);
    now.instances++;
    return NULL;
}

bool cs_find_dlsym_relocated(void)
{
    return !now.unrelocated;
}

bool cs_find_dlsym_ours(const void *base)
{
    Dl_info of;
    return now.ours && dladdr(now.ours, &of) && of.dli_fbase == base;
}

static void *look_up(void *handle, const char *name)
{
    CHECK(handle == &now);
    CHECK_STR(name, NAME);
    now.asked++;
    return now.found;
}

static void *look_up_version(void *handle, const char *name, const char *version)
{
    now.version = version;
    return look_up(handle, name);
}

struct cs_find_dlsym_libc cs_find_dlsym_libc(void)
{
    return (struct cs_find_dlsym_libc){look_up, look_up_version};
}

void *cs_find_dlsym_next(bool versioned)
{
    return &next[versioned];
}

static void *vendors(void)
{
    static double (*volatile function)(double) = cos;
    return (void *)function;
}

/* An address in this program, and one in libc. */
static char program;
static void *libcs(void)
{
    static pid_t (*volatile function)(void) = getpid;
    return (void *)function;
}

static void start(void)
{
    memset(&now, 0, sizeof now);
    now.found = vendors();
}

/* Whether a lookup is answered with the entry; who comes next is told whatever the answer is. */
static bool is_answered(void *handle, const char *name, const void *caller)
{
    struct cs_dlsym_verdict verdict = cs_dlsym_judge(handle, name, "v9", caller, false);
    CHECK(verdict.next == &next[0]);
    CHECK(!verdict.answer || verdict.answer == &entry);
    CHECK(now.version == NULL);
    return verdict.answer != NULL;
}

static void a_programs_lookup_is_answered(void)
{
    uintptr_t at = (uintptr_t)&program;
    start();
    CHECK(!cs_dlsym_answered(1, UINTPTR_MAX));
    CHECK(is_answered(&now, NAME, &program));
    CHECK_INT(now.asked, 1);
    CHECK(cs_dlsym_answered(1, at) && !cs_dlsym_answered(at, UINTPTR_MAX));
    struct cs_dlsym_verdict verdict = cs_dlsym_judge(&now, NAME, "v9", libcs(), true);
    CHECK(verdict.answer == &entry && verdict.next == &next[1]);
    CHECK_STR(now.version, "v9");
    Dl_info libc;
    CHECK(dladdr(libcs(), &libc));
    CHECK(cs_dlsym_answered((uintptr_t)libc.dli_fbase, (uintptr_t)libc.dli_fbase + 1));
    CHECK(!cs_dlsym_answered((uintptr_t)libc.dli_fbase - 1, (uintptr_t)libc.dli_fbase));
    CHECK(!cs_dlsym_answered((uintptr_t)libc.dli_fbase + 1, (uintptr_t)libc.dli_fbase + 2));
}

/* Not even ours is asked for it: lookups of other names are many. */
static void other_names_cost_a_comparison(void)
{
    static const char *const names[] = {NULL,          "",
                                        "c",           "cu",
                                        "cud",         "cudn",
                                        "xudnnCreate", "cxdnnCreate",
                                        "cuxnnCreate", "cudxnCreate",
                                        "cudnxCreate", "CUDNNCREATE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        start();
        CHECK(!is_answered(&now, names[i], &program));
        CHECK_INT(now.entries, 0);
    }
    start();
    CHECK(!is_answered(&now, "cudnn", &program) && now.entries == 1 && now.asked == 0);
    CHECK(!is_answered(&now, "cudnnGetVersion", &program) && now.entries == 2 && now.asked == 0);
}

static void before_relocation_nothing_is_called(void)
{
    start();
    now.unrelocated = true;
    CHECK(!is_answered(&now, NAME, &program));
    CHECK_INT(now.entries, 0);
}

static void the_loader_finds_preloaded_entries_itself(void)
{
    start();
    CHECK(!is_answered(RTLD_DEFAULT, NAME, &program));
    CHECK(!is_answered(RTLD_NEXT, NAME, &program));
    CHECK_INT(now.asked, 0);
}

static void a_library_that_is_off_answers_nothing(void)
{
    start();
    setenv("CONVSHIM", "0", 1);
    CHECK(!is_answered(&now, NAME, &program));
    setenv("CONVSHIM", "1", 1);
    CHECK(is_answered(&now, NAME, &program));
    unsetenv("CONVSHIM");
}

/* cuDNN looks up its own parts, and we what is behind us; code of no library is a program's. */
static void cudnn_and_we_get_what_is_there(void)
{
    static char *unknown;
    start();
    CHECK(!is_answered(&now, NAME, vendors()));
    now.ours = &program;
    CHECK(!is_answered(&now, NAME, &program));
    CHECK_INT(now.asked, 0);
    CHECK(is_answered(&now, NAME, libcs()));
    unknown = malloc(1);
    CHECK(is_answered(&now, NAME, unknown));
    free(unknown);
}

static void an_entry_stands_for_cudnns_function_only(void)
{
    char *unknown = malloc(1);
    void *const found[] = {NULL, unknown, libcs(), &program};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        start();
        now.found = found[i];
        CHECK(!is_answered(&now, NAME, &program));
        CHECK_INT(now.asked, 1);
    }
    free(unknown);
    start();
    now.ours = vendors();
    CHECK(!is_answered(&now, NAME, &program));
}

/* It is said once that a second cuDNN is left alone, where one is in use. */
static void another_cudnn_is_left_alone(void)
{
    start();
    now.other = true;
    CHECK(!is_answered(&now, NAME, &program));
    CHECK_INT(now.instances, 0);
    now.bound = true;
    for (int i = 0; i < 3; i++)
        CHECK(!is_answered(&now, NAME, &program));
    CHECK_INT(now.instances, 1);
}

int main(void)
{
    TEST(a_programs_lookup_is_answered);
    TEST(other_names_cost_a_comparison);
    TEST(before_relocation_nothing_is_called);
    TEST(the_loader_finds_preloaded_entries_itself);
    TEST(a_library_that_is_off_answers_nothing);
    TEST(cudnn_and_we_get_what_is_there);
    TEST(an_entry_stands_for_cudnns_function_only);
    TEST(another_cudnn_is_left_alone);
    return REPORT();
}
