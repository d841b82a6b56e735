/* Functions that are found in the loader's list equal those that libc's dlsym finds. */
#include "cudnn/bind/find_dlsym.h"

#include "check.h"
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>

static void lookups_are_libcs(void)
{
    const struct cs_find_dlsym_libc libc = cs_find_dlsym_libc();
    void *library = dlopen("libc.so.6", RTLD_LAZY);
    CHECK(cs_find_dlsym_relocated());
    CHECK((void *)(uintptr_t)libc.dlsym == dlsym(library, "dlsym"));
    CHECK((void *)(uintptr_t)libc.dlvsym == dlsym(library, "dlvsym"));
    CHECK(cs_find_dlsym_libc().dlsym == libc.dlsym);
    /* A sanitizer's runtime exports its own before libc. */
    CHECK(cs_find_dlsym_next(false) == dlsym(RTLD_NEXT, "dlsym"));
    CHECK(cs_find_dlsym_next(true) == dlsym(RTLD_NEXT, "dlvsym"));
    dlclose(library);
}

static void the_first_later_library_has_the_function(void)
{
    static const char *const names[] = {"raise", "kill", "_exit", "malloc", "getpid"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CASE("%s", names[i]);
        CHECK(cs_find_dlsym_behind(names[i]) == dlsym(RTLD_NEXT, names[i]));
    }
    CHECK(cs_find_dlsym_behind("a_function_of_no_library") == NULL);
    CHECK(cs_find_dlsym_behind("main") == NULL);
}

static void another_library_with_the_function_is_named(void)
{
    bool first = false;
    Dl_info there;
    double (*cosine)(double) = cos;
    const char *other = cs_find_dlsym_other("cos", &first);
    CHECK(dladdr((void *)(uintptr_t)cosine, &there) && other);
    CHECK_STR(other ? other : "", there.dli_fname);
    CHECK(first);
    CHECK(!cs_find_dlsym_other("a_function_of_no_library", &first) && first);
}

static void this_library_is_recognized(void)
{
    Dl_info here, there;
    double (*cosine)(double) = cos;
    CHECK(dladdr((void *)(uintptr_t)cs_find_dlsym_ours, &here));
    CHECK(dladdr((void *)(uintptr_t)cosine, &there));
    CHECK(cs_find_dlsym_ours(here.dli_fbase));
    CHECK(!cs_find_dlsym_ours(there.dli_fbase));
}

int main(void)
{
    TEST(lookups_are_libcs);
    TEST(the_first_later_library_has_the_function);
    TEST(another_library_with_the_function_is_named);
    TEST(this_library_is_recognized);
    return REPORT();
}
