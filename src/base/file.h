/* Writes files inside the application's process. A closed pipe or a file size limit raises no
 * signal. A relative path keeps its folder if the program changes the current directory. */
#ifndef CS_BASE_FILE_H
#define CS_BASE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* A path as the user wrote it, with the folder that it is relative to. */
struct cs_place {
    char path[PATH_MAX]; /* the folder's name if the path is relative, then the path with its %p */
    size_t folder;       /* bytes of the folder's name and its slash; 0 without a folder */
    bool fits;           /* false: the path is too long for any use */
};

/* Stores a path, relative to the current directory. NULL or empty: no place. errno is kept. */
void cs_file_place_set(struct cs_place *place, const char *path);

/* The path with each %p replaced by the process id. False, errno ENAMETOOLONG, if it is too long.
 */
bool cs_file_place_path(const struct cs_place *place, char path[PATH_MAX]);

/* Writes all bytes. False with errno if that fails. */
bool cs_file_write_all(int fd, const char *bytes, size_t size);

/* Opens a file for appending. `access` is O_WRONLY or O_RDWR, with O_TRUNC to empty it first. A
 * missing file is created for the user alone, and never through a link, since in a shared folder
 * another user may have created the link. A link that belongs to the user or to root, such as
 * /dev/stderr, is followed. Its target is not emptied. Does not wait for a pipe's reader. Returns
 * -1 with errno on failure. */
int cs_file_open_append(const char *path, int access);

/* False if the path must not be replaced or emptied: a device, a pipe or a link. /dev/stderr
 * is a link and may lead to another program's log. */
bool cs_file_path_replaceable(const char *path);

/* A file that appears complete or not at all. A path that is not replaceable is appended to
 * directly. */
struct cs_new_file {
    int fd;
    bool failed;
    char path[PATH_MAX];
    char part[PATH_MAX]; /* the temporary file; "" if the path is written directly */
};

/* Begins a file. False with errno if it cannot be created. */
bool cs_file_new_begin(struct cs_new_file *file, const struct cs_place *place);

/* Appends bytes to a struct cs_new_file, as the `write` of struct cs_json. The end reports a
 * failure. */
void cs_file_new_write(void *file, const char *bytes, size_t size);

/* Renames the file to its path. False with errno if writing or renaming failed. Then no temporary
 * file remains. */
bool cs_file_new_end(struct cs_new_file *file);

#endif
