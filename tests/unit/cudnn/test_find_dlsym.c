/* Functions that are found in the loader's list equal those that libc's dlsym finds. */
#include "cudnn/bind/find_dlsym.h"

#include "check.h"
#include <dlfcn.h>
#include <link.h>
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

/* Copies of the loader's records, in an order of the test's. */
static struct link_map libm, program, libc;

static struct link_map copy_of(const char *soname)
{
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
        if (strstr(map->l_name, soname))
            return *map;
    return *_r_debug.r_map;
}

/* In this order, from the first record, which must end with libc. */
static const char *found_in(struct link_map *first, bool *behind, bool *ours_first)
{
    struct link_map *real = _r_debug.r_map;
    _r_debug.r_map = first;
    *behind = cs_find_dlsym_behind("cos") != NULL;
    const char *other = cs_find_dlsym_other("cos", ours_first);
    _r_debug.r_map = real;
    return other;
}

static void only_a_library_behind_this_one_is_called(void)
{
    bool behind, first;
    libm = copy_of("libm.so");
    libc = copy_of("libc.so");
    program = *_r_debug.r_map;
    libc.l_next = NULL;
    CASE("this library, then libm");
    program.l_next = &libm;
    libm.l_next = &libc;
    CHECK(found_in(&program, &behind, &first) == libm.l_name);
    CHECK(behind && first);
    CASE("libm, then this library");
    libm.l_next = &program;
    program.l_next = &libc;
    CHECK(found_in(&libm, &behind, &first) == libm.l_name);
    CHECK(!behind && !first);
}

int main(void)
{
    TEST(lookups_are_libcs);
    TEST(the_first_later_library_has_the_function);
    TEST(another_library_with_the_function_is_named);
    TEST(this_library_is_recognized);
    TEST(only_a_library_behind_this_one_is_called);
    return REPORT();
}
