/* Writes a shared library without a compiler: tables of names and versions, a stub of a few
 * instructions for each function, and the structures that describe each function to the core.
 *
 *   read and run:      headers, .hash .dynsym .gnu.version .gnu.version_d .dynstr .rela.dyn .text
 *   read and written:  .dynamic .got .data
 *   not loaded:        section headers, for tools */
#include "standins.h"

#include <stdlib.h>
#include <string.h>

enum part {
    HASH,
    SYMBOLS,
    VERSIONS,
    DEFINITIONS,
    STRINGS,
    RELOCATIONS,
    TEXT,
    DYNAMIC,
    GOT,
    DATA,
    SECTION_NAMES,
    PARTS
};

enum {
    SEGMENTS = 4,
    MOST_VERSIONS = 64,
    FIRST_VERSION = 2, /* 1 is the library itself */
    MOST_DYNAMIC = 20
};

static const struct {
    const char *name;
    uint32_t type;
    uint64_t flags, entry, align;
} about[PARTS] = {
    [HASH] = {".hash", SHT_HASH, SHF_ALLOC, 4, 8},
    [SYMBOLS] = {".dynsym", SHT_DYNSYM, SHF_ALLOC, sizeof(Elf64_Sym), 8},
    [VERSIONS] = {".gnu.version", SHT_GNU_versym, SHF_ALLOC, 2, 2},
    [DEFINITIONS] = {".gnu.version_d", SHT_GNU_verdef, SHF_ALLOC, 0, 8},
    [STRINGS] = {".dynstr", SHT_STRTAB, SHF_ALLOC, 0, 1},
    [RELOCATIONS] = {".rela.dyn", SHT_RELA, SHF_ALLOC, sizeof(Elf64_Rela), 8},
    [TEXT] = {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 16},
    [DYNAMIC] = {".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, sizeof(Elf64_Dyn), STANDIN_PAGE},
    [GOT] = {".got", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 8, 8},
    [DATA] = {".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0, 8},
    [SECTION_NAMES] = {".shstrtab", SHT_STRTAB, 0, 0, 1},
};

/* A part that grows. The parts are concatenated at the end. */
struct bytes {
    unsigned char *at;
    size_t used, room;
};

struct writer {
    const struct standin_plan *plan;
    const struct standin_machine *machine;
    struct bytes part[PARTS];
    uint64_t place[PARTS]; /* in the file, and in memory */
    const char *version[MOST_VERSIONS];
    size_t versions, slots, stubs; /* slots: number of core functions that are used */
    size_t symbols;
    bool broken;
};

/* Space at the end of a part, zeroed. NULL if memory is short. */
static void *append_zeros(struct writer *w, enum part part, size_t size)
{
    struct bytes *bytes = &w->part[part];
    if (bytes->used + size > bytes->room) {
        const size_t room = 2 * (bytes->used + size) + 1024;
        unsigned char *grown = realloc(bytes->at, room);
        w->broken = w->broken || !grown;
        if (!grown)
            return NULL;
        bytes->at = grown;
        bytes->room = room;
    }
    bytes->used += size;
    return memset(bytes->at + bytes->used - size, 0, size);
}

/* Adds a text to a part and returns its offset. */
static uint32_t add_text(struct writer *w, enum part part, const char *text)
{
    const size_t at = w->part[part].used;
    char *to = append_zeros(w, part, strlen(text) + 1);
    if (to)
        memcpy(to, text, strlen(text) + 1);
    return (uint32_t)at;
}

/* The number of a version. Without a version 1, the library itself. */
static Elf64_Half version_number(struct writer *w, const char *version)
{
    if (!version)
        return VER_NDX_GLOBAL;
    for (size_t i = 0; i < w->versions; i++)
        if (strcmp(w->version[i], version) == 0)
            return (Elf64_Half)(FIRST_VERSION + i);
    if (w->versions == MOST_VERSIONS) {
        w->broken = true;
        return VER_NDX_GLOBAL;
    }
    w->version[w->versions++] = version;
    return (Elf64_Half)(FIRST_VERSION + w->versions - 1);
}

static void add_symbol(struct writer *w, const char *name, Elf64_Half version, bool defined,
                       uint64_t value)
{
    Elf64_Sym *symbol = append_zeros(w, SYMBOLS, sizeof *symbol);
    Elf64_Half *number = append_zeros(w, VERSIONS, sizeof *number);
    if (!symbol || !number)
        return;
    *number = version;
    if (w->symbols++ == 0)
        return; /* the first entry is not a symbol */
    *symbol = (Elf64_Sym){.st_name = add_text(w, STRINGS, name),
                          .st_info = ELF64_ST_INFO(STB_GLOBAL, defined ? STT_FUNC : STT_NOTYPE),
                          .st_shndx = defined ? (Elf64_Half)(TEXT + 1) : SHN_UNDEF,
                          .st_value = value,
                          .st_size = defined ? STANDIN_CODE : 0};
}

static uint32_t hash_name(const char *name)
{
    uint32_t value = 0;
    for (; *name; name++) {
        value = (value << 4) + (unsigned char)*name;
        value = (value ^ (value >> 24 & 0xf0)) & 0x0fffffff;
    }
    return value;
}

static void add_hash(struct writer *w)
{
    const size_t buckets = w->symbols / 2 + 1;
    uint32_t *table = append_zeros(w, HASH, (2 + buckets + w->symbols) * sizeof *table);
    const Elf64_Sym *symbol = (const void *)w->part[SYMBOLS].at;
    if (!table || !symbol)
        return;
    table[0] = (uint32_t)buckets;
    table[1] = (uint32_t)w->symbols;
    for (size_t i = 1; i < w->symbols; i++) {
        const char *name = (const char *)w->part[STRINGS].at + symbol[i].st_name;
        uint32_t *bucket = &table[2 + hash_name(name) % buckets];
        table[2 + buckets + i] = *bucket;
        *bucket = (uint32_t)i;
    }
}

static void add_definition(struct writer *w, const char *name, Elf64_Half number, bool last)
{
    struct {
        Elf64_Verdef head;
        Elf64_Verdaux name;
        uint32_t even; /* the next offset, aligned like the tables of the file */
    } *to = append_zeros(w, DEFINITIONS, sizeof *to);
    const uint32_t text = add_text(w, STRINGS, name);
    if (!to)
        return;
    to->head = (Elf64_Verdef){.vd_version = VER_DEF_CURRENT,
                              .vd_flags = number == VER_NDX_GLOBAL ? VER_FLG_BASE : 0,
                              .vd_ndx = number,
                              .vd_cnt = 1,
                              .vd_hash = hash_name(name),
                              .vd_aux = sizeof to->head,
                              .vd_next = last ? 0 : sizeof *to};
    to->name = (Elf64_Verdaux){.vda_name = text};
}

static void add_relocation(struct writer *w, uint64_t at, uint32_t symbol, uint32_t type,
                           uint64_t addend)
{
    Elf64_Rela *to = append_zeros(w, RELOCATIONS, sizeof *to);
    if (to)
        *to = (Elf64_Rela){.r_offset = at,
                           .r_info = ELF64_R_INFO((uint64_t)symbol, type),
                           .r_addend = (int64_t)addend};
}

/* --- the two passes: the sizes of all parts, then their addresses --- */

/* Names, versions and space. The values of symbols follow with the addresses. */
static void add_names(struct writer *w)
{
    const struct standin_plan *plan = w->plan;
    (void)append_zeros(w, STRINGS, 1);
    add_symbol(w, NULL, 0, false, 0);
    add_symbol(w, "standin_enter", VER_NDX_GLOBAL, false, 0);
    for (size_t i = 0; i < plan->functions; i++)
        if (plan->function[i].by_hand)
            add_symbol(w, plan->function[i].by_hand, VER_NDX_GLOBAL, false, 0);
    w->slots = w->symbols - 1;
    for (size_t i = 0; i < plan->functions; i++) {
        const struct standin_export *as = &plan->function[i].as;
        const Elf64_Half number = version_number(w, as->version);
        add_symbol(w, as->name, (Elf64_Half)(number | (as->hidden ? 0x8000 : 0)), true, 0);
        w->stubs += !plan->function[i].by_hand;
    }
    add_hash(w);
    if (w->versions > 0)
        add_definition(w, plan->soname, VER_NDX_GLOBAL, false);
    for (size_t i = 0; i < w->versions; i++)
        add_definition(w, w->version[i], (Elf64_Half)(FIRST_VERSION + i), i + 1 == w->versions);
}

/* Assigns offsets to the parts. Their sizes do not change after this. */
static uint64_t place_parts(struct writer *w)
{
    uint64_t at = sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr);
    for (int i = 0; i < PARTS; i++) {
        const uint64_t align = about[i].align;
        at = (at + align - 1) / align * align;
        w->place[i] = at;
        at += w->part[i].used;
    }
    return (at + 7) / 8 * 8;
}

static void add_structure(struct writer *w, size_t index, const struct standin_function *does,
                          uint64_t name)
{
    const size_t at = index * sizeof *does;
    struct standin_function copy = *does;
    copy.name = NULL;
    memcpy(w->part[DATA].at + at, &copy, sizeof copy);
    Elf64_Rela *relocation = (Elf64_Rela *)(void *)w->part[RELOCATIONS].at + w->slots + index;
    *relocation =
        (Elf64_Rela){.r_offset = w->place[DATA] + at + offsetof(struct standin_function, name),
                     .r_info = w->machine->relative,
                     .r_addend = (int64_t)name};
}

/* Code, structures, and the values of symbols. */
static void fill_parts(struct writer *w)
{
    Elf64_Sym *symbol = (Elf64_Sym *)(void *)w->part[SYMBOLS].at + 1 + w->slots;
    const uint64_t common = w->place[TEXT], first = common + STANDIN_COMMON;
    size_t slot = 1, stub = 0;
    w->machine->common(w->part[TEXT].at, common, w->place[GOT]);
    for (size_t i = 0; i < w->plan->functions; i++) {
        const struct standin_planned *function = &w->plan->function[i];
        const uint64_t at = first + i * STANDIN_CODE;
        unsigned char *code = w->part[TEXT].at + (at - common);
        symbol[i].st_value = at;
        if (function->by_hand) {
            w->machine->jump(code, at, w->place[GOT] + 8 * slot++);
            continue;
        }
        w->machine->stub(code, at, w->place[DATA] + stub * sizeof(struct standin_function), common);
        add_structure(w, stub++, &function->does, w->place[STRINGS] + symbol[i].st_name);
    }
}

/* The last entry, DT_NULL, stays zero. */
static void fill_dynamic(struct writer *w, uint32_t soname, uint32_t core)
{
    Elf64_Dyn *entry = (Elf64_Dyn *)(void *)w->part[DYNAMIC].at;
    const uint64_t *at = w->place;
    const struct {
        int64_t tag;
        uint64_t value;
    } all[] = {
        {DT_SONAME, soname},
        {DT_NEEDED, core},
        {DT_HASH, at[HASH]},
        {DT_SYMTAB, at[SYMBOLS]},
        {DT_SYMENT, sizeof(Elf64_Sym)},
        {DT_STRTAB, at[STRINGS]},
        {DT_STRSZ, w->part[STRINGS].used},
        {DT_RELA, at[RELOCATIONS]},
        {DT_RELASZ, w->part[RELOCATIONS].used},
        {DT_RELAENT, sizeof(Elf64_Rela)},
        {DT_FLAGS, DF_BIND_NOW},
        {DT_VERSYM, at[VERSIONS]},
        {DT_VERDEF, at[DEFINITIONS]},
        {DT_VERDEFNUM, w->versions + 1},
    };
    const size_t count = sizeof all / sizeof *all - (w->versions > 0 ? 0 : 3);
    for (size_t i = 0; i < count; i++)
        entry[i] = (Elf64_Dyn){.d_tag = all[i].tag, .d_un.d_val = all[i].value};
}

/* --- the file --- */

static void put_segments(const struct writer *w, unsigned char *file)
{
    const uint64_t text_end = w->place[TEXT] + w->part[TEXT].used;
    const uint64_t data = w->place[DYNAMIC], data_end = w->place[DATA] + w->part[DATA].used;
    const Elf64_Phdr segments[SEGMENTS] = {
        {PT_LOAD, PF_R | PF_X, 0, 0, 0, text_end, text_end, STANDIN_PAGE},
        {PT_LOAD, PF_R | PF_W, data, data, data, data_end - data, data_end - data, STANDIN_PAGE},
        {PT_DYNAMIC, PF_R | PF_W, data, data, data, w->part[DYNAMIC].used, w->part[DYNAMIC].used,
         8},
        {PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 0, 16},
    };
    memcpy(file + sizeof(Elf64_Ehdr), segments, sizeof segments);
}

static void put_sections(const struct writer *w, unsigned char *file, uint64_t at,
                         const uint32_t *name)
{
    Elf64_Shdr *section = (Elf64_Shdr *)(void *)(file + at) + 1;
    static const unsigned char links[PARTS] = {
        [HASH] = SYMBOLS + 1,        [SYMBOLS] = STRINGS + 1,     [VERSIONS] = SYMBOLS + 1,
        [DEFINITIONS] = STRINGS + 1, [RELOCATIONS] = SYMBOLS + 1, [DYNAMIC] = STRINGS + 1};
    for (int i = 0; i < PARTS; i++)
        section[i] = (Elf64_Shdr){.sh_name = name[i],
                                  .sh_type = w->part[i].used > 0 ? about[i].type : SHT_NULL,
                                  .sh_flags = about[i].flags,
                                  .sh_addr = about[i].flags & SHF_ALLOC ? w->place[i] : 0,
                                  .sh_offset = w->place[i],
                                  .sh_size = w->part[i].used,
                                  .sh_link = links[i],
                                  .sh_info = i == SYMBOLS       ? 1
                                             : i == DEFINITIONS ? (uint32_t)w->versions + 1
                                                                : 0,
                                  .sh_addralign = about[i].align,
                                  .sh_entsize = about[i].entry};
}

static unsigned char *put_file(const struct writer *w, uint64_t end, const uint32_t *name,
                               size_t *size)
{
    *size = end + (PARTS + 1) * sizeof(Elf64_Shdr);
    unsigned char *file = calloc(1, *size);
    if (!file)
        return NULL;
    const Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = (Elf64_Half)w->machine->machine,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof header,
        .e_shoff = end,
        .e_ehsize = sizeof header,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = SEGMENTS,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = PARTS + 1,
        .e_shstrndx = SECTION_NAMES + 1};
    memcpy(file, &header, sizeof header);
    put_segments(w, file);
    for (int i = 0; i < PARTS; i++)
        if (w->part[i].used) /* an empty part has no memory */
            memcpy(file + w->place[i], w->part[i].at, w->part[i].used);
    put_sections(w, file, end, name);
    return file;
}

static unsigned char *make_library(struct writer *w, size_t *size)
{
    uint32_t name[PARTS];
    add_names(w);
    const uint32_t soname = add_text(w, STRINGS, w->plan->soname),
                   core = add_text(w, STRINGS, w->plan->core);
    (void)append_zeros(w, SECTION_NAMES, 1);
    for (int i = 0; i < PARTS; i++)
        name[i] = add_text(w, SECTION_NAMES, about[i].name);
    (void)append_zeros(w, TEXT, STANDIN_COMMON + w->plan->functions * STANDIN_CODE);
    (void)append_zeros(w, DYNAMIC, MOST_DYNAMIC * sizeof(Elf64_Dyn));
    (void)append_zeros(w, GOT, w->slots * 8);
    (void)append_zeros(w, DATA, w->stubs * sizeof(struct standin_function) + 1);
    (void)append_zeros(w, RELOCATIONS, (w->slots + w->stubs) * sizeof(Elf64_Rela));
    if (w->versions == 0)
        w->part[VERSIONS].used = 0;
    if (w->broken)
        return NULL;
    const uint64_t end = place_parts(w);
    w->part[RELOCATIONS].used = 0;
    for (size_t i = 0; i < w->slots; i++)
        add_relocation(w, w->place[GOT] + 8 * i, (uint32_t)(i + 1), w->machine->absolute, 0);
    w->part[RELOCATIONS].used += w->stubs * sizeof(Elf64_Rela);
    fill_parts(w);
    fill_dynamic(w, soname, core);
    return put_file(w, end, name, size);
}

unsigned char *standin_write(const struct standin_plan *plan, size_t *size)
{
    struct writer writer = {.plan = plan, .machine = standin_machine(plan->machine)};
    unsigned char *file = writer.machine ? make_library(&writer, size) : NULL;
    for (int i = 0; i < PARTS; i++)
        free(writer.part[i].at);
    return file;
}
