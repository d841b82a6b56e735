/* Finds the loaded object of an address, and caches whether the object is cuDNN. */
#include "intercept/loader/objects.h"

#include "cudnn/bind/real.h"
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum {
    MAX_RANGES = 64,    /* for further ones every call queries the loader */
    GENERATED = 1 << 20 /* code outside all objects, such as a JIT compiler's, is cached in blocks
                           of this size */
};

/* A cached range, written once: `from` first, by the thread that claims the slot, `to` last. */
struct range {
    _Atomic(uintptr_t) from, to;
    atomic_bool cudnn;
};
static struct range known[MAX_RANGES];

/* The search for the object of an address. `from` and `to` become its range, or the gap between
 * objects. */
struct search {
    uintptr_t address, from, to;
    char path[PATH_MAX]; /* path of the object; empty: the address is in no object */
};

/* Copies the range and path of the object with the address. Other objects bound the gap
 * (dl_iterate_phdr). */
static int examine_object(struct dl_phdr_info *object, size_t size, void *opaque)
{
    struct search *search = opaque;
    const struct cs_object_range range = cs_object_range_of(object);
    (void)size;
    if (cs_object_range_has(range, search->address)) {
        search->from = range.from;
        search->to = range.to;
        snprintf(search->path, sizeof search->path, "%s", object->dlpi_name);
        return 1;
    }
    if (range.to <= search->address && range.to > search->from)
        search->from = range.to;
    if (range.from > search->address && range.from < search->to)
        search->to = range.from;
    return 0;
}

/* Stores a range in a free slot. It is not cached if all slots are used. */
static void remember_caller(const struct search *found, bool cudnn)
{
    for (int i = 0; i < MAX_RANGES; i++) {
        uintptr_t none = 0;
        if (!atomic_compare_exchange_strong(&known[i].from, &none, found->from))
            continue;
        atomic_store_explicit(&known[i].cudnn, cudnn, memory_order_relaxed);
        atomic_store_explicit(&known[i].to, found->to, memory_order_release);
        return;
    }
}

/* Searches the object of an address, and caches whether it is cuDNN. */
__attribute__((noinline)) static bool find_caller(uintptr_t address)
{
    uintptr_t block = address / GENERATED * GENERATED;
    struct search search;
    search.address = address;
    search.from = block;
    search.to = block + GENERATED;
    search.path[0] = '\0';
    (void)dl_iterate_phdr(examine_object, &search);
    bool cudnn = cs_real_owns(search.path); /* not while the loader's list is locked */
    remember_caller(&search, cudnn);
    return cudnn;
}

struct cs_object_range cs_object_range_of(const struct dl_phdr_info *object)
{
    struct cs_object_range range = {UINTPTR_MAX, 0};
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const Elf64_Phdr *segment = &object->dlpi_phdr[i];
        uintptr_t from = object->dlpi_addr + segment->p_vaddr, to = from + segment->p_memsz;
        if (segment->p_type != PT_LOAD)
            continue;
        range.from = from < range.from ? from : range.from;
        range.to = to > range.to ? to : range.to;
    }
    return range;
}

bool cs_caller_is_cudnn(const void *address)
{
    uintptr_t at = (uintptr_t)address;
    for (int i = 0; i < MAX_RANGES; i++) {
        uintptr_t to = atomic_load_explicit(&known[i].to, memory_order_acquire);
        if (to == 0)
            break;
        if (at < to && at >= atomic_load_explicit(&known[i].from, memory_order_relaxed))
            return atomic_load_explicit(&known[i].cudnn, memory_order_relaxed);
    }
    return find_caller(at);
}
