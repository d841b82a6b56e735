/* The file of a store: opens, locks, appends, replaces. Private to the store. Appending takes a
 * shared lock. Replacing or renaming the file takes an exclusive one. */
#ifndef CS_CONFIG_STORE_FILE_H
#define CS_CONFIG_STORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cs_store_head {
    CS_HEAD_ABSENT, /* the file is empty */
    CS_HEAD_GOOD,
    CS_HEAD_BAD
};

/* The length of a file's head, and the state of the head of a file of `size` bytes. */
size_t cs_store_head_length(void);
enum cs_store_head cs_store_head_of(int fd, int64_t size);

/* Appends text in one write, after the head. Creates the file and its folders if they are missing.
 * Returns the file's size afterwards, or -1 with errno. */
int64_t cs_store_append(const char *path, const char *text, size_t length);

/* Renames a file without a valid head. True if the path is then free, or has a valid file. */
bool cs_store_set_aside(const char *path);

/* Locks the file exclusively. The caller closes it. -1 with errno. */
int cs_store_lock(const char *path);

/* Begins a new file, with its head, next to the current one, and replaces the current one by it.
 * The end closes `fd` and removes an incomplete file. The caller holds the lock. */
int cs_store_begin_new(const char *path);
bool cs_store_end_new(const char *path, int fd, bool complete);

/* Writes everything in one write. False with errno if that fails. */
bool cs_store_write(int fd, const char *text, size_t length);

#endif
