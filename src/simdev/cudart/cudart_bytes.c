/* Account mode: which bytes of device memory were written by copies and sets, and the results of
 * reading other bytes. */
#include "cudart_bytes.h"
#include "cudart_values.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    SMALL = 1 << 18,     /* bytes; writes up to this size are always kept */
    MOST_PAGES = 1 << 29 /* bytes; larger writes are kept while all pages hold less than this */
};

/* The contents of an extent. */
struct contents {
    bool in_pages;    /* the bytes are in the pages of the memory, otherwise `pattern` repeats */
    bool is_assumed;  /* they count as never written */
    uint64_t pattern; /* its byte i is at every address that is i modulo 8 */
};

static const struct contents written_pages = {.in_pages = true},
                             assumed_pages = {.in_pages = true, .is_assumed = true};

/* A run of bytes with known or assumed contents. */
struct extent {
    uintptr_t begin, end;
    struct contents contents;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct extent *extents; /* sorted, apart */
static size_t count, room;
static size_t in_pages; /* bytes of all extents in pages */
static struct simdev_unwritten unwritten;
static uintptr_t *given; /* sorted: addresses passed to kernels since their memory was written */
static size_t givens, given_room;

/* --- extents; the caller holds the lock --- */

/* The first extent that ends after the address. */
static size_t first_behind(uintptr_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (extents[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool make_room(size_t more)
{
    if (count + more <= room)
        return true;
    const size_t wanted = room ? 2 * room : 256;
    struct extent *larger = realloc(extents, wanted * sizeof(*larger));
    if (!larger)
        return false;
    extents = larger;
    room = wanted;
    return true;
}

static void insert_at(size_t at, struct extent extent)
{
    memmove(&extents[at + 1], &extents[at], (count - at) * sizeof(*extents));
    extents[at] = extent;
    count++;
}

static void remove_at(size_t at, size_t removed)
{
    memmove(&extents[at], &extents[at + removed], (count - at - removed) * sizeof(*extents));
    count -= removed;
}

/* Returns the whole pages inside the range to the operating system. */
static void release_pages(uintptr_t begin, uintptr_t end)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
    if (first < last)
        madvise((void *)first, last - first, MADV_DONTNEED);
}

/* The first address passed to a kernel that is not below this one. */
static size_t first_given(uintptr_t address)
{
    size_t low = 0, high = givens;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (given[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void forget_given(uintptr_t begin, uintptr_t end)
{
    const size_t first = first_given(begin), last = first_given(end);
    memmove(&given[first], &given[last], (givens - last) * sizeof(*given));
    givens -= last - first;
}

static bool was_given(uintptr_t begin, uintptr_t end)
{
    const size_t first = first_given(begin);
    return first < givens && given[first] < end;
}

/* Bytes of the range that are in pages. */
static size_t pages_of(uintptr_t begin, uintptr_t end)
{
    size_t bytes = 0;
    for (size_t i = first_behind(begin); i < count && extents[i].begin < end; i++) {
        const struct extent *extent = &extents[i];
        const uintptr_t from = extent->begin > begin ? extent->begin : begin;
        if (extent->contents.in_pages)
            bytes += (extent->end < end ? extent->end : end) - from;
    }
    return bytes;
}

/* Removes [begin, end). False, without any change, if memory is short. */
static bool remove_range(uintptr_t begin, uintptr_t end)
{
    if (!make_room(2))
        return false;
    in_pages -= pages_of(begin, end);
    if (givens > 0)
        forget_given(begin, end);
    size_t at = first_behind(begin);
    if (at < count && extents[at].begin < begin) {
        const struct extent whole = extents[at];
        extents[at].end = begin;
        at++;
        if (whole.end > end) {
            insert_at(at, (struct extent){end, whole.end, whole.contents});
            return true;
        }
    }
    size_t last = at;
    while (last < count && extents[last].end <= end)
        last++;
    remove_at(at, last - at);
    if (at < count && extents[at].begin < end)
        extents[at].begin = end;
    return true;
}

static bool is_assumed_pages(struct contents contents)
{
    return contents.in_pages && contents.is_assumed;
}

/* Assumed bytes next to assumed bytes are one extent, because a loop over the columns of a picture
 * would make an extent of each element. */
static void add_extent(uintptr_t begin, uintptr_t end, struct contents contents)
{
    if (!remove_range(begin, end))
        return;
    const size_t at = first_behind(begin);
    const bool joins = is_assumed_pages(contents);
    const bool left = joins && at > 0 && extents[at - 1].end == begin &&
                      is_assumed_pages(extents[at - 1].contents);
    const bool right =
        joins && at < count && extents[at].begin == end && is_assumed_pages(extents[at].contents);
    if (left)
        extents[at - 1].end = right ? extents[at].end : end;
    else if (right)
        extents[at].begin = begin;
    else
        insert_at(at, (struct extent){begin, end, contents});
    if (left && right)
        remove_at(at, 1);
    in_pages += contents.in_pages ? end - begin : 0;
}

static void drop_range(uintptr_t begin, uintptr_t end)
{
    (void)remove_range(begin, end);
    release_pages(begin, end);
}

/* --- copies and sets --- */

/* Models are larger than the memory of the host that simulates them. Few programs read
 * their weights back. */
static bool is_kept(uintptr_t begin, size_t bytes)
{
    return bytes <= SMALL || in_pages - pages_of(begin, begin + bytes) + bytes <= MOST_PAGES;
}

static void write_locked(void *device, const void *host, size_t bytes, struct contents contents)
{
    if (!is_kept((uintptr_t)device, bytes)) {
        drop_range((uintptr_t)device, (uintptr_t)device + bytes);
        return;
    }
    memcpy(device, host, bytes);
    add_extent((uintptr_t)device, (uintptr_t)device + bytes, contents);
}

void simdev_bytes_write(void *device, const void *host, size_t bytes)
{
    pthread_mutex_lock(&lock);
    write_locked(device, host, bytes, written_pages);
    pthread_mutex_unlock(&lock);
}

void simdev_bytes_assume(void *device, const void *host, size_t bytes)
{
    pthread_mutex_lock(&lock);
    write_locked(device, host, bytes, assumed_pages);
    pthread_mutex_unlock(&lock);
}

/* --- patterns --- */

static unsigned char byte_at(uint64_t pattern, uintptr_t address)
{
    unsigned char byte[sizeof pattern];
    memcpy(byte, &pattern, sizeof pattern);
    return byte[address % sizeof pattern];
}

/* The pattern of a value of 1, 2, 4 or 8 bytes that is repeated from an address. */
static uint64_t pattern_from(const void *value, unsigned element, uintptr_t address)
{
    unsigned char byte[sizeof(uint64_t)] = {0};
    uint64_t pattern;
    for (unsigned i = 0; i < sizeof byte; i++)
        byte[(address + i) % sizeof byte] = ((const unsigned char *)value)[i % element];
    memcpy(&pattern, byte, sizeof pattern);
    return pattern;
}

static void read_pattern(char *host, uint64_t pattern, uintptr_t begin, uintptr_t end)
{
    uintptr_t at = begin;
    while (at < end && at % sizeof pattern != 0)
        *host++ = (char)byte_at(pattern, at++);
    for (; at + sizeof pattern <= end; at += sizeof pattern, host += sizeof pattern)
        memcpy(host, &pattern, sizeof pattern);
    while (at < end)
        *host++ = (char)byte_at(pattern, at++);
}

static void set_locked(uintptr_t begin, size_t bytes, struct contents contents)
{
    release_pages(begin, begin + bytes);
    add_extent(begin, begin + bytes, contents);
}

static void set_bytes(void *device, const void *value, unsigned element, size_t bytes,
                      bool is_assumed)
{
    const uintptr_t begin = (uintptr_t)device;
    const uint64_t pattern = pattern_from(value, element, begin);
    pthread_mutex_lock(&lock);
    set_locked(begin, bytes, (struct contents){.is_assumed = is_assumed, .pattern = pattern});
    pthread_mutex_unlock(&lock);
}

void simdev_bytes_set(void *device, const void *value, unsigned element, size_t bytes)
{
    set_bytes(device, value, element, bytes, false);
}

void simdev_bytes_assume_set(void *device, const void *value, unsigned element, size_t bytes)
{
    set_bytes(device, value, element, bytes, true);
}

/* Returns the number of known bytes. The caller holds the lock. */
static size_t read_locked(void *host, const void *device, size_t bytes)
{
    const uintptr_t begin = (uintptr_t)device, end = begin + bytes;
    size_t known = 0;
    memset(host, 0, bytes);
    for (size_t i = first_behind(begin); i < count && extents[i].begin < end; i++) {
        const struct extent *extent = &extents[i];
        const uintptr_t from = extent->begin > begin ? extent->begin : begin;
        const uintptr_t to = extent->end < end ? extent->end : end;
        const bool is_whole = extent->begin >= begin && extent->end <= end;
        if (!is_whole && was_given(from, to))
            continue;
        if (extent->contents.in_pages)
            memcpy((char *)host + (from - begin), (const void *)from, to - from);
        else
            read_pattern((char *)host + (from - begin), extent->contents.pattern, from, to);
        known += extent->contents.is_assumed ? 0 : to - from;
    }
    return known;
}

size_t simdev_bytes_peek(void *host, const void *device, size_t bytes)
{
    pthread_mutex_lock(&lock);
    const size_t known = read_locked(host, device, bytes);
    pthread_mutex_unlock(&lock);
    return bytes - known;
}

bool simdev_bytes_repeat(const void *device, size_t bytes)
{
    const uintptr_t begin = (uintptr_t)device, end = begin + bytes;
    pthread_mutex_lock(&lock);
    const size_t at = first_behind(begin);
    const bool repeat =
        at == count || extents[at].begin >= end ||
        (!extents[at].contents.in_pages && extents[at].begin <= begin && extents[at].end >= end);
    pthread_mutex_unlock(&lock);
    return repeat;
}

size_t simdev_bytes_read(void *host, const void *device, size_t bytes)
{
    pthread_mutex_lock(&lock);
    size_t known = 0;
    if (atomic_load(&simdev_values_told) == SIMDEV_VALUES_OWN)
        memset(host, 0, bytes);
    else
        known = read_locked(host, device, bytes);
    unwritten.reads += known < bytes;
    unwritten.bytes += bytes - known;
    pthread_mutex_unlock(&lock);
    return bytes - known;
}

static void move_extent(uintptr_t to, uintptr_t from, size_t bytes, struct contents contents)
{
    unsigned char value[sizeof contents.pattern] = {0};
    if (contents.in_pages) {
        write_locked((void *)to, (const void *)from, bytes, contents);
        return;
    }
    read_pattern((char *)value, contents.pattern, from, from + sizeof value);
    contents.pattern = pattern_from(value, sizeof value, to);
    set_locked(to, bytes, contents);
}

/* Bytes that were never written at the source are then unknown at the destination. */
void simdev_bytes_move(void *to, const void *from, size_t bytes)
{
    const uintptr_t begin = (uintptr_t)from, end = begin + bytes;
    const intptr_t shift = (intptr_t)to - (intptr_t)begin;
    uintptr_t at = begin;
    pthread_mutex_lock(&lock);
    while (at < end) {
        const size_t i = first_behind(at);
        const bool inside = i < count && extents[i].begin <= at;
        uintptr_t next = inside ? extents[i].end : i < count ? extents[i].begin : end;
        if (next > end)
            next = end;
        const uintptr_t target = (uintptr_t)((intptr_t)at + shift);
        if (!inside)
            drop_range(target, target + (next - at));
        else
            move_extent(target, at, next - at, extents[i].contents);
        at = next;
    }
    pthread_mutex_unlock(&lock);
}

static bool is_written(uintptr_t address)
{
    const size_t at = first_behind(address);
    return at < count && extents[at].begin <= address;
}

static void add_given(uintptr_t address)
{
    const size_t at = first_given(address);
    if (!is_written(address) || (at < givens && given[at] == address))
        return;
    if (givens == given_room) {
        const size_t wanted = given_room ? 2 * given_room : 256;
        uintptr_t *larger = realloc(given, wanted * sizeof(*larger));
        if (!larger)
            return;
        given = larger;
        given_room = wanted;
    }
    memmove(&given[at + 1], &given[at], (givens - at) * sizeof(*given));
    given[at] = address;
    givens++;
}

void simdev_bytes_given(const uintptr_t *address, size_t addresses)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < addresses; i++)
        add_given(address[i]);
    pthread_mutex_unlock(&lock);
}

void simdev_bytes_forget(const void *device, size_t bytes)
{
    const uintptr_t begin = (uintptr_t)device, end = begin + bytes;
    pthread_mutex_lock(&lock);
    if (pages_of(begin, end) > SMALL)
        drop_range(begin, end);
    else
        (void)remove_range(begin, end);
    pthread_mutex_unlock(&lock);
}

struct simdev_unwritten simdev_bytes_unwritten(void)
{
    pthread_mutex_lock(&lock);
    const struct simdev_unwritten copy = unwritten;
    pthread_mutex_unlock(&lock);
    return copy;
}
