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
    SERVED = 9,
    MAJOR = 10000 /* of a version */
};

bool cs_libcudnn_find(const char *caller, char path[PATH_MAX])
{
    return cs_loader_find("libcudnn.so.9", caller, path, PATH_MAX) ||
           cs_loader_find("libcudnn.so.8", caller, path, PATH_MAX);
}

static int number_of(int major, int minor, int patch)
{
    return major * MAJOR + minor * 100 + patch;
}

/* Returns the version in the name of a file, such as libcudnn.so.9.19.0; 0 if it has none. */
static int version_of_name(const char *path)
{
    int major = 0, minor = 0, patch = 0;
    const char *so = strstr(cs_path_file(path), ".so.");
    if (so)
        (void)sscanf(so, ".so.%d.%d.%d", &major, &minor, &patch);
    return number_of(major, minor, patch);
}

/* Returns the version in the header of a library; 0 if there is none. NVIDIA's packages for Python
 * and conda have the header next to the library's folder. */
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
    int version = realpath(path, real) ? version_of_name(real) : 0;
    if (version % MAJOR == 0)
        version = version_of_header(path);
    return version ? version : version_of_name(path);
}

const char *cs_libcudnn_title(int version, char *text, size_t size)
{
    const int major = version / MAJOR, minor = version % MAJOR / 100;
    if (version % MAJOR)
        snprintf(text, size, "cuDNN %d.%d.%d", major, minor, version % 100);
    else
        snprintf(text, size, "cuDNN %d", major);
    return text;
}

bool cs_libcudnn_served(int version)
{
    return version / MAJOR == SERVED;
}

/* True if two files have different sizes. Two copies of one cuDNN do not count as different. */
static bool differ(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_size != b.st_size;
}

/* Returns the file that opens a part, and whose RPATH counts: libcudnn.so.9 opens the first parts,
 * the graph part opens the engines. */
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
