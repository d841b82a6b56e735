/* Records kept between runs, in memory: reads the file once, finds records, adds records. */
#include "config/store.h"

#include "base/log.h"
#include "base/pages.h"
#include "base/signals.h"
#include "config/store_file.h"
#include "config/store_text.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOST_READ = 2 * CS_STORE_BYTES,
    MOST_ENTRIES = 1 << 17, /* in memory, from the file or this process */
    KEPT_BYTES = CS_STORE_BYTES / 2
};

/* State that every call saves and restores. */
struct hold {
    int error;
    struct cs_signals signals;
};

static void enter(struct cs_store *store, struct hold *hold)
{
    hold->error = errno;
    cs_lock(&store->lock);
    cs_signals_hold(&hold->signals);
}

static void leave(struct cs_store *store, struct hold *hold)
{
    cs_signals_release(&hold->signals);
    cs_unlock(&store->lock);
    errno = hold->error;
}

void cs_store_init(struct cs_store *store, const char *path)
{
    memset(store, 0, sizeof *store);
    cs_lock_init(&store->lock, CS_RANK_STORE);
    if (strlen(path) < sizeof store->path)
        strcpy(store->path, path);
}

void cs_store_fini(struct cs_store *store)
{
    cs_pages_free(store->entry, store->entry_room * sizeof *store->entry);
    cs_pages_free(store->pool, store->pool_room * sizeof *store->pool);
    cs_pages_free(store->slot, store->slots * sizeof *store->slot);
}

static uint64_t mix(uint64_t hash, uint64_t word, uint64_t factor)
{
    hash = (hash ^ word) * factor;
    return hash ^ hash >> 31;
}

struct cs_store_key cs_store_key(const int64_t *words, int count)
{
    struct cs_store_key key = {{0x9e3779b97f4a7c15u + (uint64_t)count, 0x2545f4914f6cdd1du}};
    for (int i = 0; i < count; i++) {
        key.part[0] = mix(key.part[0], (uint64_t)words[i], 0xff51afd7ed558ccdu);
        key.part[1] = mix(key.part[1] + key.part[0], (uint64_t)words[i], 0xc4ceb9fe1a85ec53u);
    }
    key.part[0] = mix(key.part[0], key.part[1], 0x94d049bb133111ebu);
    key.part[1] = mix(key.part[1], key.part[0], 0xbf58476d1ce4e5b9u);
    return key;
}

/* --- in memory -------------------------------------------------------------------------------- */

static bool same_key(struct cs_store_key a, struct cs_store_key b)
{
    return a.part[0] == b.part[0] && a.part[1] == b.part[1];
}

/* The slot of a key, or the empty slot for it. */
static uint32_t *slot_of(const struct cs_store *store, struct cs_store_key key)
{
    size_t at = (size_t)key.part[1] & (store->slots - 1);
    while (store->slot[at] != 0 && !same_key(store->entry[store->slot[at] - 1].key, key))
        at = (at + 1) & (store->slots - 1);
    return &store->slot[at];
}

static const struct cs_store_entry *find(const struct cs_store *store, struct cs_store_key key)
{
    uint32_t number = store->slots > 0 ? *slot_of(store, key) : 0;
    return number > 0 ? &store->entry[number - 1] : NULL;
}

/* An array with room for `needed` elements, doubled if it is full. NULL if memory is short. Then
 * the old array stays. */
static void *grow(void *array, size_t *room, size_t needed, size_t size)
{
    size_t required = *room ? *room : 64;
    if (array && needed <= *room)
        return array;
    while (required < needed)
        required *= 2;
    void *larger = cs_pages_resize(array, *room * size, required * size);
    if (larger)
        *room = required;
    return larger;
}

static bool grow_slots(struct cs_store *store)
{
    size_t slots = store->slots ? store->slots * 2 : 256;
    if (2 * (store->entries + 1) <= store->slots)
        return true;
    uint32_t *slot = cs_pages(slots * sizeof *slot);
    if (!slot)
        return false;
    cs_pages_free(store->slot, store->slots * sizeof *store->slot);
    store->slot = slot;
    store->slots = slots;
    for (size_t i = 0; i < store->entries; i++)
        *slot_of(store, store->entry[i].key) = (uint32_t)i + 1;
    return true;
}

static bool make_room(struct cs_store *store, size_t words)
{
    struct cs_store_entry *entry =
        grow(store->entry, &store->entry_room, store->entries + 1, sizeof *entry);
    if (!entry)
        return false;
    store->entry = entry;
    int64_t *pool = grow(store->pool, &store->pool_room, store->used + words, sizeof *pool);
    if (!pool)
        return false;
    store->pool = pool;
    return grow_slots(store);
}

static void remember(struct cs_store *store, const struct cs_store_record *record, bool noted)
{
    size_t words = (size_t)record->words;
    if (store->entries == MOST_ENTRIES || find(store, record->key) || !make_room(store, words))
        return;
    store->entry[store->entries] =
        (struct cs_store_entry){record->key, (uint32_t)store->used, (uint16_t)words, noted};
    memcpy(store->pool + store->used, record->word, words * sizeof *store->pool);
    store->used += words;
    store->entries++;
    *slot_of(store, record->key) = (uint32_t)store->entries;
}

static void recall(const struct cs_store *store, const struct cs_store_entry *entry,
                   struct cs_store_record *record)
{
    record->key = entry->key;
    record->words = (int)entry->words;
    memcpy(record->word, store->pool + entry->at, entry->words * sizeof *store->pool);
}

/* --- from the file ---------------------------------------------------------------------------- */

/* Adds the records of the complete lines of a text. Returns the bytes of these lines. */
static size_t read_lines(struct cs_store *store, const char *text, size_t length)
{
    struct cs_store_record record;
    size_t at = 0;
    for (const char *end; (end = memchr(text + at, '\n', length - at)) != NULL;
         at = (size_t)(end - text) + 1)
        if (cs_store_read_line(text + at, (size_t)(end - text) - at, &record))
            remember(store, &record, false);
    return at;
}

/* Reads the part of the file that was not read before. */
static void read_on(struct cs_store *store, int fd, int64_t size)
{
    if (size - store->read > MOST_READ)
        store->read = size - MOST_READ;
    size_t length = size > store->read ? (size_t)(size - store->read) : 0, filled = 0;
    char *text = length > 0 ? cs_pages(length) : NULL;
    if (!text)
        return;
    while (filled < length) {
        ssize_t got =
            pread(fd, text + filled, length - filled, (off_t)(store->read + (int64_t)filled));
        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        filled += got > 0 ? (size_t)got : 0;
    }
    store->read += (int64_t)read_lines(store, text, filled);
    cs_pages_free(text, length);
}

/* If the file is another one than last time, or shorter, it is read from the start. */
static void restart_if_replaced(struct cs_store *store, const struct stat *info)
{
    bool same = store->inode == info->st_ino && store->device == info->st_dev;
    if (!same || info->st_size < store->read) {
        store->read = 0;
        store->inode = info->st_ino;
        store->device = info->st_dev;
    }
}

/* Logs once why no record can be written. */
static void report_unwritable(struct cs_store *store, int error)
{
    if (!store->reported)
        cs_log(CS_LOG_INFO,
               "cannot save measured times and records, so the next run starts without them (errno "
               "%d): %s",
               error, store->path);
    store->reported = true;
}

static void refresh(struct cs_store *store)
{
    struct stat info;
    int fd = store->path[0] ? open(store->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (fd < 0)
        return;
    enum cs_store_head head = CS_HEAD_ABSENT;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        restart_if_replaced(store, &info);
        head = store->read > 0 ? CS_HEAD_GOOD : cs_store_head_of(fd, info.st_size);
    }
    if (head == CS_HEAD_GOOD) {
        if (store->read == 0)
            store->read = (int64_t)cs_store_head_length();
        read_on(store, fd, info.st_size);
    }
    close(fd);
    if (head == CS_HEAD_BAD && !cs_store_set_aside(store->path)) {
        report_unwritable(store, errno);
        store->path[0] = '\0';
    }
}

/* --- to the file ------------------------------------------------------------------------------ */

/* The index of the first entry from which all newer ones fit into KEPT_BYTES. */
static size_t first_kept(const struct cs_store *store)
{
    struct cs_store_record record;
    char line[CS_STORE_LINE];
    size_t bytes = 0, index = store->entries;
    while (index > 0 && bytes <= KEPT_BYTES) {
        index--;
        if (!store->entry[index].noted) {
            recall(store, &store->entry[index], &record);
            bytes += cs_store_write_line(&record, line);
        }
    }
    return bytes > KEPT_BYTES ? index + 1 : index;
}

static bool write_entries(const struct cs_store *store, int fd)
{
    struct cs_store_record record;
    char line[CS_STORE_LINE];
    for (size_t i = first_kept(store); i < store->entries; i++) {
        if (store->entry[i].noted)
            continue;
        recall(store, &store->entry[i], &record);
        if (!cs_store_write(fd, line, cs_store_write_line(&record, line)))
            return false;
    }
    return true;
}

/* Writes the newer half into a new file. Others append to the old file until it is locked, and to
 * the new one afterwards. */
static void compact(struct cs_store *store)
{
    int lock = cs_store_lock(store->path);
    struct stat info;
    if (lock < 0)
        return;
    refresh(store);
    int fd = fstat(lock, &info) == 0 && info.st_size > CS_STORE_BYTES
                 ? cs_store_begin_new(store->path)
                 : -1;
    if (fd >= 0)
        cs_store_end_new(store->path, fd, write_entries(store, fd));
    close(lock);
}

/* --- interface -------------------------------------------------------------------------------- */

bool cs_store_get(struct cs_store *store, struct cs_store_key key, struct cs_store_record *record)
{
    struct hold hold;
    enter(store, &hold);
    const struct cs_store_entry *entry = find(store, key);
    if (!entry) {
        refresh(store);
        entry = find(store, key);
    }
    if (entry)
        recall(store, entry, record);
    leave(store, &hold);
    return entry != NULL;
}

void cs_store_each(struct cs_store *store, uint64_t part,
                   void (*visit)(void *ctx, const struct cs_store_record *record), void *ctx)
{
    struct cs_store_record record;
    struct hold hold;
    enter(store, &hold);
    refresh(store);
    for (size_t i = 0; i < store->entries; i++) {
        if (store->entry[i].key.part[0] != part)
            continue;
        recall(store, &store->entry[i], &record);
        visit(ctx, &record);
    }
    leave(store, &hold);
}

static void write_record(struct cs_store *store, const struct cs_store_record *record)
{
    char line[CS_STORE_LINE];
    int64_t size = cs_store_append(store->path, line, cs_store_write_line(record, line));
    if (size < 0)
        report_unwritable(store, errno);
    if (size > CS_STORE_BYTES)
        compact(store);
}

static void add(struct cs_store *store, const struct cs_store_record *record, bool noted)
{
    struct hold hold;
    if (record->words < 1 || record->words > CS_STORE_WORDS)
        return;
    enter(store, &hold);
    refresh(store);
    if (!find(store, record->key)) {
        remember(store, record, noted);
        if (store->path[0] && !noted)
            write_record(store, record);
    }
    leave(store, &hold);
}

void cs_store_put(struct cs_store *store, const struct cs_store_record *record)
{
    add(store, record, false);
}

void cs_store_add(struct cs_store *store, const struct cs_store_record *record)
{
    add(store, record, true);
}
