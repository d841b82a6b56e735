/* Reads symbols, needed libraries and constants of an ELF file; every offset is checked against
 * the size of the file. */
#include "cli/program/elf.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns a part of the file; NULL if it is not all there. */
static const void *find_part(const struct cs_elf *elf, Elf64_Off offset, Elf64_Xword size)
{
    return offset <= elf->size && size <= elf->size - offset ? elf->bytes + offset : NULL;
}

/* Returns the text at an offset; NULL if it does not end in the file. */
static const char *text_at(const struct cs_elf *elf, Elf64_Off offset)
{
    if (offset >= elf->size || !memchr(elf->bytes + offset, '\0', elf->size - offset))
        return NULL;
    return (const char *)elf->bytes + offset;
}

/* Returns a table of the file; NULL if it is not all there or unaligned. Tables are read in place,
 * so a file with unaligned tables counts as damaged. */
static const void *find_table(const struct cs_elf *elf, Elf64_Off offset, size_t entry,
                              size_t count)
{
    return offset % _Alignof(Elf64_Ehdr) == 0 ? find_part(elf, offset, entry * count) : NULL;
}

/* Returns the offset in the file of an address of the loaded object; the file's size if there is
 * none. */
static Elf64_Off offset_of(const struct cs_elf *elf, Elf64_Addr address)
{
    for (int i = 0; i < elf->segments; i++) {
        const Elf64_Phdr *s = &elf->segment[i];
        if (s->p_type == PT_LOAD && address >= s->p_vaddr && address - s->p_vaddr < s->p_filesz)
            return address - s->p_vaddr + s->p_offset;
    }
    return elf->size;
}

static void note_entry(struct cs_elf *elf, Elf64_Sxword tag, const char *text)
{
    if (tag == DT_RPATH)
        elf->rpath = text;
    else if (tag == DT_RUNPATH)
        elf->runpath = text;
    else if (tag == DT_NEEDED && text && elf->needs < CS_ELF_NEEDED)
        elf->needed[elf->needs++] = text;
}

/* Reads the search paths and the needed libraries from the dynamic segment. */
static void read_dynamic(struct cs_elf *elf, const Elf64_Phdr *segment)
{
    Elf64_Off strings = elf->size;
    const size_t count = segment->p_filesz / sizeof(Elf64_Dyn);
    const Elf64_Dyn *dynamic = find_table(elf, segment->p_offset, sizeof *dynamic, count);
    for (size_t i = 0; dynamic && i < count && dynamic[i].d_tag != DT_NULL; i++)
        if (dynamic[i].d_tag == DT_STRTAB)
            strings = offset_of(elf, dynamic[i].d_un.d_ptr);
    for (size_t i = 0; dynamic && i < count && dynamic[i].d_tag != DT_NULL; i++)
        if (strings < elf->size && dynamic[i].d_un.d_val < elf->size - strings)
            note_entry(elf, dynamic[i].d_tag, text_at(elf, strings + dynamic[i].d_un.d_val));
}

/* Finds the tables and reads the segments. Returns the reason why the file cannot be read as a
 * 64-bit ELF file; NULL if it can. */
static const char *read_file(struct cs_elf *elf)
{
    const Elf64_Ehdr *h = (const void *)elf->bytes;
    if (elf->size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return "not an ELF file";
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
        return "not a 64-bit little-endian ELF file";
    elf->machine = h->e_machine;
    elf->segment = find_table(elf, h->e_phoff, sizeof *elf->segment, h->e_phnum);
    elf->section = find_table(elf, h->e_shoff, sizeof *elf->section, h->e_shnum);
    if (h->e_phnum == 0 || !elf->segment)
        return "a damaged ELF file";
    elf->segments = h->e_phentsize == sizeof *elf->segment ? h->e_phnum : 0;
    elf->sections = elf->section && h->e_shentsize == sizeof *elf->section ? h->e_shnum : 0;
    for (int i = 0; i < elf->segments; i++) {
        if (elf->segment[i].p_type == PT_INTERP)
            elf->interpreter = text_at(elf, elf->segment[i].p_offset);
        else if (elf->segment[i].p_type == PT_DYNAMIC)
            read_dynamic(elf, &elf->segment[i]);
    }
    return NULL;
}

/* Maps an open file into memory. False with errno. */
static bool map_file(struct cs_elf *elf, int file)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return false;
    if (!S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
        return false;
    }
    elf->size = (size_t)status.st_size;
    if (elf->size == 0)
        return true;
    void *bytes = mmap(NULL, elf->size, PROT_READ, MAP_PRIVATE, file, 0);
    elf->bytes = bytes;
    return bytes != MAP_FAILED;
}

bool cs_elf_open(struct cs_elf *elf, const char *path, const char **why_p)
{
    *elf = (struct cs_elf){.size = 0};
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool mapped = file >= 0 && map_file(elf, file);
    const char *why = mapped ? read_file(elf) : strerror(errno);
    if (file >= 0)
        close(file);
    if (mapped && why)
        cs_elf_close(elf);
    if (why)
        *why_p = why;
    return !why;
}

void cs_elf_close(struct cs_elf *elf)
{
    if (elf->size > 0)
        munmap((void *)elf->bytes, elf->size);
    *elf = (struct cs_elf){.size = 0};
}

/* Returns a text of the string table in the section with this index; NULL if there is none. */
static const char *text_of(const struct cs_elf *elf, Elf64_Word section, Elf64_Word offset)
{
    if (section >= (Elf64_Word)elf->sections || elf->section[section].sh_offset >= elf->size)
        return NULL;
    return text_at(elf, elf->section[section].sh_offset + offset);
}

void cs_elf_symbols(const struct cs_elf *elf, cs_elf_symbol_fn *each, void *ctx)
{
    for (int i = 0; i < elf->sections; i++) {
        const Elf64_Shdr *s = &elf->section[i];
        const size_t symbols = s->sh_size / sizeof(Elf64_Sym);
        const Elf64_Sym *symbol = find_table(elf, s->sh_offset, sizeof *symbol, symbols);
        for (size_t j = 0; s->sh_type == SHT_DYNSYM && symbol && j < symbols; j++) {
            const char *name = text_of(elf, s->sh_link, symbol[j].st_name);
            if (name && *name)
                each(ctx, name, symbol[j].st_shndx != SHN_UNDEF);
        }
    }
}

/* True if the section contains constants of the host. Sections of code for the host or the GPU do
 * not count. */
static bool is_constant(const struct cs_elf *elf, const Elf64_Shdr *s)
{
    const Elf64_Ehdr *h = (const void *)elf->bytes;
    const char *name = text_of(elf, h->e_shstrndx, s->sh_name);
    return s->sh_type == SHT_PROGBITS && name &&
           (strncmp(name, ".rodata", strlen(".rodata")) == 0 || strcmp(name, ".data") == 0);
}

bool cs_elf_holds(const struct cs_elf *elf, const char *bytes, size_t size)
{
    for (int i = 0; i < elf->sections; i++) {
        const Elf64_Shdr *s = &elf->section[i];
        const void *part = is_constant(elf, s) ? find_part(elf, s->sh_offset, s->sh_size) : NULL;
        if (part && memmem(part, s->sh_size, bytes, size))
            return true;
    }
    return false;
}

/* --- the way to cuDNN --- */

static const char *const entries[] = {
#define CS_ENTRY(name, part) #name,
#include "intercept/entry/entries.def"
#undef CS_ENTRY
};

static const char *const calls[] = {
#define CS_CALL(name) #name,
#include "cudnn/bind/calls.def"
#undef CS_CALL
};

/* The mangled namespace of cuDNN's classes. It shows that cuDNN is compiled into a file that hides
 * cuDNN's functions. */
static const char class_name[] = "N5cudnn7backend";

struct symbols {
    bool imports_entry, defines_entry, defines_rest, imports_lookup;
};

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Notes a symbol that shows the way to cuDNN (cs_elf_symbol_fn). */
static void note_symbol(void *ctx, const char *name, bool defined)
{
    struct symbols *symbols = ctx;
    if (!defined && (strcmp(name, "dlsym") == 0 || strcmp(name, "dlvsym") == 0))
        symbols->imports_lookup = true;
    if (strncmp(name, "cudnn", strlen("cudnn")) != 0)
        return;
    bool entry = is_among(name, entries, sizeof entries / sizeof *entries);
    if (!defined)
        symbols->imports_entry |= entry;
    else if (entry)
        symbols->defines_entry = true;
    else if (is_among(name, calls, sizeof calls / sizeof *calls))
        symbols->defines_rest = true;
}

static bool holds_entry(const struct cs_elf *elf)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (cs_elf_holds(elf, entries[i], strlen(entries[i]) + 1))
            return true;
    return false;
}

enum cs_linkage cs_linkage_of(const struct cs_elf *elf)
{
    struct symbols symbols = {.imports_entry = false};
    cs_elf_symbols(elf, note_symbol, &symbols);
    bool defines = symbols.defines_entry && symbols.defines_rest;
    if (symbols.imports_entry && !defines)
        return CS_LINKAGE_LINKED;
    bool looks = symbols.imports_lookup && holds_entry(elf);
    if (cs_elf_holds(elf, class_name, strlen(class_name)) || (defines && !looks))
        return CS_LINKAGE_INSIDE;
    return looks ? CS_LINKAGE_LOOKED : CS_LINKAGE_NONE;
}
