/* What the library remembers from one run of a program to the next: records of a few numbers under
 * keys of 128 bits, in one file that is only appended to, plans-1 in $XDG_CACHE_HOME/convshim
 * (unset or relative: ~/.cache/convshim). This part does not know what the numbers mean.
 *
 * The file is text: a line that names its version, then a line a record, "KEY NUMBERS #CHECKSUM";
 * of several with one key the first counts, so that what was once answered is answered again. Any
 * number of processes may write at once: a record is one write(2) to a file opened for appending. A
 * line that is torn or whose checksum is wrong is as if it were not there. A file that begins
 * otherwise is renamed to plans-1.corrupt-N (N up to 9) with one warning. Beyond CS_STORE_BYTES the
 * newer half is written again. Where no file can be written, one line of level info says so, and
 * the process remembers for itself alone.
 *
 * Nothing is opened before the first question, and no file stays open. Thread-safe. Nothing waits
 * for another process longer than a second. errno is kept. */
#ifndef CS_CONFIG_STORE_H
#define CS_CONFIG_STORE_H

#include "base/lock.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CS_STORE_WORDS = 48,      /* of a record at most */
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
    bool reported;            /* that no file can be written */
    /* What was read so far: of which file, up to which byte. */
    uint64_t device, inode;
    int64_t read;
    /* The records, older ones first, one of a key. They stay when the file goes. */
    struct cs_store_entry {
        struct cs_store_key key;
        uint32_t at; /* in the pool */
        uint16_t words;
        bool noted; /* for this process alone */
    } * entry;
    int64_t *pool;
    uint32_t *slot; /* of a hash table: entry + 1 of a key */
    size_t entries, entry_room, used, pool_room, slots;
};

/* Where the file is; "" if neither variable tells. Reads the environment. */
void cs_config_store_place(char path[CS_STORE_PATH]);

/* A store on the file of that path; opens nothing. A path that is too long counts as "". */
void cs_store_init(struct cs_store *store, const char *path);
void cs_store_fini(struct cs_store *store);

/* A key for a row of numbers: different rows have different keys, as far as 128 bits go. */
struct cs_store_key cs_store_key(const int64_t *words, int count);

/* True and the record of a key, if there is one. Looks for what others have written since,
 * where this process does not know the key. */
bool cs_store_get(struct cs_store *store, struct cs_store_key key, struct cs_store_record *record);

/* Calls `visit` with every record whose key's first part is `part`, older ones first. It must not
 * call the store. Reads what others have written since. */
void cs_store_each(struct cs_store *store, uint64_t part,
                   void (*visit)(void *ctx, const struct cs_store_record *record), void *ctx);

/* Remembers a record of 1 to CS_STORE_WORDS words, if there is none of its key. What cannot be
 * written is remembered by this process alone. */
void cs_store_put(struct cs_store *store, const struct cs_store_record *record);

/* The same for this process alone. */
void cs_store_add(struct cs_store *store, const struct cs_store_record *record);

#endif
