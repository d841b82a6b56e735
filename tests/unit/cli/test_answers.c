/* What is read of the answers of other programs: the loader's list of libraries, a Python's modules
 * and packages. The answers are the test's own. */
#include "check.h"
#include "cli/doctor/subprocess.h"
#include <stdbool.h>

static const char *answer; /* of whatever is run; NULL: it cannot be run */
static int refuses = -1;   /* the request for memory that is refused; -1: none */

static int run_made(const char *const *argv, const char *const *set, char **text_p)
{
    CHECK(argv && argv[0] && (!set || set[0]));
    *text_p = answer ? strdup(answer) : NULL;
    return answer ? 0 : -1;
}

static void *grow_or_not(void *items, size_t count, size_t size)
{
    return refuses >= 0 && refuses-- == 0 ? NULL : (reallocarray)(items, count, size);
}

#define reallocarray(items, count, size) grow_or_not(items, count, size)
#define cs_subprocess_run run_made
#include "cli/doctor/loader.c"   /* NOLINT(bugprone-suspicious-include) */
#include "cli/doctor/packages.c" /* NOLINT(bugprone-suspicious-include) */

/* --- the loader --- */

static void note_library(void *ctx, const char *name, const char *path)
{
    char *text = ctx;
    sprintf(text + strlen(text), "%s=%s;", name, path ? path : "(none)");
}

static void what_the_loader_lists(void)
{
    static const struct {
        const char *answer, *libraries, *complaint;
    } rows[] = {
        {"", "", ""},
        {"\tlibc.so.6 => /lib/libc.so.6 (0x0001)\n", "libc.so.6=/lib/libc.so.6;", ""},
        {"\tlibx.so => not found\n", "libx.so=(none);", ""},
        {"\t/lib64/ld.so (0x2)\n\tlinux-vdso.so.1 (0x3)\n",
         "/lib64/ld.so=/lib64/ld.so;linux-vdso.so.1=linux-vdso.so.1;", ""},
        {"\tstatically linked\n", "statically linked=(none);", ""},
        {"a: error\nb: error\n\tlib.so => /lib.so (0x1)", "lib.so=/lib.so;", "a: error"},
        {"\n\nlate\n", "", "late"},
        {"a very long line\n", "", "a very long"},
        {NULL, "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char libraries[256] = "", complaint[12] = "before";
        answer = rows[i].answer;
        CHECK_INT(
            cs_loader_list("file", NULL, note_library, libraries, complaint, sizeof complaint),
            answer != NULL);
        CHECK_STR(libraries, rows[i].libraries);
        CHECK_STR(complaint, rows[i].complaint);
    }
}

/* The first file of that name that is found. */
static void which_library_is_found(void)
{
    static const struct {
        const char *answer, *found; /* NULL: none */
    } rows[] = {{"\tlib.so => /a/lib.so (0x1)\n\tlib.so => /b/lib.so (0x1)\n", "/a/lib.so"},
                {"\tlib.so => not found\n\tlib.so => /b/lib.so (0x1)\n", "/b/lib.so"},
                {"\t/c/lib.so (0x1)\n", "/c/lib.so"},
                {"\tlib.so.1 => /a/lib.so (0x1)\n", NULL},
                {"\tlib.so => not found\n", NULL},
                {"lib.so\n", NULL},
                {"", NULL},
                {NULL, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[64] = "";
        answer = rows[i].answer;
        CHECK_INT(cs_loader_find("lib.so", "", NULL, NULL, path, sizeof path),
                  rows[i].found != NULL);
        CHECK_STR(path, rows[i].found ? rows[i].found : "");
    }
}

/* --- a Python --- */

#define WHOLE                                                                                      \
    "noise\npython\t/bin/python3\t3.12.1\nmodule\ttorch\t/site/torch\npackage\ttorch\t2.9\t/"      \
    "site\n"                                                                                       \
    "module\tjax\t/a b\nmore\tnoise\npackage\tjax\t0.7\t/o\nend\n"

static const char *const names[] = {"torch", NULL};

static void what_a_python_says(void)
{
    struct cs_packages packages;
    char why[32];
    answer = WHOLE;
    if (!cs_packages_read(&packages, "p", names, why, sizeof why) || packages.modules != 2)
        return CHECK(!"two modules");
    CHECK_STR(packages.python, "/bin/python3");
    CHECK_STR(packages.version, "3.12.1");
    CHECK_STR(packages.module[0].name, "torch");
    CHECK_STR(packages.module[0].folder, "/site/torch");
    CHECK_STR(packages.module[1].folder, "/a b");
    CHECK_INT(packages.packages, 2);
    CHECK_STR(packages.package[0].version, "2.9");
    CHECK_STR(packages.package[1].name, "jax");
    CHECK_STR(packages.package[1].folder, "/o");
    cs_packages_free(&packages);
    CHECK(!packages.text && packages.modules + packages.packages == 0);
}

/* Of an answer that is not whole the last line that is none of ours. */
static void answers_that_are_not_whole(void)
{
    static const struct {
        const char *answer, *why;
    } rows[] = {{NULL, "it cannot be run"},
                {"", "it cannot be run"},
                {"end\n", "it cannot be run"},
                {"python\tp\t3\n", "it cannot be run"},
                {"Traceback\n  x\nImportError: no\n", "ImportError: no"},
                {"a\nb\n\npython\tp\t3\n", "b"},
                {"ended\npython\tp\t3\n", "ended"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_packages packages;
        char why[32] = "";
        answer = rows[i].answer;
        CHECK(!cs_packages_read(&packages, "p", names, why, sizeof why));
        CHECK_STR(why, rows[i].why);
        CHECK(!packages.text);
    }
    for (int request = 0; request < 4; request++) {
        struct cs_packages packages;
        char why[32];
        answer = WHOLE;
        refuses = request;
        CHECK(!cs_packages_read(&packages, "p", names, why, sizeof why));
        CHECK_INT(refuses, -1);
        CHECK(!packages.text && packages.modules + packages.packages == 0);
    }
}

int main(void)
{
    TEST(what_the_loader_lists);
    TEST(which_library_is_found);
    TEST(what_a_python_says);
    TEST(answers_that_are_not_whole);
    return REPORT();
}
