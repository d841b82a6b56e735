/* The loader's list is found without the loader's help, too, as before it has relocated us. */
#include "check.h"
#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cudnn/bind/find_dlsym.c" /* NOLINT(bugprone-suspicious-include) */

static void the_loader_is_where_the_kernel_put_it(void)
{
    const char *found = loader();
    CHECK(found != NULL);
    CHECK(getauxval(AT_BASE) == 0 || (uintptr_t)found == getauxval(AT_BASE));
    CHECK(found && memcmp(found, ELFMAG, SELFMAG) == 0);
}

/* Also where the file is descriptor 0, of which none is left open; none where no file can be
 * opened. */
static int look_without_descriptors(void)
{
    const struct rlimit none = {0, 0};
    const char *found = loader();
    close(0);
    for (int i = 0; i < 3; i++)
        if (loader() != found || fcntl(0, F_GETFD) != -1)
            return 1;
    if (setrlimit(RLIMIT_NOFILE, &none) != 0)
        return 2;
    return loader() || early_list() ? 3 : 0;
}

static void no_descriptor_is_kept(void)
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(look_without_descriptors());
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
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

/* Of a table with one name: defined, somewhere, and in the version that is not hidden. */
static void what_a_table_defines(void)
{
    static const struct {
        Elf64_Half section;
        Elf64_Addr value;
        Elf64_Half version;
        bool defined;
    } rows[] = {{1, 1, 2, true},
                {1, 16, 2, true},
                {1, 0, 2, false},
                {SHN_UNDEF, 16, 2, false},
                {1, 16, VERSION_HIDDEN | 2, false}};
    static char strings[] = "\0name";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Elf64_Sym symbol[] = {
            {0}, {.st_name = 1, .st_shndx = rows[i].section, .st_value = rows[i].value}};
        Elf64_Half versions[] = {0, rows[i].version};
        const struct tables t = {.strings = strings, .symbols = symbol, .versions = versions};
        CHECK_INT(defines(&t, 1, "name"), rows[i].defined);
        CHECK(!defines(&t, 1, "nam") && !defines(&t, 1, "names"));
    }
}

int main(void)
{
    TEST(the_loader_is_where_the_kernel_put_it);
    TEST(no_descriptor_is_kept);
    TEST(its_list_is_the_same_early);
    TEST(what_is_found_is_libcs_own);
    TEST(what_a_table_defines);
    return REPORT();
}
