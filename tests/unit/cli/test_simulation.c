/* What a simulation prepares, on a device that is a folder of the test's own. */
#include "cli/simulate/simulation.h"

#include "check.h"
#include "cli/common/cli.h"
#include "cli/run/preload.h"
#include "file_contents.h"
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

void cs_fork_server_close(struct cs_fork_server *server)
{
    (void)server;
}

void cs_simulated_program_free(struct cs_simulated_program *program)
{
    (void)program;
}

const char *cs_library_options_variable(const struct cs_library_options *options, int index)
{
    (void)options, (void)index;
    return NULL;
}

void cs_library_options_free(struct cs_library_options *options)
{
    (void)options;
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
    static struct cs_simulation simulation;
    memset(&simulation, 0, sizeof simulation);
    simulation.title = "simulate";
    simulation.program =
        (struct cs_simulated_program){.cuda = 12, .library = libraries, .libraries = 2};
    complaint[0] = '\0';
    return cs_simulation_begin(&simulation, library, keep);
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

int main(void)
{
    char remove[64], real[PATH_MAX];
    unsetenv("SIMDEV_DIR");
    if (!mkdtemp(folder) || chdir(folder) != 0 || !getcwd(real, sizeof real) ||
        strcmp(real, folder) != 0 || mkdir("simdev", 0700) != 0)
        return 1;
    write_file("library.so", "", 0600);
    write_file("simdev/libcudart.so.13", "", 0600);
    write_file("simdev/standins", "#!/bin/sh\necho \"$@\" >said\n", 0700);
    TEST(stand_ins_and_the_hook_are_written);
    TEST(stand_ins_that_fail);
    TEST(nothing_begins_without_its_parts);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
