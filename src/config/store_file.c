/* Opens, locks, appends to and replaces the file of a store. */
#include "config/store_file.h"

#include "base/clock.h"
#include "base/log.h"
#include "config/store.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PAUSE = 2000000, /* nanoseconds between attempts to lock */
#ifdef CS_DEBUG
    PATIENCE = 10000, /* a sanitizer makes the lock's holder slow */
#else
    PATIENCE = 1000, /* milliseconds */
#endif
    MOVES = 8, /* how often a file is opened again because it was replaced */
    CORRUPT_FILES = 9,
    ROOM = CS_STORE_PATH + 32
};

static const char head_text[] = "convshim plans 1\n";

size_t cs_store_head_length(void)
{
    return sizeof head_text - 1;
}

enum cs_store_head cs_store_head_of(int fd, int64_t size)
{
    char head[sizeof head_text];
    size_t length = cs_store_head_length(), filled = 0;
    if (size == 0)
        return CS_HEAD_ABSENT;
    /* A read that a signal interrupts is repeated. Otherwise a good file could seem damaged. */
    while (filled < length) {
        ssize_t got = pread(fd, head + filled, length - filled, (off_t)filled);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        filled += got > 0 ? (size_t)got : 0;
    }
    return filled == length && memcmp(head, head_text, length) == 0 ? CS_HEAD_GOOD : CS_HEAD_BAD;
}

bool cs_store_write(int fd, const char *text, size_t length)
{
    ssize_t written;
    do
        written = write(fd, text, length);
    while (written < 0 && errno == EINTR);
    if (written >= 0 && (size_t)written < length)
        errno = ENOSPC;
    return written >= 0 && (size_t)written == length;
}

/* Creates the file's folder and the one above it. Folders further up must exist. */
static void make_folders(const char *path)
{
    char folder[CS_STORE_PATH];
    const char *last = strrchr(path, '/');
    size_t length = last ? (size_t)(last - path) : 0;
    if (length == 0 || length >= sizeof folder)
        return;
    memcpy(folder, path, length);
    folder[length] = '\0';
    char *above = strrchr(folder, '/');
    if (above && above != folder) {
        *above = '\0';
        (void)mkdir(folder, 0700);
        *above = '/';
    }
    (void)mkdir(folder, 0700);
}

static int open_file(const char *path, int flags)
{
    flags |= O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    int fd = open(path, flags, 0600);
    if (fd < 0 && errno == ENOENT && (flags & O_CREAT)) {
        make_folders(path);
        fd = open(path, flags, 0600);
    }
    return fd;
}

static int64_t milliseconds(void)
{
    return cs_clock(CLOCK_MONOTONIC) / CS_MILLISECOND;
}

/* Waits a limited time, because the holder may have been stopped. If locks are not available, a
 * record is still one write. */
static bool lock(int fd, int operation)
{
    const struct timespec pause = {.tv_nsec = PAUSE};
    int64_t start = milliseconds();
    while (flock(fd, operation | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return operation == LOCK_SH;
        if (milliseconds() - start > PATIENCE) {
            errno = ETIMEDOUT;
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return true;
}

/* True if the path still leads to the open file. */
static bool still_there(const char *path, int fd)
{
    struct stat open_one, named;
    return fstat(fd, &open_one) == 0 && stat(path, &named) == 0 &&
           open_one.st_ino == named.st_ino && open_one.st_dev == named.st_dev;
}

static bool is_plain(int fd)
{
    struct stat info;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        return true;
    errno = EINVAL;
    return false;
}

static int open_locked(const char *path, int flags, int operation)
{
    for (int move = 0; move < MOVES; move++) {
        int fd = open_file(path, flags);
        if (fd < 0)
            return -1;
        if (is_plain(fd) && lock(fd, operation)) {
            if (still_there(path, fd))
                return fd;
            errno = EAGAIN;
        }
        int error = errno;
        close(fd);
        errno = error;
        if (error != EAGAIN)
            return -1;
    }
    return -1;
}

static int64_t size_of(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 ? (int64_t)info.st_size : -1;
}

/* The first process that locks an empty file writes the head. */
static bool provide_head(int fd)
{
    if (size_of(fd) != 0)
        return true;
    if (!lock(fd, LOCK_EX))
        return false;
    if (size_of(fd) != 0 || cs_store_write(fd, head_text, cs_store_head_length()))
        return true;
    int error = errno;
    if (ftruncate(fd, 0) != 0)
        cs_log(CS_LOG_DEBUG, "cannot remove a half-written header (errno %d)", errno);
    errno = error;
    return false;
}

int64_t cs_store_append(const char *path, const char *text, size_t length)
{
    int64_t size = -1;
    int fd = open_locked(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, LOCK_SH);
    if (fd < 0)
        return -1;
    if (provide_head(fd) && cs_store_write(fd, text, length))
        size = size_of(fd);
    int error = errno;
    close(fd);
    errno = error;
    return size;
}

int cs_store_lock(const char *path)
{
    return open_locked(path, O_RDWR, LOCK_EX);
}

static bool move_away(const char *path)
{
    char name[ROOM];
    struct stat info;
    for (int i = 1; i <= CORRUPT_FILES; i++) {
        snprintf(name, sizeof name, "%s.corrupt-%d", path, i);
        if (lstat(name, &info) != 0)
            break;
    }
    if (rename(path, name) != 0)
        return false;
    cs_log(CS_LOG_WARN, "%s is damaged: it was renamed to %s, and a new one is written", path,
           strrchr(name, '/') + 1);
    return true;
}

bool cs_store_set_aside(const char *path)
{
    int fd = open_locked(path, O_RDONLY, LOCK_EX);
    if (fd < 0)
        return errno == ENOENT;
    bool done = cs_store_head_of(fd, size_of(fd)) != CS_HEAD_BAD || move_away(path);
    close(fd);
    return done;
}

static void new_name(const char *path, char name[ROOM])
{
    snprintf(name, ROOM, "%s.new", path);
}

int cs_store_begin_new(const char *path)
{
    char name[ROOM];
    new_name(path, name);
    int fd = open_file(name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
    if (fd >= 0 && !cs_store_write(fd, head_text, cs_store_head_length())) {
        cs_store_end_new(path, fd, false);
        return -1;
    }
    return fd;
}

bool cs_store_end_new(const char *path, int fd, bool complete)
{
    char name[ROOM];
    new_name(path, name);
    close(fd);
    if (complete && rename(name, path) == 0)
        return true;
    (void)unlink(name);
    return false;
}
