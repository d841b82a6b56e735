/* The loader's list is found without the loader's help, too, as before it has relocated us. */
#include "check.h"
#include <dlfcn.h>
#include <sys/auxv.h>

#include "cudnn/bind/find_dlsym.c" /* NOLINT(bugprone-suspicious-include) */

static void the_loader_is_where_the_kernel_put_it(void)
{
    const char *found = loader();
    CHECK(found != NULL);
    CHECK(getauxval(AT_BASE) == 0 || (uintptr_t)found == getauxval(AT_BASE));
    CHECK(found && memcmp(found, ELFMAG, SELFMAG) == 0);
}

static void its_list_is_the_same_early(void)
{
    CHECK(cs_find_dlsym_relocated());
    CHECK(early_list() != NULL);
    CHECK(early_list() == _r_debug.r_map);
}

static void what_is_found_is_libcs_own(void)
{
    struct cs_find_dlsym_libc libc = cs_find_dlsym_libc();
    Dl_info own, there;
    CHECK(dladdr((void *)libc.dlsym, &there) != 0);
    CHECK(dladdr(libc.dlsym(RTLD_NEXT, "strtol"), &own) != 0);
    CHECK(strstr(there.dli_fname, "libc.so.6") || strstr(there.dli_fname, "libdl.so.2"));
    CHECK(libc.dlvsym(RTLD_NEXT, "strtol", "no such version") == NULL);
    CHECK(cs_find_dlsym_behind("no_function_of_this_name") == NULL);
    CHECK(cs_find_dlsym_behind("strtol") != NULL);
    CHECK(cs_find_dlsym_ours(__ehdr_start) && !cs_find_dlsym_ours(there.dli_fbase));
}

int main(void)
{
    TEST(the_loader_is_where_the_kernel_put_it);
    TEST(its_list_is_the_same_early);
    TEST(what_is_found_is_libcs_own);
    return REPORT();
}
