/* Finds loaded objects that call cuDNN past the entries, by their relocations. */
#include "intercept/loader/objects.h"

#include "base/hash.h"
#include "base/path.h"
#include "cudnn/bind/real.h"
#include "intercept/entry/entries.h"
#include "intercept/loader/dlsym.h"
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    VENDOR_FILES = 64 /* cuDNN 9 has about ten; further ones are not recognized */
};

#if defined __x86_64__
enum {
    DATA_SLOT = R_X86_64_GLOB_DAT,
    CALL_SLOT = R_X86_64_JUMP_SLOT
};
#elif defined __aarch64__
enum {
    DATA_SLOT = R_AARCH64_GLOB_DAT,
    CALL_SLOT = R_AARCH64_JUMP_SLOT
};
#endif

/* The search, and the names of the objects that it has found. */
struct search {
    struct cs_object_range vendor[VENDOR_FILES];
    int vendors;
    char *text;
    size_t size, length, found; /* bytes of `text`, bytes of the names in it, number of objects */
    bool full;                  /* further names are left out */
};

struct relocations {
    const Elf64_Rela *first;
    size_t bytes;
};

/* The tables of one loaded object. */
struct tables {
    Elf64_Addr base;
    const char *strings;
    const Elf64_Sym *symbols;
    const uint32_t *hash;
    struct relocations calls, rest;
};

/* The pointer to an address from an object's dynamic section. The loader adds the base to these
 * addresses when it loads an object, except in the kernel's object. */
static const void *address_of(Elf64_Addr base, Elf64_Addr address)
{
    uintptr_t where = address < base ? base + address : address;
    return (const void *)where;
}

/* Stores the table that an entry of the dynamic section names. */
static void read_entry(struct tables *t, const Elf64_Dyn *d)
{
    switch (d->d_tag) {
    case DT_STRTAB:
        t->strings = address_of(t->base, d->d_un.d_ptr);
        break;
    case DT_SYMTAB:
        t->symbols = address_of(t->base, d->d_un.d_ptr);
        break;
    case DT_GNU_HASH:
        t->hash = address_of(t->base, d->d_un.d_ptr);
        break;
    case DT_JMPREL:
        t->calls.first = address_of(t->base, d->d_un.d_ptr);
        break;
    case DT_PLTRELSZ:
        t->calls.bytes = d->d_un.d_val;
        break;
    case DT_RELA:
        t->rest.first = address_of(t->base, d->d_un.d_ptr);
        break;
    case DT_RELASZ:
        t->rest.bytes = d->d_un.d_val;
        break;
    default:
        break;
    }
}

/* The tables of a loaded object. Missing ones are NULL. */
static struct tables tables_of(const struct dl_phdr_info *object)
{
    struct tables t = {.base = object->dlpi_addr};
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const Elf64_Phdr *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_DYNAMIC)
            continue;
        const Elf64_Dyn *d = (const void *)(object->dlpi_addr + segment->p_vaddr);
        for (; d->d_tag != DT_NULL; d++)
            read_entry(&t, d);
    }
    return t;
}

static bool in_vendor(const struct search *search, uintptr_t address)
{
    for (int i = 0; i < search->vendors; i++)
        if (cs_object_range_has(search->vendor[i], address))
            return true;
    return false;
}

static bool is_slot(const Elf64_Rela *r)
{
    return ELF64_R_TYPE(r->r_info) == DATA_SLOT || ELF64_R_TYPE(r->r_info) == CALL_SLOT;
}

/* True if an object calls an intercepted function in cuDNN itself. A slot contains the address of
 * the function that is called through it. Until the first call it contains an address in the object
 * itself. Names are compared last, because large objects have hundreds of thousands. */
static bool binds_past(const struct search *search, const struct tables *t,
                       const struct relocations *relocations)
{
    size_t count = relocations->first ? relocations->bytes / sizeof *relocations->first : 0;
    for (size_t i = 0; i < count; i++) {
        const Elf64_Rela *r = &relocations->first[i];
        if (!is_slot(r))
            continue;
        _Atomic(uintptr_t) *slot = (void *)(t->base + r->r_offset);
        const Elf64_Sym *symbol = &t->symbols[ELF64_R_SYM(r->r_info)];
        if (in_vendor(search, atomic_load_explicit(slot, memory_order_relaxed)) &&
            cs_entries_find(t->strings + symbol->st_name))
            return true;
    }
    return false;
}

/* True if an object defines a function of that name. Its DT_GNU_HASH table has four words (the
 * number of buckets, the first symbol, the words of the filter, the shift), then the filter, the
 * buckets and the chains. An odd hash ends a chain. */
static bool defines_symbol(const struct tables *t, const char *name)
{
    if (!t->hash || t->hash[0] == 0)
        return false;
    uint32_t buckets = t->hash[0], first = t->hash[1], hash = cs_hash_gnu(name);
    const uint32_t *bucket = t->hash + 4 + t->hash[2] * (sizeof(Elf64_Addr) / sizeof(uint32_t));
    const uint32_t *chain = bucket + buckets;
    uint32_t index = bucket[hash % buckets];
    if (index < first || index == 0)
        return false;
    for (;; index++) {
        const Elf64_Sym *symbol = &t->symbols[index];
        if ((chain[index - first] | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
            strcmp(t->strings + symbol->st_name, name) == 0)
            return true;
        if (chain[index - first] & 1)
            return false;
    }
}

/* True if the object defines intercepted functions of cuDNN and also others. An object that only
 * wraps the vendor's convolutions, such as this library or a copy, lacks the others. */
static bool defines_all(const struct tables *t)
{
    static const char *const names[] = {
#define CS_CALL(name) #name,
#include "cudnn/bind/calls.def"
#undef CS_CALL
    };
    bool has_entries = false, has_others = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool *has_kind = cs_entries_find(names[i]) ? &has_entries : &has_others;
        if (!*has_kind)
            *has_kind = defines_symbol(t, names[i]);
    }
    return has_entries && has_others;
}

/* True if the object defines an intercepted function but calls it through a slot that the loader
 * has not bound to that definition. Such calls reach the entries. */
static bool calls_by_name(const struct tables *t, const struct relocations *relocations)
{
    size_t count = relocations->first ? relocations->bytes / sizeof *relocations->first : 0;
    for (size_t i = 0; i < count; i++) {
        const Elf64_Rela *r = &relocations->first[i];
        const Elf64_Sym *symbol = &t->symbols[ELF64_R_SYM(r->r_info)];
        _Atomic(uintptr_t) *slot = (void *)(t->base + r->r_offset);
        if (is_slot(r) && symbol->st_shndx != SHN_UNDEF &&
            cs_entries_find(t->strings + symbol->st_name) &&
            atomic_load_explicit(slot, memory_order_relaxed) != t->base + symbol->st_value)
            return true;
    }
    return false;
}

/* True for objects with the vendor's library linked in. False for objects with stubs, which load
 * the library and look its functions up (TensorFlow's framework library): they call the entries by
 * name, or a lookup has returned entries to them. */
static bool has_inside(const struct tables *t, struct cs_object_range range)
{
    return defines_all(t) && !calls_by_name(t, &t->calls) && !calls_by_name(t, &t->rest) &&
           !cs_dlsym_answered(range.from, range.to);
}

/* Counts an object and appends its file name to the text, or "..." if there is no room. */
static void add_path(struct search *search, const char *path)
{
    search->found++;
    if (search->full)
        return;
    const char *file = cs_path_file(path), *gap = search->length ? ", " : "";
    size_t length = search->length + strlen(gap) + strlen(file);
    search->full = length + strlen(", ...") >= search->size;
    snprintf(search->text + search->length, search->size - search->length, "%s%s", gap,
             search->full ? "..." : file);
    search->length = length;
}

static int note_vendor(struct dl_phdr_info *object, size_t size, void *argument)
{
    struct search *search = argument;
    (void)size;
    if (search->vendors < VENDOR_FILES && cs_real_has_file(object->dlpi_name))
        search->vendor[search->vendors++] = cs_object_range_of(object);
    return 0;
}

/* Adds an object that calls cuDNN past the entries (dl_iterate_phdr). */
static int examine_object(struct dl_phdr_info *object, size_t size, void *argument)
{
    static const char here;
    struct search *search = argument;
    const char *path = *object->dlpi_name ? object->dlpi_name : program_invocation_name;
    (void)size;
    struct cs_object_range range = cs_object_range_of(object);
    if (cs_real_has_file(object->dlpi_name) || cs_object_range_has(range, (uintptr_t)&here))
        return 0;
    struct tables t = tables_of(object);
    if (t.symbols && t.strings &&
        (binds_past(search, &t, &t.calls) || binds_past(search, &t, &t.rest) ||
         has_inside(&t, range)))
        add_path(search, path);
    return 0;
}

size_t cs_bypass_find(char *text, size_t size)
{
    struct search search = {.text = text, .size = size};
    text[0] = '\0';
    dl_iterate_phdr(note_vendor, &search);
    dl_iterate_phdr(examine_object, &search);
    return search.found;
}
