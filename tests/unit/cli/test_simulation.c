/* What a simulation prepares, on a device that is a folder of the test's own. */
#include "cli/simulate/simulation.h"

#include "check.h"
#include "cli/common/cli.h"
#include "cli/run/preload.h"
#include "file_contents.h"
#include "heap.h"
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/convshim-simulation-XXXXXX";
static char complaint[512];

void cs_cli_complain(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(complaint, sizeof complaint, format, list);
    va_end(list);
}

bool cs_preload_library(const char *named, char *path, size_t size, char *why, size_t why_size)
{
    if (!named)
        return false;
    snprintf(path, size, "%s/%s", folder, named);
    snprintf(why, why_size, "no %s", named);
    return access(path, F_OK) == 0;
}

const char *cs_preload_next(const char **list_p, size_t *length_p)
{
    (void)list_p;
    *length_p = 0;
    return NULL;
}

bool cs_preload_is_library(const char *path, size_t length)
{
    (void)path, (void)length;
    return false;
}

char *cs_preload_list(const char *library, const char *now)
{
    (void)library;
    return strdup(now);
}

static struct cs_simulation simulation;
static int closed[2], freed; /* servers; the program and the options */

void cs_fork_server_close(struct cs_fork_server *server)
{
    size_t which = (size_t)(server - simulation.server);
    CHECK(which < 2);
    closed[which % 2]++;
}

void cs_simulated_program_free(struct cs_simulated_program *program)
{
    freed += program == &simulation.program;
}

const char *cs_library_options_variable(const struct cs_library_options *options, int index)
{
    (void)options, (void)index;
    return NULL;
}

void cs_library_options_free(struct cs_library_options *options)
{
    freed += options == &simulation.options;
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    CHECK(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    CHECK_INT(close(file), 0);
}

static bool begin(const char *library, const char *keep)
{
    static char *libraries[] = {"/a/libcublas.so.13", "/a/libcufft.so.12"};
    memset(&simulation, 0, sizeof simulation);
    simulation.title = "simulate";
    simulation.program =
        (struct cs_simulated_program){.cuda = 12, .library = libraries, .libraries = 2};
    complaint[0] = '\0';
    return cs_simulation_begin(&simulation, library, keep);
}

static mode_t mode_of(const char *path)
{
    struct stat facts;
    CHECK(stat(path, &facts) == 0);
    return facts.st_mode & 0777;
}

/* What is kept is the user's, with a mask of theirs; what is in it nobody else's. */
static void modes_of_folders(void)
{
    mode_t mask = umask(0022);
    CHECK(begin("library.so", "masked"));
    CHECK_INT(mode_of("masked"), 0755);
    CHECK_INT(mode_of("masked/python"), 0700);
    umask(0);
    CHECK(begin("library.so", "open"));
    CHECK_INT(mode_of("open"), 0777);
    CHECK_INT(mode_of("open/python"), 0700);
    umask(mask);
}

/* All that is taken is given back; where memory is short it does not begin. */
static void memory_of_a_beginning(void)
{
    bool began = true;
    for (int round = 0; round < 3; round++) {
        long long taken = atomic_load(&heap_taken);
        CHECK(begin("library.so", "work"));
        CHECK(round == 0 || atomic_load(&heap_taken) == taken); /* the first fills caches */
    }
#ifdef HEAP_REFUSES
    int requests = 0;
    for (began = false; !began && requests < 100; requests++) {
        long long taken = atomic_load(&heap_taken);
        atomic_store(&heap_left, requests);
        (void)unlink("said");
        began = begin("library.so", "work");
        const bool all = atomic_exchange(&heap_left, -1) >= 0;
        CHECK(began ? access("said", F_OK) == 0 : *complaint != '\0');
        began = began && all;
        CHECK_INT(atomic_load(&heap_taken), taken);
    }
    CHECK(requests > 2);
#endif
    CHECK(began);
}

static void stand_ins_and_the_hook_are_written(void)
{
    char wanted[512];
    CHECK(begin("library.so", "work"));
    CHECK_STR(complaint, "");
    snprintf(wanted, sizeof wanted,
             "--out %s/work/standins --cuda 12 /a/libcublas.so.13 /a/libcufft.so.12\n", folder);
    CHECK_STR(contents("said"), wanted);
    CHECK(strstr(contents("work/python/sitecustomize.py"), "import") != NULL);
}

/* What a stand-in cannot be made for is said and left; what makes them has to be there. */
static void stand_ins_that_fail(void)
{
    write_file("simdev/standins", "#!/bin/sh\necho no such library; exit 1\n", 0700);
    CHECK(begin("library.so", "work"));
    CHECK(strstr(complaint, "/simdev/standins: no such library") != NULL);
    CHECK_INT(unlink("simdev/standins"), 0);
    CHECK(!begin("library.so", "work"));
    CHECK(*complaint);
}

static void nothing_begins_without_its_parts(void)
{
    CHECK(!begin("none.so", "work"));
    CHECK_STR(complaint, "no none.so");
    CHECK(!begin("library.so", "no folder/work"));
    CHECK(strstr(complaint, "no folder/work: No such file") != NULL);
    CHECK_INT(unlink("simdev/libcudart.so.13"), 0);
    CHECK(!begin("library.so", "work"));
    CHECK(strstr(complaint, "the simulated device is not installed") != NULL);
}

/* Everything is given back; the folder goes with all that is in it, unless it is to be kept. */
static void what_stays_at_the_end(void)
{
    char work[PATH_MAX], inside[PATH_MAX + 16];
    write_file("simdev/standins", "#!/bin/sh\n", 0700);
    for (int keep = 0; keep < 2; keep++) {
        CHECK(begin("library.so", keep ? "kept" : NULL));
        CHECK_INT(simulation.keep, keep);
        snprintf(work, sizeof work, "%s", simulation.work);
        snprintf(inside, sizeof inside, "%s/deep", work);
        CHECK_INT(mkdir(inside, 0700), 0);
        CHECK_INT(symlink("/", strcat(inside, "/link")), 0);
        closed[0] = closed[1] = freed = 0;
        cs_simulation_end(&simulation);
        CHECK_INT(closed[0], 1);
        CHECK_INT(closed[1], 1);
        CHECK_INT(freed, 2);
        CHECK_INT(access(work, F_OK), keep ? 0 : -1);
        CHECK_INT(access(inside, F_OK), keep ? 0 : -1);
    }
    memset(&simulation, 0, sizeof simulation); /* one that made no folder removes none */
    cs_simulation_end(&simulation);
    CHECK_INT(access(folder, F_OK), 0);
}

/* Its own folder is made where temporary ones are. */
static void where_the_folder_is(void)
{
    static const struct {
        const char *temporary; /* TMPDIR */
        const char *begins;    /* the path; NULL: it is refused */
    } rows[] = {{NULL, "/tmp/convshim-"}, {"temporary", NULL}, {"with blank", ""}, {"nowhere", ""}};
    CHECK(mkdir("temporary", 0700) == 0 && mkdir("with blank", 0700) == 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char wanted[PATH_MAX];
        bool good = i < 2;
        unsetenv("TMPDIR");
        if (rows[i].temporary)
            setenv("TMPDIR", rows[i].temporary, 1);
        CHECK_INT(begin("library.so", NULL), good);
        snprintf(wanted, sizeof wanted, "%s/%s/convshim-", folder,
                 rows[i].temporary ? rows[i].temporary : "");
        if (good)
            CHECK(strncmp(simulation.work, i == 0 ? rows[i].begins : wanted,
                          strlen(i == 0 ? rows[i].begins : wanted)) == 0);
        else
            CHECK(strstr(complaint, i == 2 ? "cannot name a path with a blank or a colon"
                                           : ": No such file or directory"));
        CHECK_INT(*simulation.work != '\0', i < 3); /* what was not made is not removed */
        cs_simulation_end(&simulation);
        CHECK_INT(rmdir(rows[i].temporary ? rows[i].temporary : "none"), i == 0 || i == 3 ? -1 : 0);
    }
    unsetenv("TMPDIR");
}

/* The hook is written into a folder that is there, or not at all. */
static void a_hook_that_cannot_be_written(void)
{
    char long_name[PATH_MAX];
    CHECK(mkdir("work2", 0700) == 0);
    write_file("work2/python", "", 0600);
    CHECK(!begin("library.so", "work2"));
    CHECK(strstr(complaint, "/work2/python/sitecustomize.py: Not a directory"));
    CHECK(unlink("work2/python") == 0 && mkdir("work2/python", 0700) == 0);
    CHECK(begin("library.so", "work2"));
    CHECK(symlink("/dev/full", "work2/python/full") == 0 &&
          rename("work2/python/full", "work2/python/sitecustomize.py") == 0);
    CHECK(!begin("library.so", "work2"));
    CHECK(strstr(complaint, "/work2/python/sitecustomize.py: No space left on device"));
    snprintf(long_name, sizeof long_name, "%s", folder);
    while (strlen(long_name) < PATH_MAX - 220) {
        size_t length = strlen(long_name);
        memset(long_name + length, 'a', 100);
        long_name[length] = '/';
        long_name[length + 100] = '\0';
        CHECK(mkdir(long_name, 0700) == 0);
    }
    size_t length = strlen(long_name),
           left = PATH_MAX - 1 - strlen("/python/sitecustomize.py") - length;
    memset(long_name + length, 'a', left);
    long_name[length] = '/';
    long_name[length + left] = '\0';
    CHECK(begin("library.so", long_name)); /* as long as a path can be */
    strcat(long_name, "/python/sitecustomize.py");
    CHECK_INT(strlen(long_name), PATH_MAX - 1);
    CHECK_INT(access(long_name, F_OK), 0);
}

/* Beside the library, in either folder, or where a variable says. */
static void where_the_device_is(void)
{
    CHECK(rename("simdev", "other") == 0);
    CHECK(!begin("library.so", "work"));
    CHECK(mkdir("convshim", 0700) == 0 && rename("other", "convshim/simdev") == 0);
    CHECK(begin("library.so", "work"));
    CHECK(strstr(simulation.device, "/convshim/simdev"));
    CHECK(rename("convshim/simdev", "other") == 0);
    CHECK(!begin("library.so", "work"));
    setenv("SIMDEV_DIR", "other", 1);
    CHECK(begin("library.so", "work"));
    CHECK(strstr(simulation.device, "/other"));
    CHECK(rename("other", "simdev") == 0);
    CHECK(!begin("library.so", "work"));
    unsetenv("SIMDEV_DIR");
    CHECK(begin("library.so", "work"));
}

int main(void)
{
    char remove[64], real[PATH_MAX];
    heap_watch();
    unsetenv("SIMDEV_DIR");
    if (!mkdtemp(folder) || chdir(folder) != 0 || !getcwd(real, sizeof real) ||
        strcmp(real, folder) != 0 || mkdir("simdev", 0700) != 0)
        return 1;
    write_file("library.so", "", 0600);
    write_file("simdev/libcudart.so.13", "", 0600);
    write_file("simdev/standins", "#!/bin/sh\necho \"$@\" >said\n", 0700);
    TEST(stand_ins_and_the_hook_are_written);
    TEST(modes_of_folders);
    TEST(memory_of_a_beginning);
    TEST(stand_ins_that_fail);
    TEST(what_stays_at_the_end);
    TEST(where_the_folder_is);
    TEST(a_hook_that_cannot_be_written);
    TEST(where_the_device_is);
    TEST(nothing_begins_without_its_parts);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
