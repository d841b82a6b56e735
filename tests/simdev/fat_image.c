/* Builds ELF images and fat binaries from them, section by section. Compressed ones hold their
 * bytes as literals, which every decompressor handles like other input. */
#include "fat_image.h"
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROOM = 8192,
    SECTIONS = 16
};

struct image {
    unsigned char bytes[ROOM];
    size_t end;
    Elf64_Shdr section[SECTIONS];
    unsigned sections;
    char names[512];
    size_t names_end;
};

static size_t append(struct image *image, const void *data, size_t bytes)
{
    const size_t at = (image->end + 7) / 8 * 8;
    if (data)
        memcpy(image->bytes + at, data, bytes);
    image->end = at + bytes;
    return at;
}

static unsigned add_name(struct image *image, const char *name)
{
    const size_t at = image->names_end;
    memcpy(image->names + at, name, strlen(name) + 1);
    image->names_end += strlen(name) + 1;
    return (unsigned)at;
}

static Elf64_Shdr *add_section(struct image *image, const char *name, unsigned type,
                               const void *data, size_t bytes)
{
    Elf64_Shdr *section = &image->section[image->sections++];
    *section = (Elf64_Shdr){.sh_name = add_name(image, name), .sh_type = type, .sh_size = bytes};
    if (type != SHT_NOBITS)
        section->sh_offset = append(image, data, bytes);
    return section;
}

static void add_kernels(struct image *image)
{
    static const unsigned char code[128];
    static const unsigned char bounds[] = {4, 5, 12, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
    /* An address, and a structure of 16 bytes whose second half is an address. */
    static const unsigned char parameters[] = {3, 0x19, 24, 0, 4, 0x17, 12,   0, 0, 0,    0,    0,
                                               0, 0,    0,  0, 0, 0,    0x20, 0, 4, 0x17, 12,   0,
                                               0, 0,    0,  0, 1, 0,    8,    0, 0, 0,    0x40, 0};
    const unsigned registers = (unsigned)FAT_REGISTERS << 24;
    add_section(image, ".text.plain", SHT_PROGBITS, code, sizeof(code))->sh_info = registers;
    add_section(image, ".nv.info.plain", SHT_LOPROC, parameters, sizeof(parameters));
    add_section(image, ".text.shared", SHT_PROGBITS, code, sizeof(code))->sh_info = registers;
    add_section(image, ".nv.info.shared", SHT_LOPROC, bounds, sizeof(bounds));
    add_section(image, ".nv.shared.shared", SHT_NOBITS, NULL, FAT_SHARED);
}

static void add_variable(struct image *image)
{
    static const int32_t numbers[FAT_NUMBERS] = {11, 22, 33, 44};
    static const char strings[] = "\0numbers";
    const unsigned data = image->sections;
    add_section(image, ".nv.global.init", SHT_PROGBITS, numbers, sizeof(numbers));
    const Elf64_Sym symbols[2] = {[1] = {.st_name = 1,
                                         .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                                         .st_shndx = (Elf64_Half)data,
                                         .st_size = sizeof(numbers)}};
    const unsigned table = image->sections;
    add_section(image, ".strtab", SHT_STRTAB, strings, sizeof(strings));
    add_section(image, ".symtab", SHT_SYMTAB, symbols, sizeof(symbols))->sh_link = table;
}

static void make_elf(struct image *image)
{
    Elf64_Ehdr header = {.e_ident = ELFMAG, .e_shentsize = sizeof(Elf64_Shdr)};
    image->names_end = 1;
    image->sections = 1;
    append(image, NULL, sizeof(header));
    add_kernels(image);
    add_variable(image);
    const unsigned names = image->sections++;
    image->section[names] =
        (Elf64_Shdr){.sh_name = add_name(image, ".shstrtab"), .sh_type = SHT_STRTAB};
    image->section[names].sh_size = image->names_end;
    image->section[names].sh_offset = append(image, image->names, image->names_end);
    header.e_shstrndx = (Elf64_Half)names;
    header.e_shnum = (Elf64_Half)image->sections;
    header.e_shoff = append(image, image->section, image->sections * sizeof(Elf64_Shdr));
    memcpy(image->bytes, &header, sizeof(header));
}

static size_t pack_lz4(unsigned char *to, const unsigned char *from, size_t bytes)
{
    size_t at = 0, left = bytes - 15;
    to[at++] = 0xf0;
    for (; left >= 255; left -= 255)
        to[at++] = 255;
    to[at++] = (unsigned char)left;
    memcpy(to + at, from, bytes);
    return at + bytes;
}

/* One frame of one raw block. */
static size_t pack_zstd(unsigned char *to, const unsigned char *from, size_t bytes)
{
    const uint32_t block = (uint32_t)bytes << 3 | 1, size = (uint32_t)bytes;
    static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0};
    memcpy(to, magic, sizeof(magic));
    memcpy(to + 5, &size, 4);
    memcpy(to + 9, &block, 3);
    memcpy(to + 12, from, bytes);
    return 12 + bytes;
}

struct fat {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
    uint16_t kind, entry_version;
    uint32_t entry_header;
    uint64_t entry_bytes;
    uint32_t compressed, options;
    uint16_t minor, major;
    uint32_t arch, name, name_bytes;
    uint64_t flags, zero, decompressed;
};

/* All images, so that leak checkers do not report an image without users. */
struct kept {
    struct kept *before;
    unsigned char fat[sizeof(struct fat) + 2 * ROOM];
};
static struct kept *all_kept;

const void *fat_image(int arch, enum fat_packing packing)
{
    struct image *image = calloc(1, sizeof(*image));
    struct kept *kept = calloc(1, sizeof(*kept));
    if (!image || !kept) {
        free(image);
        free(kept);
        return NULL;
    }
    kept->before = all_kept;
    all_kept = kept;
    unsigned char *fat = kept->fat;
    make_elf(image);
    struct fat header = {.magic = 0xBA55ED50u,
                         .version = 1,
                         .header_bytes = 16,
                         .kind = 2,
                         .entry_version = 0x101,
                         .entry_header = 64,
                         .major = 1,
                         .arch = (uint32_t)arch,
                         .flags = 0x11};
    unsigned char *to = fat + sizeof(header);
    size_t packed = image->end;
    if (packing == FAT_PLAIN)
        memcpy(to, image->bytes, image->end);
    else
        packed = packing == FAT_LZ4 ? pack_lz4(to, image->bytes, image->end)
                                    : pack_zstd(to, image->bytes, image->end);
    if (packing != FAT_PLAIN) {
        header.flags |= packing == FAT_LZ4 ? 0x2000 : 0x8000;
        header.compressed = (uint32_t)packed;
        header.decompressed = image->end;
    }
    header.entry_bytes = (packed + 7) / 8 * 8;
    header.bytes = 64 + header.entry_bytes;
    memcpy(fat, &header, sizeof(header));
    free(image);
    return fat;
}
