/* Whether an object defines a function, by its own hash table: libc's, which the loader has. */
#include "check.h"
#include "cudnn/bind/real.h"
#include "intercept/entry/entries.h"
#include "intercept/loader/dlsym.h"

void *cs_entries_find(const char *name)
{
    (void)name;
    return NULL;
}

bool cs_dlsym_answered(uintptr_t from, uintptr_t to)
{
    (void)from, (void)to;
    return false;
}

bool cs_real_has_file(const char *path)
{
    (void)path;
    return false;
}

#include "intercept/loader/bypass.c" /* NOLINT(bugprone-suspicious-include) */

static struct tables libc;

static int find_libc(struct dl_phdr_info *object, size_t size, void *data)
{
    (void)size, (void)data;
    if (strncmp(cs_path_file(object->dlpi_name), "libc.so.", strlen("libc.so.")) != 0)
        return 0;
    libc = tables_of(object);
    return 1;
}

static void what_libc_defines(void)
{
    static const char *const its_own[] = {"malloc", "qsort",  "printf",  "strtol",
                                          "getenv", "strlen", "fopen64", "pthread_create"};
    static const char *const others[] = {"cudnnGetVersion",   "cudnnCreate", "cs_bypass_find",
                                         "convshim_no_one_s", "main",        ""};
    CHECK(libc.hash && libc.symbols && libc.strings);
    for (size_t i = 0; i < sizeof its_own / sizeof *its_own; i++)
        CHECK(defines(&libc, its_own[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK(!defines(&libc, others[i]));
}

static void an_object_without_a_table_defines_nothing(void)
{
    static const uint32_t no_buckets[4];
    struct tables none = libc;
    none.hash = NULL;
    CHECK(!defines(&none, "malloc"));
    none.hash = no_buckets;
    CHECK(!defines(&none, "malloc"));
}

int main(void)
{
    dl_iterate_phdr(find_libc, NULL);
    TEST(what_libc_defines);
    TEST(an_object_without_a_table_defines_nothing);
    return REPORT();
}
