/* Where `convshim predict` looks for cuDNN: at the given place alone, else where the loader finds
 * one, else in the packages of the python3 on PATH, here a script of the test's own. */
#include "cli/predict/find_cudnn.h"

#include "check.h"
#include "cudnn/standalone/standalone.h"
#include "descriptors.h"
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/convshim-find-XXXXXX";
static char tried[512];     /* files that were to be opened, each with a comma */
static const char *present; /* the one that is there */

bool cs_standalone_open(const char *file, char *error, size_t size)
{
    snprintf(tried + strlen(tried), sizeof tried - strlen(tried), "%s,", file);
    snprintf(error, size, "not this one");
    return present && strcmp(file, present) == 0;
}

static bool find(const char *path, const char *there)
{
    char error[64] = "";
    tried[0] = '\0';
    present = there;
    bool found = cs_find_cudnn(path, error, sizeof error);
    CHECK(found || *error);
    return found;
}

/* A python3 that prints this. */
static void write_python(const char *lines)
{
    FILE *file = fopen("python3", "w");
    CHECK(file && fprintf(file, "#!/bin/sh\nprintf '%s'\n", lines) > 0 && fclose(file) == 0);
    CHECK_INT(chmod("python3", 0700), 0);
}

static void only_where_it_is_said_to_be(void)
{
    char here[PATH_MAX], wanted[PATH_MAX + 32];
    CHECK(find("a file", "a file"));
    CHECK_STR(tried, "a file,");
    CHECK(getcwd(here, sizeof here) != NULL);
    snprintf(wanted, sizeof wanted, "%s/libcudnn.so.9", here);
    CHECK(find(here, wanted));
    CHECK(!find("elsewhere", NULL));
    CHECK_STR(tried, "elsewhere,");
}

static void what_the_loader_finds_comes_first(void)
{
    write_python("/a\\n");
    CHECK(find(NULL, "libcudnn.so.9"));
    CHECK_STR(tried, "libcudnn.so.9,");
}

static void then_the_folders_of_the_package(void)
{
    write_python("/a\\n/b c\\n/d\\n");
    CHECK(find(NULL, "/b c/cudnn/lib/libcudnn.so.9"));
    CHECK_STR(tried, "libcudnn.so.9,/a/cudnn/lib/libcudnn.so.9,/b c/cudnn/lib/libcudnn.so.9,");
    CHECK(!find(NULL, NULL));
    write_python("\\n"); /* there is no such package */
    CHECK(!find(NULL, "/cudnn/lib/libcudnn.so.9"));
    CHECK_STR(tried, "libcudnn.so.9,");
}

int main(void)
{
    char path[PATH_MAX], remove[64];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", folder);
    setenv("PATH", path, 1);
    descriptors_begin();
    TEST(only_where_it_is_said_to_be);
    TEST(what_the_loader_finds_comes_first);
    TEST(then_the_folders_of_the_package);
    TEST(no_descriptor_is_left_open);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
