/* Ranges, pieces and maps (CUDA Driver API, Virtual Memory Management). The file behind the memory
 * has no pages until it is written. */
#include "cudart_vmm.h"
#include "cudart_account.h"
#include "cudart_bytes.h"
#include "cudart_context.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct range { /* reserved addresses */
    struct range *next;
    uintptr_t begin;
    size_t bytes;
};

/* Memory without an address: a piece of one file in memory, so that all mappings of a piece share
 * their content. */
struct piece {
    struct piece *next;
    uint64_t handle;
    off_t place;
    size_t bytes;
    int device;
    bool is_imported;    /* it counts in another process */
    unsigned references; /* of the program */
    unsigned maps;
};

struct map {
    struct map *next;
    struct piece *piece;
    uintptr_t begin;
    size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all of this */
static struct range *ranges;
static struct piece *pieces;
static struct map *maps;
static uint64_t next_handle = 1;
static int file = -1;
static off_t file_end;

static bool is_granular(size_t bytes)
{
    return bytes > 0 && bytes % SIMDEV_GRANULARITY == 0;
}

/* --- addresses --- */

/* Reserves more than requested, so that a part of it is aligned. */
static uintptr_t reserve_range(size_t bytes, size_t alignment, uintptr_t wanted)
{
    size_t more;
    if (__builtin_add_overflow(bytes, alignment, &more))
        return 0;
    void *begin =
        mmap((void *)wanted, more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED)
        return 0;
    const uintptr_t first = (uintptr_t)begin;
    const uintptr_t aligned = (first + alignment - 1) / alignment * alignment;
    if (aligned > first)
        munmap(begin, aligned - first);
    if (aligned + bytes < first + more)
        munmap((void *)(aligned + bytes), first + more - aligned - bytes);
    return aligned;
}

cudaError_t simdev_vmm_reserve(uintptr_t *address, size_t bytes, size_t alignment, uintptr_t wanted)
{
    cudaError_t error = simdev_begin(simdev_driver_call());
    if (error == cudaSuccess && (!address || !is_granular(bytes) || alignment & (alignment - 1)))
        error = cudaErrorInvalidValue;
    struct range *range = error == cudaSuccess ? calloc(1, sizeof(*range)) : NULL;
    if (error != cudaSuccess)
        return error;
    const size_t aligned = alignment > SIMDEV_GRANULARITY ? alignment : SIMDEV_GRANULARITY;
    const uintptr_t begin = range ? reserve_range(bytes, aligned, wanted) : 0;
    if (begin == 0) {
        free(range);
        return cudaErrorMemoryAllocation;
    }
    pthread_mutex_lock(&lock);
    *range = (struct range){.next = ranges, .begin = begin, .bytes = bytes};
    ranges = range;
    pthread_mutex_unlock(&lock);
    *address = begin;
    return cudaSuccess;
}

/* Caller holds the lock, here and below. */
static bool is_mapped(uintptr_t begin, size_t bytes)
{
    for (const struct map *m = maps; m; m = m->next)
        if (m->begin < begin + bytes && begin < m->begin + m->bytes)
            return true;
    return false;
}

static cudaError_t free_range(uintptr_t address, size_t bytes)
{
    struct range **link = &ranges;
    while (*link && (*link)->begin != address)
        link = &(*link)->next;
    struct range *range = *link;
    if (!range || range->bytes != bytes || is_mapped(address, bytes))
        return cudaErrorInvalidValue;
    *link = range->next;
    free(range);
    munmap((void *)address, bytes);
    return cudaSuccess;
}

cudaError_t simdev_vmm_free(uintptr_t address, size_t bytes)
{
    cudaError_t error = simdev_begin(simdev_driver_call());
    pthread_mutex_lock(&lock);
    if (error == cudaSuccess)
        error = free_range(address, bytes);
    pthread_mutex_unlock(&lock);
    return error;
}

static bool is_reserved(uintptr_t begin, size_t bytes)
{
    for (const struct range *r = ranges; r; r = r->next)
        if (begin >= r->begin && bytes <= r->bytes && begin - r->begin <= r->bytes - bytes)
            return true;
    return false;
}

/* --- memory --- */

/* An offset in the file. -1 if there is none. */
static off_t extend_file(size_t bytes)
{
    if (file < 0)
        file = memfd_create("simdev", MFD_CLOEXEC);
    const off_t place = file_end;
    if (file < 0 || ftruncate(file, place + (off_t)bytes) != 0)
        return -1;
    file_end += (off_t)bytes;
    return place;
}

static struct piece *find_piece(uint64_t handle)
{
    struct piece *piece = pieces;
    while (piece && (piece->handle != handle || piece->references == 0))
        piece = piece->next;
    return piece;
}

static void drop_unused(struct piece *piece)
{
    struct piece **link = &pieces;
    if (piece->references > 0 || piece->maps > 0)
        return;
    while (*link != piece)
        link = &(*link)->next;
    *link = piece->next;
    (void)fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, piece->place,
                    (off_t)piece->bytes);
    if (!piece->is_imported)
        simdev_mem_uncount(piece->device, piece->bytes, true);
    free(piece);
}

static cudaError_t add_piece(uint64_t *handle, size_t bytes, int device, bool is_imported)
{
    struct piece *piece = calloc(1, sizeof(*piece));
    const off_t place = piece ? extend_file(bytes) : -1;
    if (place < 0) {
        free(piece);
        return cudaErrorMemoryAllocation;
    }
    *piece = (struct piece){.next = pieces,
                            .handle = next_handle++,
                            .place = place,
                            .bytes = bytes,
                            .device = device,
                            .is_imported = is_imported,
                            .references = 1};
    pieces = piece;
    *handle = piece->handle;
    return cudaSuccess;
}

cudaError_t simdev_vmm_create(uint64_t *handle, size_t bytes, int device)
{
    cudaError_t error = simdev_begin(simdev_driver_call());
    if (error == cudaSuccess && (!handle || !is_granular(bytes)))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && (device < 0 || device >= simdev_device_count()))
        error = cudaErrorInvalidDevice;
    if (error == cudaSuccess && !simdev_mem_count(device, bytes))
        error = cudaErrorMemoryAllocation;
    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&lock);
    error = add_piece(handle, bytes, device, false);
    pthread_mutex_unlock(&lock);
    if (error != cudaSuccess)
        simdev_mem_uncount(device, bytes, false);
    return error;
}

cudaError_t simdev_vmm_release(uint64_t handle)
{
    cudaError_t error = simdev_begin(simdev_driver_call());
    pthread_mutex_lock(&lock);
    struct piece *piece = find_piece(handle);
    if (error == cudaSuccess && !piece)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        piece->references--;
        drop_unused(piece);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

/* --- in other processes --- */

/* The contents of an exported descriptor. */
struct exported {
    char mark[8];
    uint64_t bytes;
    int device;
};

static const char export_mark[8] = "simdevx";

cudaError_t simdev_vmm_export(uint64_t handle, int *descriptor)
{
    struct exported exported = {.bytes = 0};
    size_t bytes = 0;
    cudaError_t error = simdev_vmm_describe(handle, &bytes, &exported.device);
    if (error != cudaSuccess)
        return error;
    exported.bytes = bytes;
    memcpy(exported.mark, export_mark, sizeof export_mark);
    const int made = memfd_create("simdev-shared", MFD_CLOEXEC);
    if (made < 0 || pwrite(made, &exported, sizeof exported, 0) != (ssize_t)sizeof exported) {
        if (made >= 0)
            close(made);
        return cudaErrorOperatingSystem;
    }
    *descriptor = made;
    return cudaSuccess;
}

cudaError_t simdev_vmm_import(uint64_t *handle, int descriptor)
{
    struct exported exported;
    cudaError_t error = simdev_begin(simdev_driver_call());
    if (error == cudaSuccess &&
        (pread(descriptor, &exported, sizeof exported, 0) != (ssize_t)sizeof exported ||
         memcmp(exported.mark, export_mark, sizeof export_mark) != 0))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && exported.device >= simdev_device_count())
        error = cudaErrorInvalidDevice;
    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&lock);
    error = add_piece(handle, exported.bytes, exported.device, true);
    pthread_mutex_unlock(&lock);
    return error;
}

static struct map *map_at(uintptr_t address)
{
    struct map *map = maps;
    while (map && (address < map->begin || address - map->begin >= map->bytes))
        map = map->next;
    return map;
}

cudaError_t simdev_vmm_retain(uint64_t *handle, uintptr_t address)
{
    cudaError_t error = simdev_begin(simdev_driver_call());
    pthread_mutex_lock(&lock);
    const struct map *map = map_at(address);
    if (error == cudaSuccess && (!handle || !map))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        map->piece->references++;
        *handle = map->piece->handle;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t simdev_vmm_describe(uint64_t handle, size_t *bytes, int *device)
{
    cudaError_t error = simdev_begin(simdev_driver_call());
    pthread_mutex_lock(&lock);
    const struct piece *piece = find_piece(handle);
    if (error == cudaSuccess && !piece)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        *bytes = piece->bytes;
        *device = piece->device;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

/* --- one in the other --- */

static cudaError_t add_map(uintptr_t address, size_t bytes, size_t offset, struct piece *piece)
{
    const struct simdev_owner owner = {.device = piece->device};
    struct map *map = calloc(1, sizeof(*map));
    if (!map)
        return cudaErrorMemoryAllocation;
    void *made = mmap((void *)address, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, piece->place + (off_t)offset);
    if (made == MAP_FAILED ||
        simdev_mem_add(SIMDEV_DEVICE, owner, made, bytes, SIMDEV_KIND_MAPPED) != cudaSuccess) {
        free(map);
        return cudaErrorMemoryAllocation;
    }
    *map = (struct map){.next = maps, .piece = piece, .begin = address, .bytes = bytes};
    maps = map;
    piece->maps++;
    return cudaSuccess;
}

cudaError_t simdev_vmm_map(uintptr_t address, size_t bytes, size_t offset, uint64_t handle)
{
    cudaError_t error = simdev_begin(simdev_driver_call());
    pthread_mutex_lock(&lock);
    struct piece *piece = find_piece(handle);
    if (error == cudaSuccess &&
        (!piece || !is_granular(bytes) || address % SIMDEV_GRANULARITY != 0 ||
         offset % SIMDEV_GRANULARITY != 0 || offset > piece->bytes ||
         bytes > piece->bytes - offset || !is_reserved(address, bytes) ||
         is_mapped(address, bytes)))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = add_map(address, bytes, offset, piece);
    pthread_mutex_unlock(&lock);
    return error;
}

static void remove_map(struct map *wanted)
{
    struct map **link = &maps;
    while (*link != wanted)
        link = &(*link)->next;
    *link = wanted->next;
    if (simdev_account_on())
        simdev_bytes_forget((void *)wanted->begin, wanted->bytes);
    (void)simdev_mem_remove((void *)wanted->begin, wanted->bytes, SIMDEV_KIND_MAPPED);
    (void)mmap((void *)wanted->begin, wanted->bytes, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    wanted->piece->maps--;
    drop_unused(wanted->piece);
    free(wanted);
}

/* Accepts only a sequence of whole, adjacent mappings, as on a GPU. */
static cudaError_t check_whole(uintptr_t address, size_t bytes)
{
    const uintptr_t end = address + bytes;
    while (address < end) {
        const struct map *map = map_at(address);
        if (!map || map->begin != address || map->bytes > end - address)
            return cudaErrorInvalidValue;
        address += map->bytes;
    }
    return cudaSuccess;
}

/* Waits for the work that may use it, as a free does. */
cudaError_t simdev_vmm_unmap(uintptr_t address, size_t bytes)
{
    cudaError_t error = simdev_begin(simdev_driver_call());
    if (error != cudaSuccess)
        return error;
    simdev_queue_settle();
    pthread_mutex_lock(&lock);
    error = is_granular(bytes) ? check_whole(address, bytes) : cudaErrorInvalidValue;
    for (uintptr_t at = address; error == cudaSuccess && at < address + bytes;) {
        struct map *map = map_at(at);
        at += map->bytes;
        remove_map(map);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t simdev_vmm_check(uintptr_t address, size_t bytes)
{
    cudaError_t error = simdev_begin(simdev_driver_call());
    const uintptr_t end = address + bytes;
    pthread_mutex_lock(&lock);
    while (error == cudaSuccess && address < end) {
        const struct map *map = map_at(address);
        if (!map)
            error = cudaErrorInvalidValue;
        else
            address = map->begin + map->bytes;
    }
    pthread_mutex_unlock(&lock);
    return error;
}
