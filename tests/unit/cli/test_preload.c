/* How a program is given the library: which file, what is preloaded before and behind it, which
 * items of CONVSHIM_CONFIG stay. */
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    GUARD = 16
};
static unsigned char *guard; /* behind what was asked for last */
static bool unreadable;      /* every file */

static void *guarded(size_t bytes)
{
    unsigned char *memory = malloc(bytes + GUARD);
    guard = memory + bytes;
    memset(guard, 0xa5, GUARD);
    return memory;
}

static void check_guard(void)
{
    for (int i = 0; i < GUARD; i++)
        CHECK_INT(guard[i], 0xa5);
}

static int access_made(const char *path, int mode)
{
    errno = EACCES;
    return unreadable ? -1 : access(path, mode);
}

#define malloc(bytes) guarded(bytes)
#define access(path, mode) access_made(path, mode)
#define cs_cli_installed installed_made
#include "cli/run/preload.c" /* NOLINT(bugprone-suspicious-include) */
#undef malloc
#undef access

static char folder[] = "/tmp/convshim-preload-XXXXXX";
static const char *installed; /* NULL: it is not */

bool installed_made(const char *name, char path[PATH_MAX])
{
    CHECK_STR(name, "libconvshim.so");
    snprintf(path, PATH_MAX, "%s", installed ? installed : "");
    return installed != NULL;
}

static const char *in(const char *name)
{
    static char path[4][PATH_MAX];
    static int next;
    char *to = path[next++ % 4];
    snprintf(to, PATH_MAX, "%s/%s", folder, name);
    return to;
}

static void touch(const char *name)
{
    int file = open(in(name), O_WRONLY | O_CREAT, 0600);
    CHECK(file >= 0 && close(file) == 0);
}

static void which_library_is_taken(void)
{
    static const struct {
        const char *named, *installed;
        const char *path; /* NULL: none */
        const char *why;  /* behind what was named */
    } rows[] = {{"a.so", NULL, "a.so", NULL},
                {"./a.so", "/x/libconvshim.so", "a.so", NULL},
                {"link.so", NULL, "a.so", NULL},
                {"none.so", "/x/libconvshim.so", NULL, "none.so: No such file or directory"},
                {"dangling.so", NULL, NULL, "dangling.so: No such file or directory"},
                {NULL, NULL, NULL,
                 "libconvshim.so is neither beside this program nor where it is installed: name "
                 "it with --library"},
                {"with blank.so", NULL, NULL, NULL},
                {"with:colon.so", NULL, NULL, NULL}};
    touch("a.so");
    touch("with blank.so");
    touch("with:colon.so");
    CHECK(symlink("a.so", "link.so") == 0 && symlink("nowhere", "dangling.so") == 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[PATH_MAX] = "", why[PATH_MAX + 128] = "", wanted[PATH_MAX + 128];
        installed = rows[i].installed;
        bool taken = cs_preload_library(rows[i].named, path, sizeof path, why, sizeof why);
        CHECK_INT(taken, rows[i].path != NULL);
        if (taken)
            CHECK_STR(path, in(rows[i].path));
        if (rows[i].why)
            CHECK_STR(why, rows[i].why);
        if (taken || rows[i].why)
            continue;
        snprintf(wanted, sizeof wanted, "%s: LD_PRELOAD cannot name a path with a blank or a colon",
                 in(rows[i].named));
        CHECK_STR(why, wanted);
    }
    char path[PATH_MAX], why[PATH_MAX + 128];
    unreadable = true;
    CHECK(!cs_preload_library("a.so", path, sizeof path, why, sizeof why));
    CHECK_STR(why, "a.so: Permission denied");
    unreadable = false;
}

/* The installed one is taken where its path is whole. */
static void the_installed_library(void)
{
    char why[256];
    installed = "/opt/libconvshim.so";
    for (size_t size = 18; size < 23; size++) {
        char path[32] = "";
        bool whole = size > strlen(installed);
        CHECK_INT(cs_preload_library(NULL, path, size, why, sizeof why), whole);
        if (whole)
            CHECK_STR(path, installed);
    }
    installed = "/with blank/libconvshim.so";
    char path[PATH_MAX];
    CHECK(!cs_preload_library(NULL, path, sizeof path, why, sizeof why));
    CHECK(strstr(why, "/with blank/libconvshim.so: LD_PRELOAD cannot"));
}

static void files_of_a_list(void)
{
    static const char *const lists[][4] = {{"", NULL},
                                           {" : :", NULL},
                                           {"a", "a", NULL},
                                           {"a b", "a", "b", NULL},
                                           {" :a:b c", "a", "b", "c"},
                                           {"/x/a.so::/b ", "/x/a.so", "/b", NULL}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const char *rest = lists[i][0], *file;
        size_t length;
        int found = 0;
        while ((file = cs_preload_next(&rest, &length)) && found < 3) {
            const char *wanted = lists[i][1 + found++];
            CHECK(wanted && length == strlen(wanted) && memcmp(file, wanted, length) == 0);
        }
        CHECK(found == 3 || !lists[i][1 + found]);
        CHECK_INT(length, file ? length : 0);
    }
}

static void what_is_the_library(void)
{
    static const struct {
        const char *path;
        size_t length; /* 0: all */
        bool is;
    } rows[] = {{"libconvshim.so", 0, true},
                {"/libconvshim.so", 0, true},
                {"/a/b/libconvshim.so", 0, true},
                {"/a/libconvshim.so:/b", strlen("/a/libconvshim.so"), true},
                {"/a/libconvshim.so", strlen("/a/libconvshim.s"), false},
                {"/a/libconvshim.so.1", 0, false},
                {"/a/libconvshin.so", 0, false},
                {"/a/xlibconvshim.so", 0, false},
                {"/libconvshim.so/other.so", 0, false},
                {"", 0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length = rows[i].length > 0 ? rows[i].length : strlen(rows[i].path);
        CHECK_INT(cs_preload_is_library(rows[i].path, length), rows[i].is);
    }
}

/* Before everything but sanitizers' runtimes; a list that has it stays as it is. */
static void lists_with_the_library(void)
{
    static const struct {
        const char *now, *then;
    } rows[] = {{NULL, "/l.so"},
                {"", "/l.so"},
                {" ", "/l.so"},
                {"a", "/l.so:a"},
                {" a:b", "/l.so:a:b"},
                {"/l.so", "/l.so"},
                {"a:/l.so b", "a:/l.so b"},
                {"/l.so.1", "/l.so:/l.so.1"},
                {"/l.s", "/l.so:/l.s"},
                {"/k.so", "/l.so:/k.so"},
                {"/m.so", "/l.so:/m.so"},
                {"libasan.so", "libasan.so:/l.so"},
                {"/usr/libtsan.so.2", "/usr/libtsan.so.2:/l.so"},
                {"liblsan.so:a", "liblsan.so:/l.so:a"},
                {"a libubsan.so.1  b", "a libubsan.so.1:/l.so:b"},
                {"libclang_rt.asan-x86_64.so:", "libclang_rt.asan-x86_64.so:/l.so"},
                {"libasan.s", "/l.so:libasan.s"},
                {"libasan.so/x", "/l.so:libasan.so/x"},
                {"xlibasan.so", "/l.so:xlibasan.so"},
                {"libmsan.so", "/l.so:libmsan.so"},
                {"libasan.so:a:libubsan.so:b", "libasan.so:a:libubsan.so:/l.so:b"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *list = cs_preload_list("/l.so", rows[i].now);
        CHECK_STR(list, rows[i].then);
        free(list);
    }
}

/* One more item, in place of those of the same option. */
static void items_of_options(void)
{
    static const struct {
        const char *now, *then;
    } rows[] = {{NULL, "tiles=4"},
                {"", "tiles=4"},
                {"a=1", "a=1;tiles=4"},
                {"a=1;b=2\nc=3", "a=1;b=2;c=3;tiles=4"},
                {"tiles=7", "tiles=4"},
                {"tiles=7;a=1", "a=1;tiles=4"},
                {" tiles =7;a=1;tiles\t= 8\n\ttiles=9", "a=1;tiles=4"},
                {"tile=7", "tile=7;tiles=4"},
                {"tilesx=7", "tilesx=7;tiles=4"},
                {"tiles", "tiles;tiles=4"},
                {"tiles;=1", "tiles;=1;tiles=4"},
                {"xtiles=1", "xtiles=1;tiles=4"},
                {"tilez=1", "tilez=1;tiles=4"},
                {";;a=1;\n;", "a=1;tiles=4"},
                {"a;b", "a;b;tiles=4"},
                {"a=tiles=1", "a=tiles=1;tiles=4"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *items = cs_preload_items(rows[i].now, "tiles", "4");
        CHECK_STR(items, rows[i].then);
        check_guard();
        free(items);
    }
    char value[200], wanted[300];
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    char *items = cs_preload_items("a=1", "name", value);
    snprintf(wanted, sizeof wanted, "a=1;name=%s", value);
    CHECK_STR(items, wanted);
    check_guard();
    free(items);
}

int main(void)
{
    char command[64];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    TEST(which_library_is_taken);
    TEST(the_installed_library);
    TEST(files_of_a_list);
    TEST(what_is_the_library);
    TEST(lists_with_the_library);
    TEST(items_of_options);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(command) != 0;
}
