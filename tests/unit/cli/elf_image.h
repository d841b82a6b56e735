/* Parts that the ELF files of all tests share: three segments (the whole file, the interpreter's
 * path, the dynamic section) and five sections. */
#ifndef ELF_IMAGE_H
#define ELF_IMAGE_H

#include "cli/program/elf.h"
#include <elf.h>

enum {
    ELF_SEGMENTS = 3,
    ELF_SECTIONS = 5,
    ELF_INTERPRETER = 16 /* bytes of its path's place */
};

/* Where the parts are in the file. */
struct elf_places {
    size_t segments, sections, interpreter, dynamic, dynamic_bytes, bytes;
};

static inline Elf64_Ehdr elf_header(const struct elf_places *at)
{
    return (Elf64_Ehdr){
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = (Elf64_Half)CS_ELF_THIS_MACHINE,
        .e_version = EV_CURRENT,
        .e_phoff = at->segments,
        .e_phnum = ELF_SEGMENTS,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_shoff = at->sections,
        .e_shnum = ELF_SECTIONS,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shstrndx = ELF_SECTIONS - 1,
    };
}

/* Loaded at the address `base`. */
static inline void elf_segments(const struct elf_places *at, Elf64_Addr base,
                                Elf64_Phdr segment[ELF_SEGMENTS])
{
    segment[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = base, .p_filesz = at->bytes};
    segment[1] =
        (Elf64_Phdr){.p_type = PT_INTERP, .p_offset = at->interpreter, .p_filesz = ELF_INTERPRETER};
    segment[2] =
        (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_offset = at->dynamic, .p_filesz = at->dynamic_bytes};
}

#endif
