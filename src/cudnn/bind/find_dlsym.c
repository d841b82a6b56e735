/* Walks the loader's list of libraries and their symbol tables directly to find the real dlsym and
 * dlvsym. */
#include "cudnn/bind/find_dlsym.h"

#include "base/hash.h"
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

enum {
    VERSION_HIDDEN = 0x8000, /* an old version, kept for programs that were linked against it */
    AUXILIARIES = 64,
    PAGE = 4096
};

/* The address of this library, available without a relocation. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
/* The loader's list. Weak: NULL means that this library is not relocated yet. */
#pragma weak _r_debug

struct found {
    void *libc; /* libc's function, or NULL */
    void *next; /* from the first later library that defines it, else libc's */
};

/* The tables of one loaded library. */
struct tables {
    const char *strings;
    const Elf64_Sym *symbols;
    const uint32_t *hash;
    const Elf64_Half *versions;
    Elf64_Xword soname;
    bool named;
};

/* The pointer to an address from a library's dynamic section. Some loaders add the base to these
 * addresses when they load a library, and some do not. */
CS_EARLY static const void *address_of(const struct link_map *map, Elf64_Addr address)
{
    uintptr_t where = address < map->l_addr ? map->l_addr + address : address;
    return (const void *)where;
}

/* The tables of a loaded library. Missing ones are NULL. */
CS_EARLY static struct tables tables_of(const struct link_map *map)
{
    struct tables t = {0};
    for (const Elf64_Dyn *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_STRTAB)
            t.strings = address_of(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_SYMTAB)
            t.symbols = address_of(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_GNU_HASH)
            t.hash = address_of(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_VERSYM)
            t.versions = address_of(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_SONAME) {
            t.soname = d->d_un.d_val;
            t.named = true;
        }
    }
    return t;
}

/* True if two texts are equal. Does not call strcmp, which may be that of a sanitizer that is not
 * ready yet. */
CS_EARLY static bool same_text(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

CS_EARLY static bool defines_name(const struct tables *t, uint32_t index, const char *name)
{
    const Elf64_Sym *symbol = &t->symbols[index];
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
           !(t->versions && t->versions[index] & VERSION_HIDDEN) &&
           same_text(t->strings + symbol->st_name, name);
}

/* Finds the function of that name in a library, or NULL. A DT_GNU_HASH table has four words (the
 * number of buckets, the first symbol, the words of the filter, the shift), then the filter, the
 * buckets and the chains. An odd hash ends a chain. */
CS_EARLY static void *symbol_in(const struct link_map *map, const struct tables *t,
                                const char *name)
{
    if (!t->hash || !t->symbols || !t->strings || t->hash[0] == 0)
        return NULL;
    uint32_t buckets = t->hash[0], first = t->hash[1];
    const uint32_t *bucket = t->hash + 4 + t->hash[2] * (sizeof(Elf64_Addr) / sizeof(uint32_t));
    const uint32_t *chain = bucket + buckets;
    uint32_t hash = cs_hash_gnu(name), index = bucket[hash % buckets];
    for (; index >= first && index != 0; index++) {
        uint32_t other = chain[index - first];
        if ((other | 1) == (hash | 1) && defines_name(t, index, name))
            return (void *)(map->l_addr + t->symbols[index].st_value);
        if (other & 1)
            break;
    }
    return NULL;
}

/* True for libc, and for libdl, which had both functions before glibc 2.34. */
CS_EARLY static bool is_libc(const struct tables *t)
{
    const char *soname = t->named && t->strings ? t->strings + t->soname : "";
    return same_text(soname, "libc.so.6") || same_text(soname, "libdl.so.2");
}

#if defined __x86_64__
CS_EARLY static long system_call(long number, long a, void *b, long c)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined __aarch64__
CS_EARLY static long system_call(long number, long a, void *b, long c)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register void *x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
#endif

/* Reads the address of the loader from the kernel. NULL if that fails. */
CS_EARLY static const char *loader_address(void)
{
    char path[] = "/proc/self/auxv";
    Elf64_auxv_t auxiliary[AUXILIARIES];
    long fd = system_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    long bytes = system_call(SYS_read, fd, auxiliary, sizeof auxiliary);
    system_call(SYS_close, fd, NULL, 0);
    uintptr_t base = 0, headers = 0;
    for (long i = 0; i < bytes / (long)sizeof *auxiliary; i++) {
        /* The kernel has written it. */
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
        if (auxiliary[i].a_type == AT_BASE)
            base = auxiliary[i].a_un.a_val;
        else if (auxiliary[i].a_type == AT_PHDR)
            headers = auxiliary[i].a_un.a_val;
    }
    /* A loader that was started as the program has no base. */
    return (const char *)(base ? base : headers / PAGE * PAGE);
}

/* Finds the loader's list before this library is relocated, when another library is relocated first
 * and looks up a function. */
CS_EARLY static const struct link_map *early_list(void)
{
    const Elf64_Ehdr *file = (const void *)loader_address();
    if (!file)
        return NULL;
    const Elf64_Phdr *segment = (const void *)((const char *)file + file->e_phoff);
    struct link_map map = {.l_addr = (Elf64_Addr)(uintptr_t)file};
    for (int i = 0; i < file->e_phnum; i++)
        if (segment[i].p_type == PT_DYNAMIC)
            map.l_ld = (void *)(map.l_addr + segment[i].p_vaddr);
    struct tables t = tables_of(&map);
    const struct r_debug *debug = symbol_in(&map, &t, "_r_debug");
    return debug ? debug->r_map : NULL;
}

bool cs_find_dlsym_ours(const void *base)
{
    return base == __ehdr_start;
}

CS_EARLY bool cs_find_dlsym_relocated(void)
{
    return &_r_debug;
}

/* Finds the functions of that name in libc and in the first library after this one. */
CS_EARLY static struct found find_function(const char *name)
{
    struct found found = {NULL, NULL};
    bool after_us = false;
    const struct link_map *map = cs_find_dlsym_relocated() ? _r_debug.r_map : early_list();
    /* Libraries before libc in the list were loaded at start-up and stay loaded. */
    for (; map && !found.libc; map = map->l_next) {
        struct tables t = tables_of(map);
        void *function = symbol_in(map, &t, name);
        if (map->l_addr == (Elf64_Addr)(uintptr_t)__ehdr_start)
            after_us = true;
        else if (function && after_us && !found.next)
            found.next = function;
        if (function && is_libc(&t))
            found.libc = function;
    }
    if (!found.next)
        found.next = found.libc;
    return found;
}

/* Found functions. Every thread that fills them finds the same ones, so no lock is needed. */
struct functions {
    _Atomic(void *) libc, next;
};
static struct functions plain, versioned_too;

/* The result if no function is found. */
static void *find_nothing(void)
{
    return NULL;
}

/* Finds both functions and returns one of them. Not inlined, so that a usual lookup does not save
 * the registers that this needs. */
__attribute__((noinline)) CS_EARLY static void *
fill_functions(struct functions *f, _Atomic(void *) *which, const char *name)
{
    struct found found = find_function(name);
    atomic_store_explicit(&f->libc, found.libc ? found.libc : (void *)find_nothing,
                          memory_order_relaxed);
    atomic_store_explicit(&f->next, found.next ? found.next : (void *)find_nothing,
                          memory_order_relaxed);
    return atomic_load_explicit(which, memory_order_relaxed);
}

CS_EARLY static void *known_function(struct functions *f, _Atomic(void *) *which, const char *name)
{
    void *function = atomic_load_explicit(which, memory_order_relaxed);
    return function ? function : fill_functions(f, which, name);
}

struct cs_find_dlsym_libc cs_find_dlsym_libc(void)
{
    return (struct cs_find_dlsym_libc){
        (cs_dlsym_fn *)known_function(&plain, &plain.libc, "dlsym"),
        (cs_dlvsym_fn *)known_function(&versioned_too, &versioned_too.libc, "dlvsym")};
}

void *cs_find_dlsym_behind(const char *name)
{
    return find_function(name).next;
}

const char *cs_find_dlsym_other(const char *name, bool *ours_first)
{
    *ours_first = false;
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        struct tables t = tables_of(map);
        if (map->l_addr == (Elf64_Addr)(uintptr_t)__ehdr_start)
            *ours_first = true;
        else if (symbol_in(map, &t, name))
            return map->l_name;
        if (is_libc(&t)) /* later libraries in the list may be unloaded at any time */
            break;
    }
    return NULL;
}

CS_EARLY void *cs_find_dlsym_next(bool versioned)
{
    return versioned ? known_function(&versioned_too, &versioned_too.next, "dlvsym")
                     : known_function(&plain, &plain.next, "dlsym");
}
