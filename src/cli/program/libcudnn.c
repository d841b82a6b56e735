/* Finds a libcudnn file and its version without loading it. */
#include "cli/program/command_facts.h"

#include "base/path.h"
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    SERVED = 9
};

bool cs_libcudnn_find(const char *caller, char path[PATH_MAX])
{
    return cs_loader_find("libcudnn.so.9", caller, path, PATH_MAX) ||
           cs_loader_find("libcudnn.so.8", caller, path, PATH_MAX);
}

/* cuDNN 9 widened the minor number. */
static int number_of(int major, int minor, int patch)
{
    return major * (major < 9 ? 1000 : 10000) + minor * 100 + patch;
}

/* The part of a path after ".so.": "9.19.0" of "libcudnn.so.9.19.0". "" if there is none. */
static const char *suffix_of(const char *path)
{
    const char *so = strstr(cs_path_file(path), ".so.");
    return so ? so + strlen(".so.") : "";
}

/* The version in the name of a file; 0 if the name has only the major number. */
static int version_of_name(const char *path)
{
    int major, minor, patch = 0;
    const int numbers = sscanf(suffix_of(path), "%d.%d.%d", &major, &minor, &patch);
    return numbers >= 2 ? number_of(major, minor, patch) : 0;
}

/* NVIDIA's packages for Python and conda have the header next to the library's folder. */
static int version_of_header(const char *library)
{
    char path[PATH_MAX + 64], line[256];
    int major = 0, minor = 0, patch = 0;
    snprintf(path, sizeof path, "%.*s../include/cudnn_version.h",
             (int)(cs_path_file(library) - library), library);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        (void)sscanf(line, "#define CUDNN_MAJOR %d", &major);
        (void)sscanf(line, "#define CUDNN_MINOR %d", &minor);
        (void)sscanf(line, "#define CUDNN_PATCHLEVEL %d", &patch);
    }
    if (file)
        fclose(file);
    return number_of(major, minor, patch);
}

int cs_libcudnn_version(const char *path)
{
    char real[PATH_MAX];
    const int version = realpath(path, real) ? version_of_name(real) : 0;
    return version ? version : version_of_header(path);
}

const char *cs_libcudnn_title(const char *path, int version, char *text, size_t size)
{
    int major = version < 10000 ? 1000 : 10000;
    if (version)
        snprintf(text, size, "cuDNN %d.%d.%d", version / major, version % major / 100,
                 version % 100);
    else
        snprintf(text, size, "cuDNN %s", suffix_of(path));
    return text;
}

bool cs_libcudnn_served(const char *path, int version)
{
    return version ? version / 10000 == SERVED : atoi(suffix_of(path)) == SERVED;
}

/* True if two files have different sizes. Two copies of one cuDNN do not count as different. */
static bool differ(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_size != b.st_size;
}

/* The part that opens another part, and whose RPATH counts: libcudnn.so.9 opens the first ones, the
 * graph part opens the engines. */
static const char *opener_of(const char *part)
{
    static const char *const opened[] = {"libcudnn_graph.", "libcudnn_cnn.", "libcudnn_adv.",
                                         "libcudnn_ext."};
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
        if (strncmp(part, opened[i], strlen(opened[i])) == 0)
            return "libcudnn.so.9";
    return "libcudnn_graph.so.9";
}

bool cs_libcudnn_foreign(const char *path, char *line, size_t size)
{
    char pattern[PATH_MAX + 32], opener[PATH_MAX + 32], taken[PATH_MAX];
    const int folder = (int)(cs_path_file(path) - path); /* with the slash */
    bool foreign = false;
    glob_t parts;
    snprintf(pattern, sizeof pattern, "%.*slibcudnn_*.so.9", folder, path);
    if (folder == 0 || glob(pattern, 0, NULL, &parts) != 0)
        return false;
    for (size_t i = 0; i < parts.gl_pathc && !foreign; i++) {
        const char *own = parts.gl_pathv[i], *name = cs_path_file(own);
        snprintf(opener, sizeof opener, "%.*s%s", folder, path, opener_of(name));
        foreign = cs_loader_find(name, opener, taken, sizeof taken) && differ(own, taken);
    }
    globfree(&parts);
    if (foreign)
        snprintf(line, size,
                 "two cuDNNs are mixed: the loader takes %s instead of the file in %.*s.", taken,
                 folder - 1, path);
    return foreign;
}
