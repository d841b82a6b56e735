/* Writing, replacing and creating files without raising signals in the host process. */
#include "base/file.h"

#include "base/signals.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PID_BYTES = 24
};

/* Writes `path` into `out` and replaces each %p by the process id. False if the result does not fit
 * into `size` bytes, NUL included. `out` is then undefined. */
static bool expand_path(char *out, size_t size, const char *path)
{
    char pid[PID_BYTES];
    size_t digits = (size_t)snprintf(pid, sizeof pid, "%lld", (long long)getpid()), used = 0;
    if (size < 1)
        return false;
    while (*path) {
        bool is_pid = path[0] == '%' && path[1] == 'p';
        size_t add = is_pid ? digits : 1;
        if (add > size - 1 - used)
            return false;
        memcpy(out + used, is_pid ? pid : path, add);
        used += add;
        path += is_pid ? 2 : 1;
    }
    out[used] = '\0';
    return true;
}

void cs_file_place_set(struct cs_place *place, const char *path)
{
    int error = errno;
    if (!path)
        path = "";
    place->folder = 0;
    if (path[0] && path[0] != '/' && getcwd(place->path, sizeof place->path - 1)) {
        place->folder = strlen(place->path);
        place->path[place->folder++] = '/';
    }
    size_t room = sizeof place->path - place->folder;
    place->fits = (size_t)snprintf(place->path + place->folder, room, "%s", path) < room;
    errno = error;
}

bool cs_file_place_path(const struct cs_place *place, char path[PATH_MAX])
{
    size_t folder = place->folder;
    memcpy(path, place->path, folder);
    if (place->fits && expand_path(path + folder, PATH_MAX - folder, place->path + folder))
        return true;
    errno = ENAMETOOLONG;
    return false;
}

bool cs_file_write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

int cs_file_open_append(const char *path, int access)
{
    const int flags = O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    struct stat link;
    int fd = open(path, access | flags | O_CREAT | O_NOFOLLOW, 0600);
    if (fd >= 0 || errno != ELOOP)
        return fd;
    if (lstat(path, &link) == 0 && (link.st_uid == 0 || link.st_uid == geteuid()))
        return open(path, (access & O_ACCMODE) | flags);
    errno = ELOOP;
    return -1;
}

bool cs_file_path_replaceable(const char *path)
{
    struct stat there;
    return lstat(path, &there) != 0 || S_ISREG(there.st_mode);
}

bool cs_file_new_begin(struct cs_new_file *file, const struct cs_place *place)
{
    file->failed = false;
    file->part[0] = '\0';
    if (!cs_file_place_path(place, file->path))
        return false;
    if (!cs_file_path_replaceable(file->path)) {
        file->fd = cs_file_open_append(file->path, O_WRONLY);
        return file->fd >= 0;
    }
    size_t length = (size_t)snprintf(file->part, sizeof file->part, "%.*s.%lld.part", PATH_MAX - 32,
                                     file->path, (long long)getpid());
    if (length < strlen(file->path)) {
        errno = ENAMETOOLONG;
        return false;
    }
    /* Left by an earlier process with the same id. */
    unlink(file->part);
    file->fd = open(file->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
    return file->fd >= 0;
}

void cs_file_new_write(void *ctx, const char *bytes, size_t size)
{
    struct cs_new_file *file = ctx;
    struct cs_signals guard;
    if (file->failed)
        return;
    cs_signals_hold(&guard);
    file->failed = !cs_file_write_all(file->fd, bytes, size);
    int error = errno;
    cs_signals_release(&guard);
    errno = error;
}

bool cs_file_new_end(struct cs_new_file *file)
{
    int error = errno;
    bool whole = close(file->fd) == 0 && !file->failed;
    if (file->failed)
        errno = error;
    if (whole && file->part[0])
        whole = rename(file->part, file->path) == 0;
    if (!whole && file->part[0]) {
        error = errno;
        unlink(file->part);
        errno = error;
    }
    return whole;
}
