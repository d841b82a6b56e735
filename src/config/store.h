/* Records that the library keeps from one run of a program to the next: a few numbers under a key
 * of 128 bits, in one file that is only appended to, plans-1 in $XDG_CACHE_HOME/convshim (unset or
 * relative: ~/.cache/convshim). This part does not depend on the meaning of the numbers.
 *
 * The file is text: a line with its version, then one line for each record, "KEY NUMBERS
 * #CHECKSUM". If several records have one key, the first one counts, so that an answer never
 * changes. Any number of processes may write at once: a record is one write(2) to a file opened for
 * appending. A torn line, or one with a wrong checksum, is ignored. A file with another first line
 * is renamed to plans-1.corrupt-N (N up to 9) with one warning. If the file exceeds CS_STORE_BYTES,
 * its newer half is written into a new file. If no file can be written, one line of level info
 * reports it, and records are kept in this process's memory.
 *
 * Opens no file before the first query, and keeps no file open. Thread-safe. Waits for another
 * process at most one second. errno is kept. */
#ifndef CS_CONFIG_STORE_H
#define CS_CONFIG_STORE_H

#include "base/lock.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CS_STORE_WORDS = 48,      /* words of a record at most */
    CS_STORE_BYTES = 4 << 20, /* of the file */
    CS_STORE_PATH = 4096
};

struct cs_store_key {
    uint64_t part[2];
};

struct cs_store_record {
    struct cs_store_key key;
    int words;
    int64_t word[CS_STORE_WORDS];
};

struct cs_store {
    struct cs_lock lock;
    char path[CS_STORE_PATH]; /* "": no file */
    bool reported;            /* the log line about the file was written */
    /* The part of the file that was read: device, inode, and bytes up to which. */
    uint64_t device, inode;
    int64_t read;
    /* The records, older ones first, one for each key. They stay if the file is removed. */
    struct cs_store_entry {
        struct cs_store_key key;
        uint32_t at; /* index into the pool */
        uint16_t words;
        bool noted; /* not in the file */
    } * entry;
    int64_t *pool;
    uint32_t *slot; /* hash table: entry + 1 of a key */
    size_t entries, entry_room, used, pool_room, slots;
};

/* The path of the file, "" if no variable gives one. Reads the environment. */
void cs_config_store_place(char path[CS_STORE_PATH]);

/* Initializes a store on the file of that path. Opens nothing. A path that is too long counts as
 * "". */
void cs_store_init(struct cs_store *store, const char *path);
void cs_store_fini(struct cs_store *store);

/* A key for a row of numbers. Different rows have different keys, except for collisions of 128
 * bits. */
struct cs_store_key cs_store_key(const int64_t *words, int count);

/* True with the record of a key, if it exists. If this process has no such record, the file is read
 * for new ones. */
bool cs_store_get(struct cs_store *store, struct cs_store_key key, struct cs_store_record *record);

/* Calls `visit` with every record whose key's first part is `part`, older ones first. The callback
 * must not call the store. New records of the file are read first. */
void cs_store_each(struct cs_store *store, uint64_t part,
                   void (*visit)(void *ctx, const struct cs_store_record *record), void *ctx);

/* Adds a record of 1 to CS_STORE_WORDS words, if its key has no record yet. A record that cannot be
 * written is kept in this process's memory. */
void cs_store_put(struct cs_store *store, const struct cs_store_record *record);

/* The same without the file. */
void cs_store_add(struct cs_store *store, const struct cs_store_record *record);

#endif
