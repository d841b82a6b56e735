/* Which of the loaded libraries is taken for cuDNN where it has another name, or is inside of one.
 */
#include "cudnn/bind/real.h"

#include "check.h"
#include "cudnn/bind/find_dlsym.h"
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

enum {
    MOST = 4
};

/* What is loaded, of the test's own. */
static struct library {
    const char *path;
    bool exports; /* cudnnGetVersion can be looked up in it */
    bool defines; /* and is its own */
    size_t version;
    int opened;
} loaded[MOST], elsewhere;
static int libraries;
#include "cudnn/loaded_libraries.h"
static struct library *asked; /* the library whose version is wanted */

static size_t version_of_asked(void)
{
    return asked->version;
}

static void *look_up(void *library, const char *name)
{
    CHECK_STR(name, "cudnnGetVersion");
    asked = library;
    return asked->exports ? (void *)version_of_asked : NULL;
}

static int holder_of(const void *address, Dl_info *there, void **own, int flags)
{
    CHECK(address == (void *)version_of_asked && flags == RTLD_DL_LINKMAP);
    memset(there, 0, sizeof *there);
    *own = asked->defines ? asked : &elsewhere;
    return 1;
}

struct cs_find_dlsym_libc cs_find_dlsym_libc(void)
{
    return (struct cs_find_dlsym_libc){look_up, NULL};
}

bool cs_find_dlsym_ours(const void *base)
{
    (void)base;
    return false;
}

#define dlopen open_loaded
#define dlclose close_loaded
#define dladdr1 holder_of
#define dl_iterate_phdr each
#include "cudnn/bind/real.c" /* NOLINT(bugprone-suspicious-include) */
#undef dlopen
#undef dlclose
#undef dladdr1
#undef dl_iterate_phdr

/* The library that is taken, NULL: none. Nothing else stays open. */
static const char *taken(bool any_major)
{
    struct places places = {.count = 0};
    const struct library *found = NULL;
    if (find_others(&places, any_major)) {
        CHECK_INT(places.count, 1);
        found = places.library[0];
    } else {
        CHECK_INT(places.count, 0);
    }
    for (int i = 0; i < libraries; i++) {
        CHECK_INT(loaded[i].opened, &loaded[i] == found);
        loaded[i].opened = 0;
    }
    return found ? found->path : "none";
}

static void load(int count, const struct library *these)
{
    libraries = count;
    memcpy(loaded, these, (size_t)count * sizeof *these);
}

static const struct library program = {"/bin/program", true, false, 90100, 0};
static const struct library older = {"/a/libcudnn.so.8", true, true, 8907, 0};
static const struct library packed = {"/a/libcudnn-4b2c0e5f.so.9.1", true, true, 90100, 0};
static const struct library silent = {"/a/libcudnn.so.10", false, false, 0, 0};
static const struct library part = {"/a/libcudnn_graph.so.9", true, true, 90100, 0};
static const struct library framework = {"/b/libframework.so", true, true, 90100, 0};
static const struct library old_framework = {"/b/libframework.so", true, true, 8907, 0};
static const struct library caller = {"/b/libcaller.so", true, false, 90100, 0};

static void another_name(void)
{
    load(2, (struct library[]){program, packed});
    CHECK_STR(taken(false), packed.path);
    load(3, (struct library[]){program, older, packed});
    CHECK_STR(taken(false), packed.path);
    load(2, (struct library[]){program, silent}); /* it does not say which it is */
    CHECK_STR(taken(false), silent.path);
    load(2, (struct library[]){program, part});
    CHECK_STR(taken(false), part.path); /* not by its name: it exports its own functions */
}

static void another_major_version_only_where_any_will_do(void)
{
    load(2, (struct library[]){program, older});
    CHECK_STR(taken(false), "none");
    CHECK_STR(taken(true), older.path);
    load(2, (struct library[]){program, old_framework});
    CHECK_STR(taken(false), "none");
    CHECK_STR(taken(true), old_framework.path);
}

static void inside_of_a_library_that_exports_it(void)
{
    load(3, (struct library[]){program, caller, framework});
    CHECK_STR(taken(false), framework.path);
    load(2, (struct library[]){program, caller}); /* it only loads what has the function */
    CHECK_STR(taken(false), "none");
    CHECK_STR(taken(true), "none");
    load(3, (struct library[]){program, framework, packed}); /* names come before contents */
    CHECK_STR(taken(false), packed.path);
}

/* A name that has no room is left out whole, and the last one is followed by an empty one. */
static void names_as_far_as_there_is_room(void)
{
    static const struct {
        const char *name;
        size_t room, taken;
    } file[] = {{"abc", 6, 4}, {"abc", 5, 4}, {"abc", 4, 0}, {"abc", 1, 0}, {"", 6, 0}};
    struct files files = {.names = cs_pages(NAMES_BYTES)};
    if (!files.names)
        return CHECK(!"pages");
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        struct dl_phdr_info object = {.dlpi_name = file[i].name};
        size_t begin = NAMES_BYTES - file[i].room;
        memset(files.names + begin, 0, file[i].room);
        files.used = begin;
        CHECK_INT(add_file(&object, sizeof object, &files), 0);
        CHECK_INT(files.used - begin, file[i].taken);
        CHECK_STR(files.names + begin, file[i].taken > 0 ? file[i].name : "");
    }
    cs_pages_free(files.names, NAMES_BYTES);
}

int main(void)
{
    TEST(another_name);
    TEST(another_major_version_only_where_any_will_do);
    TEST(inside_of_a_library_that_exports_it);
    TEST(names_as_far_as_there_is_room);
    return REPORT();
}
