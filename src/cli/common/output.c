/* Outputs of commands, each written next to its place and then renamed. */
#include "cli/common/output.h"

#include "base/path.h"
#include "cli/common/cli.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* True if a file can be created in the folder of this file. */
static bool has_writable_folder(const char *path)
{
    char folder[PATH_MAX];
    const int length = (int)(cs_path_file(path) - path);
    snprintf(folder, sizeof folder, "%.*s", length > 0 ? length : 1, length > 0 ? path : ".");
    return access(folder, W_OK | X_OK) == 0;
}

bool cs_output_check(const char *command, const char *option, const char *path, const char *begins)
{
    char start[64];
    struct stat there;
    if (is_standard(path))
        return true;
    const bool exists = stat(path, &there) == 0;
    if (exists && S_ISDIR(there.st_mode)) {
        cs_cli_complain("%s: --%s %s: a folder. Name a file.", command, option, path);
        return false;
    }
    if (!exists && !has_writable_folder(path)) {
        cs_cli_complain("%s: --%s %s: %s", command, option, path, strerror(errno));
        return false;
    }
    if (!exists || !S_ISREG(there.st_mode) || there.st_size == 0)
        return true;
    FILE *file = fopen(path, "re");
    size_t read = file ? fread(start, 1, sizeof start, file) : 0, length = strlen(begins);
    if (file)
        fclose(file);
    if (read >= length && memcmp(start, begins, length) == 0)
        return true;
    cs_cli_complain("%s: --%s %s: this file exists and is no output of 'convshim %s'. Choose "
                    "another name, or remove the file.",
                    command, option, path, command);
    return false;
}

static bool write_to(FILE *file, cs_output_fn *write, const void *state)
{
    bool good = write(state, file) && fflush(file) == 0 && !ferror(file);
    int error = errno;
    good = fclose(file) == 0 && good;
    errno = good ? errno : error;
    return good;
}

/* Writes a file next to `path` and renames it. It gets the permissions of the file that it replaces
 * (`there`; NULL: none). */
static bool write_beside(const char *path, const struct stat *there, cs_output_fn *write,
                         const void *state)
{
    char part[PATH_MAX];
    if ((size_t)snprintf(part, sizeof part, "%s.%lld.part", path, (long long)getpid()) >=
        sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    unlink(part); /* left by an earlier process with the same id */
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    FILE *file = there && fchmod(fd, there->st_mode & 07777) != 0 ? NULL : fdopen(fd, "w");
    if (!file)
        close(fd);
    if (file && write_to(file, write, state) && rename(part, path) == 0)
        return true;
    int error = errno;
    unlink(part);
    errno = error;
    return false;
}

bool cs_output_write(const char *path, cs_output_fn *write, const void *state)
{
    struct stat there;
    if (is_standard(path))
        return write(state, stdout) && !ferror(stdout);
    bool exists = stat(path, &there) == 0;
    if (exists && !S_ISREG(there.st_mode)) {
        FILE *file = fopen(path, "we");
        return file && write_to(file, write, state);
    }
    char *target = exists ? realpath(path, NULL) : NULL;
    bool good = write_beside(target ? target : path, exists ? &there : NULL, write, state);
    int error = errno;
    free(target);
    errno = error;
    return good;
}
