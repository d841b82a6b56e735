/* Finds the cuDNN to plan with: a given path, the loader's, that of the python3 on PATH, else the
 * one of the source tree. */
#include "cli/layers/plan_layers.h"

#include "cli/common/cli.h"
#include "cli/common/data_files.h"
#include "cudnn/standalone/standalone.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LIBRARY "libcudnn.so.9"

enum {
    ERROR_BYTES = 512
};

/* Opens the cuDNN of a file or folder. False with the reason in `error`. */
static bool open_at(const char *path, char *error, size_t size)
{
    char file[PATH_MAX];
    struct stat facts;
    bool folder = stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
    int length = snprintf(file, sizeof file, "%s%s", path, folder ? "/" LIBRARY : "");
    if (length >= PATH_MAX) {
        snprintf(error, size, "the path is too long");
        return false;
    }
    return cs_standalone_open(file, error, size);
}

/* Runs python3, which prints the folders that may contain the package, one on each line. Opens the
 * first cuDNN that is found there. With -I python3 runs no code of the current directory, of
 * PYTHONPATH or of the packages. */
bool cs_find_cudnn_of_python(void)
{
    static const char ask[] =
        "python3 -I -c 'import importlib.util, site; s = importlib.util.find_spec(\"nvidia\"); "
        "print(*(s.submodule_search_locations or () if s else ()), "
        "site.getusersitepackages() + \"/nvidia\", sep=\"\\n\")' 2>/dev/null";
    char line[PATH_MAX], path[PATH_MAX + sizeof "/cudnn/lib/" LIBRARY], ignored[ERROR_BYTES];
    bool opened = false;
    FILE *answer = popen(ask, "re");
    while (answer && !opened && fgets(line, sizeof line, answer)) {
        line[strcspn(line, "\n")] = '\0';
        snprintf(path, sizeof path, "%s/cudnn/lib/" LIBRARY, line);
        opened = *line && cs_standalone_open(path, ignored, sizeof ignored);
    }
    if (answer)
        pclose(answer);
    return opened;
}

/* Opens the cuDNN that scripts/bootstrap found or downloaded. In a source tree, config.mk in the
 * folder of this program names it. */
static bool open_of_tree(void)
{
    static const char key[] = "CUDNN_LIB := ";
    char line[PATH_MAX + sizeof key], path[PATH_MAX], ignored[ERROR_BYTES];
    bool opened = false;
    if (!cs_cli_folder(line, PATH_MAX) ||
        snprintf(path, sizeof path, "%s/config.mk", line) >= PATH_MAX)
        return false;
    FILE *config = fopen(path, "re");
    while (config && !opened && fgets(line, sizeof line, config)) {
        line[strcspn(line, "\n")] = '\0';
        opened = strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] &&
                 open_at(line + strlen(key), ignored, sizeof ignored);
    }
    if (config)
        fclose(config);
    return opened;
}

bool cs_find_cudnn(const char *command, const char *path)
{
    char error[ERROR_BYTES];
    if (path ? open_at(path, error, sizeof error)
             : cs_standalone_open(LIBRARY, error, sizeof error) || cs_find_cudnn_of_python() ||
                   open_of_tree())
        return true;
    cs_cli_complain("%s: no usable cuDNN: %s", command, error);
    cs_cli_complain("cuDNN plans without a GPU and a driver. Install it (pip install "
                    "nvidia-cudnn-cu12 or -cu13), or name it: --cudnn PATH of " LIBRARY);
    return false;
}
