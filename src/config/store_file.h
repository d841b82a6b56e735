/* The file of a store: opening, locking, appending, replacing. Private to the store. Appending
 * takes a shared lock, what moves the file away an exclusive one. */
#ifndef CS_CONFIG_STORE_FILE_H
#define CS_CONFIG_STORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cs_store_head {
    CS_HEAD_ABSENT, /* nothing was written yet */
    CS_HEAD_GOOD,
    CS_HEAD_BAD
};

/* How long the head is that a file begins with, and what a file of `size` bytes has of it. */
size_t cs_store_head_length(void);
enum cs_store_head cs_store_head_of(int fd, int64_t size);

/* Appends text in one write, after the head; makes the file and its folders where they are
 * missing. The file's size afterwards, or -1 and errno. */
int64_t cs_store_append(const char *path, const char *text, size_t length);

/* Renames a file that has no good head. True if the path is free then, or has a good file. */
bool cs_store_set_aside(const char *path);

/* The file locked against everybody else, to be closed; -1 and errno. */
int cs_store_lock(const char *path);

/* A file beside it to be written, with its head, and its taking the place of the file; `fd` is
 * closed, and what is not complete goes. For the holder of the lock. */
int cs_store_begin_new(const char *path);
bool cs_store_end_new(const char *path, int fd, bool complete);

/* Writes everything in one write; false with errno if that fails. */
bool cs_store_write(int fd, const char *text, size_t length);

#endif
