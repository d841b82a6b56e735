/* Reads the exported functions of an installed library, with their symbol versions, without loading
 * it. */
#include "standins.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The tables of the file that are needed, found through its section headers. */
struct tables {
    const Elf64_Sym *symbol;
    size_t symbols;
    const Elf64_Half *versions;      /* one per symbol; NULL: symbols have no versions */
    const unsigned char *definition; /* of versions */
    size_t definition_bytes;
    const char *text; /* names; ends with a NUL byte */
    size_t text_bytes;
};

/* A part of the file. NULL if it is not completely inside the file. */
static const void *part_of_file(const struct standin_installed *file, uint64_t offset,
                                uint64_t bytes)
{
    return offset <= file->size && bytes <= file->size - offset ? file->bytes + offset : NULL;
}

static const char *text_at(const struct tables *tables, uint64_t offset)
{
    return offset < tables->text_bytes ? tables->text + offset : NULL;
}

static const Elf64_Shdr *read_sections(const struct standin_installed *file, int *count)
{
    const Elf64_Ehdr *header = (const void *)file->bytes;
    const void *first =
        header->e_shentsize == sizeof(Elf64_Shdr) && header->e_shoff % 8 == 0
            ? part_of_file(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr))
            : NULL;
    *count = first ? header->e_shnum : 0;
    return first;
}

static bool find_text(const struct standin_installed *file, const Elf64_Shdr *section,
                      struct tables *tables)
{
    tables->text = part_of_file(file, section->sh_offset, section->sh_size);
    tables->text_bytes = section->sh_size;
    return tables->text && section->sh_size > 0 && tables->text[section->sh_size - 1] == '\0';
}

static bool find_tables(const struct standin_installed *file, struct tables *tables)
{
    int count;
    const Elf64_Shdr *section = read_sections(file, &count);
    *tables = (struct tables){.symbol = NULL};
    for (int i = 0; i < count; i++) {
        const void *there = section[i].sh_offset % 8 == 0 || section[i].sh_type == SHT_GNU_versym
                                ? part_of_file(file, section[i].sh_offset, section[i].sh_size)
                                : NULL;
        if (section[i].sh_type == SHT_DYNSYM && there && section[i].sh_link < (unsigned)count) {
            tables->symbol = there;
            tables->symbols = section[i].sh_size / sizeof(Elf64_Sym);
            if (!find_text(file, &section[section[i].sh_link], tables))
                return false;
        } else if (section[i].sh_type == SHT_GNU_versym && section[i].sh_offset % 2 == 0) {
            tables->versions = there;
        } else if (section[i].sh_type == SHT_GNU_verdef) {
            tables->definition = there;
            tables->definition_bytes = there ? section[i].sh_size : 0;
        }
    }
    return tables->symbol != NULL;
}

/* The name of a version by its number. NULL if there is no such version. */
static const char *version_of(const struct tables *tables, unsigned number)
{
    size_t at = 0;
    while (at + sizeof(Elf64_Verdef) <= tables->definition_bytes) {
        const Elf64_Verdef *definition = (const void *)(tables->definition + at);
        const size_t name = at + definition->vd_aux;
        if (definition->vd_ndx == number && !(definition->vd_flags & VER_FLG_BASE) &&
            name + sizeof(Elf64_Verdaux) <= tables->definition_bytes)
            return text_at(
                tables,
                ((const Elf64_Verdaux *)(const void *)(tables->definition + name))->vda_name);
        if (definition->vd_next == 0)
            break;
        at += definition->vd_next;
    }
    return NULL;
}

static bool is_function(const Elf64_Sym *symbol, const char *name)
{
    const unsigned type = ELF64_ST_TYPE(symbol->st_info), bind = ELF64_ST_BIND(symbol->st_info);
    return name && *name && *name != '_' && symbol->st_shndx != SHN_UNDEF &&
           (type == STT_FUNC || type == STT_GNU_IFUNC) && (bind == STB_GLOBAL || bind == STB_WEAK);
}

static bool read_functions(struct standin_installed *installed, const struct tables *tables)
{
    installed->function = calloc(tables->symbols + 1, sizeof *installed->function);
    if (!installed->function)
        return false;
    for (size_t i = 0; i < tables->symbols; i++) {
        const char *name = text_at(tables, tables->symbol[i].st_name);
        if (!is_function(&tables->symbol[i], name))
            continue;
        const unsigned version = tables->versions ? tables->versions[i] : VER_NDX_GLOBAL;
        installed->function[installed->functions++] = (struct standin_export){
            name, version_of(tables, version & 0x7fff), (version & 0x8000) != 0};
    }
    return true;
}

static void read_soname(struct standin_installed *installed, const struct tables *tables)
{
    int count;
    const Elf64_Shdr *section = read_sections(installed, &count);
    for (int i = 0; i < count; i++) {
        const Elf64_Dyn *entry =
            section[i].sh_type == SHT_DYNAMIC && section[i].sh_offset % 8 == 0
                ? part_of_file(installed, section[i].sh_offset, section[i].sh_size)
                : NULL;
        for (size_t j = 0; entry && j < section[i].sh_size / sizeof *entry; j++)
            if (entry[j].d_tag == DT_SONAME)
                installed->soname = text_at(tables, entry[j].d_un.d_val);
    }
}

static bool map_file(struct standin_installed *installed, const char *path)
{
    struct stat status;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const bool good = file >= 0 && fstat(file, &status) == 0;
    if (good && S_ISREG(status.st_mode) && status.st_size > (off_t)sizeof(Elf64_Ehdr)) {
        installed->size = (size_t)status.st_size;
        installed->bytes = mmap(NULL, installed->size, PROT_READ, MAP_PRIVATE, file, 0);
    }
    if (file >= 0)
        close(file);
    return installed->bytes && installed->bytes != MAP_FAILED;
}

static bool is_library(const struct standin_installed *installed)
{
    const Elf64_Ehdr *header = (const void *)installed->bytes;
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
           header->e_type == ET_DYN;
}

bool standin_installed_open(struct standin_installed *installed, const char *path, const char **why)
{
    struct tables tables;
    *installed = (struct standin_installed){.bytes = NULL};
    *why = "not a shared library with a symbol table";
    errno = 0;
    if (!map_file(installed, path)) {
        *why = errno ? strerror(errno) : *why;
        return false;
    }
    installed->machine = ((const Elf64_Ehdr *)(const void *)installed->bytes)->e_machine;
    if (is_library(installed) && find_tables(installed, &tables) &&
        read_functions(installed, &tables)) {
        read_soname(installed, &tables);
        return true;
    }
    standin_installed_close(installed);
    return false;
}

void standin_installed_close(struct standin_installed *installed)
{
    free(installed->function);
    munmap((void *)(uintptr_t)installed->bytes, installed->size);
}
