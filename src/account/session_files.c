/* Makes and removes files in the folder of running processes. */
#include "account/session_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

bool cs_session_is_private(const char *folder)
{
    struct stat there;
    return lstat(folder, &there) == 0 && S_ISDIR(there.st_mode) && there.st_uid == geteuid() &&
           !(there.st_mode & 022);
}

/* Writes the path of a file in the folder. False if the folder is not private. */
static bool file_path(const char *folder, int64_t pid, const char *suffix, char path[PATH_MAX])
{
    int length = snprintf(path, PATH_MAX, "%s/%lld%s", folder, (long long)pid, suffix);
    return *folder && length < PATH_MAX && cs_session_is_private(folder);
}

static bool remove_file(const char *folder, int64_t pid, const char *suffix)
{
    char path[PATH_MAX];
    int error = errno;
    bool removed = file_path(folder, pid, suffix, path) && unlink(path) == 0;
    errno = error;
    return removed;
}

bool cs_session_summary_path(const char *folder, int64_t pid, char path[PATH_MAX])
{
    int error = errno;
    if (*folder)
        (void)mkdir(folder, 0700);
    errno = error;
    return file_path(folder, pid, ".json", path);
}

void cs_session_summary_remove(const char *folder, int64_t pid)
{
    (void)remove_file(folder, pid, ".json");
}

void cs_session_note(const char *folder, int64_t run)
{
    char path[PATH_MAX];
    int error = errno;
    if (*folder)
        (void)mkdir(folder, 0700);
    int note = file_path(folder, run, ".ran", path)
                   ? open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)
                   : -1;
    if (note >= 0)
        close(note);
    errno = error;
}

bool cs_session_noted(const char *folder, int64_t run)
{
    return remove_file(folder, run, ".ran");
}
