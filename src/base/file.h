/* Files for somebody else's process: no signal is raised by a closed pipe or a limit of file size,
 * and a place that was named in one folder stays there when the program goes to another. */
#ifndef CS_BASE_FILE_H
#define CS_BASE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* A path as it was given, with the folder that it counts from. */
struct cs_place {
    char path[PATH_MAX]; /* the folder's name, for relative paths, then the path with its %p */
    size_t folder;       /* bytes */
    bool fits;
};

/* Takes a path; it stays relative to the folder of now. NULL or empty: no place. errno is kept. */
void cs_file_place_set(struct cs_place *place, const char *path);

/* Writes `path` into `out`, each %p become the process id. False if that does not fit `size` bytes,
 * its end included; `out` then holds nothing of use. */
bool cs_file_path_expand(char *out, size_t size, const char *path);

/* The path of now, each %p become the process id. False, errno ENAMETOOLONG, if it is too long. */
bool cs_file_place_path(const struct cs_place *place, char path[PATH_MAX]);

/* Writes everything; false with errno if that fails. */
bool cs_file_write_all(int fd, const char *bytes, size_t size);

/* Opens a file to be appended to; `access` is O_WRONLY or O_RDWR, with O_TRUNC where it is emptied
 * before. One that is not there is made for the user alone, and never through a link, which
 * somebody else may have laid where anybody may make files. A link of the user's own or of root's,
 * /dev/stderr for one, is followed to what is there, which is not emptied. Does not wait for a
 * pipe's reader. -1 with errno. */
int cs_file_open_append(const char *path, int access);

/* False if there is something that must be neither replaced nor emptied: a device, a pipe, a link
 * (/dev/stderr is one, and may lead to a file that is somebody's log). */
bool cs_file_path_replaceable(const char *path);

/* A file that appears whole or not at all. What is not replaceable is appended to as it comes. */
struct cs_new_file {
    int fd;
    bool failed;
    char path[PATH_MAX];
    char part[PATH_MAX]; /* where it is written to before; "" if at once */
};

/* Begins a file; false with errno if it cannot be made. */
bool cs_file_new_begin(struct cs_new_file *file, const struct cs_place *place);
void cs_file_new_write(void *file, const char *bytes, size_t size);

/* Puts it into its place; false with errno, and no trace left, if that or writing failed. */
bool cs_file_new_end(struct cs_new_file *file);

#endif
