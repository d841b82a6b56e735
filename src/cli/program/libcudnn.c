/* Finds the version of a libcudnn file without loading it. */
#include "cli/program/command_facts.h"

#include "base/path.h"
#include "cli/program/elf.h"
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    SERVED = 9
};

/* cuDNN 9 widened the minor number. */
static int number_of(int major, int minor, int patch)
{
    return major * (major < 9 ? 1000 : 10000) + minor * 100 + patch;
}

static int parse_version(const char *text)
{
    int major, minor, patch = 0;
    return sscanf(text, "%d.%d.%d", &major, &minor, &patch) >= 2 && major > 0
               ? number_of(major, minor, patch)
               : 0;
}

/* The part of a path after ".so.": "9.19.0" of "libcudnn.so.9.19.0". "" if there is none. */
static const char *suffix_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *so = strstr(slash ? slash : path, ".so.");
    return so ? so + strlen(".so.") : "";
}

static int read_header(const char *path)
{
    char line[256];
    int major = 0, minor = 0, patch = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        (void)sscanf(line, "#define CUDNN_MAJOR %d", &major);
        (void)sscanf(line, "#define CUDNN_MINOR %d", &minor);
        (void)sscanf(line, "#define CUDNN_PATCHLEVEL %d", &patch);
    }
    if (file)
        fclose(file);
    return major > 0 ? number_of(major, minor, patch) : 0;
}

static int version_of_header(const char *library)
{
    static const char *const places[] = {"../include/cudnn_version.h",
                                         "../include/cudnn_version_v9.h",
                                         "../../include/cudnn_version.h"};
    char path[PATH_MAX + 64];
    const char *slash = strrchr(library, '/');
    int version = 0, folder = slash ? (int)(slash - library) : 0;
    for (size_t i = 0; i < sizeof places / sizeof *places && !version && slash; i++) {
        snprintf(path, sizeof path, "%.*s/%s", folder, library, places[i]);
        version = read_header(path);
    }
    return version;
}

static int version_of_package(const char *library, const struct cs_packages *packages)
{
    static const char name[] = "nvidia-cudnn-cu";
    for (size_t i = 0; i < packages->packages; i++) {
        const struct cs_package *package = &packages->package[i];
        size_t length = strlen(package->folder);
        if (strncmp(package->name, name, strlen(name)) == 0 && length > 0 &&
            strncmp(library, package->folder, length) == 0)
            return parse_version(package->version);
    }
    return 0;
}

int cs_libcudnn_version(const char *path, const struct cs_packages *packages)
{
    char real[PATH_MAX];
    int version = realpath(path, real) ? parse_version(suffix_of(real)) : 0;
    if (!version)
        version = version_of_header(path);
    return version ? version : version_of_package(path, packages);
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

/* libcudnn.so.9 opens these parts itself, and searches with its own RPATH. The graph part opens the
 * engines, and other parts need libcudnn_ops. */
static const char *opener_of(const char *part)
{
    static const char *const opened[] = {"graph", "cnn", "adv", "ext"};
    const char *name = part + strlen("libcudnn_");
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
        if (strncmp(name, opened[i], strcspn(name, ".")) == 0)
            return "libcudnn.so.9";
    return "libcudnn_graph.so.9";
}

/* The file that the loader takes for a part. */
static bool find_part(const char *folder, const char *part, char *path, size_t size)
{
    char opener[PATH_MAX + 32];
    struct cs_elf elf;
    const char *why;
    snprintf(opener, sizeof opener, "%s/%s", folder, opener_of(part));
    if (!cs_elf_open(&elf, opener, &why))
        return false;
    bool found = cs_loader_find(part, folder, elf.rpath, elf.runpath, path, size);
    cs_elf_close(&elf);
    return found;
}

/* True if two files have different sizes. Two copies of one cuDNN do not count as different. */
static bool differ(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_size != b.st_size;
}

bool cs_libcudnn_foreign(const char *path, char *line, size_t size)
{
    char pattern[PATH_MAX + 32], folder[PATH_MAX], taken[PATH_MAX];
    bool foreign = false;
    glob_t parts;
    if (!strchr(path, '/'))
        return false;
    snprintf(folder, sizeof folder, "%.*s", (int)(cs_path_file(path) - 1 - path), path);
    snprintf(pattern, sizeof pattern, "%s/libcudnn_*.so.9", folder);
    if (glob(pattern, 0, NULL, &parts) != 0)
        return false;
    for (size_t i = 0; i < parts.gl_pathc && !foreign; i++) {
        const char *own = parts.gl_pathv[i];
        foreign = find_part(folder, cs_path_file(own), taken, sizeof taken) && differ(own, taken);
        if (foreign)
            snprintf(line, size,
                     "two cuDNNs are mixed: the loader takes %s instead of the file in "
                     "%s.",
                     taken, folder);
    }
    globfree(&parts);
    return foreign;
}
