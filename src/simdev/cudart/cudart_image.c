/* Fat binaries and the ELF images in them, as nvcc writes them. NVIDIA documents neither format.
 * The layout was found by examining the output of nvcc 12 and 13. Data of any other form counts as
 * unknown. */
#include "cudart_image.h"
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    FAT_MAGIC = (int)0xBA55ED50,
    KIND_ELF = 2,
    FLAG_LZ4 = 0x2000,
    FLAG_ZSTD = 0x8000,
    MOST_BYTES = 1 << 30
};

struct fat_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* of all entries */
};

struct fat_entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes; /* of the data after the header, padded */
    uint32_t compressed_bytes, options;
    uint16_t minor, major;
    uint32_t arch, name, name_bytes;
    uint64_t flags, zero, decompressed_bytes;
};

/* --- decompression --- */

static size_t (*zstd)(void *to, size_t room, const void *from, size_t bytes);
static unsigned (*zstd_failed)(size_t result);
static pthread_once_t zstd_once = PTHREAD_ONCE_INIT;

/* Loaded at run time. Without the library, only the profile provides facts. */
static void load_zstd(void)
{
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    void *decompress = dlsym(library, "ZSTD_decompress");
    void *failed = dlsym(library, "ZSTD_isError");
    if (!decompress || !failed)
        return;
    memcpy(&zstd_failed, &failed, sizeof(failed));
    memcpy(&zstd, &decompress, sizeof(decompress));
}

/* A length of the LZ4 block format: 15 is continued in bytes of 255. */
static size_t lz4_length(size_t length, const unsigned char **from, const unsigned char *end)
{
    unsigned char more = 255;
    while (length >= 15 && more == 255 && *from < end)
        length += more = *(*from)++;
    return length;
}

/* True if the data decompress to exactly `bytes` bytes. */
static bool decompress_lz4(unsigned char *to, size_t bytes, const unsigned char *from,
                           size_t compressed)
{
    const unsigned char *end = from + compressed;
    size_t at = 0;
    while (from < end) {
        const unsigned token = *from++;
        const size_t literals = lz4_length(token >> 4, &from, end);
        if (literals > (size_t)(end - from) || literals > bytes - at)
            return false;
        memcpy(to + at, from, literals);
        at += literals;
        from += literals;
        if (end - from < 2)
            break;
        const size_t back = (size_t)(from[0] | from[1] << 8);
        from += 2;
        const size_t match = lz4_length(token & 15, &from, end) + 4;
        if (back == 0 || back > at || match > bytes - at)
            return false;
        for (size_t i = 0; i < match; i++, at++)
            to[at] = to[at - back];
    }
    return at == bytes;
}

static bool decompress_entry(const struct fat_entry *entry, const unsigned char *from,
                             struct simdev_image *image)
{
    const size_t bytes = (size_t)entry->decompressed_bytes;
    if (bytes == 0 || bytes > MOST_BYTES || entry->compressed_bytes > entry->bytes)
        return false;
    unsigned char *to = malloc(bytes);
    bool good = to != NULL;
    if (good && entry->flags & FLAG_ZSTD) {
        pthread_once(&zstd_once, load_zstd);
        good = zstd && !zstd_failed(zstd(to, bytes, from, entry->compressed_bytes));
    } else if (good) {
        good = decompress_lz4(to, bytes, from, entry->compressed_bytes);
    }
    if (!good) {
        free(to);
        return false;
    }
    image->owned = to;
    image->elf = to;
    image->bytes = bytes;
    return true;
}

/* --- the image for a device --- */

/* An image runs on devices with the same major version and the same or a higher minor version. */
static bool runs_on(int image, int arch)
{
    return image / 10 == arch / 10 && image <= arch;
}

static const struct fat_entry *best_entry(const unsigned char *fat, int arch)
{
    const struct fat_header *header = (const void *)fat;
    const struct fat_entry *best = NULL;
    uint64_t at = header->header_bytes;
    const uint64_t end = header->header_bytes + header->bytes;
    while (at + sizeof(struct fat_entry) <= end) {
        const struct fat_entry *entry = (const void *)(fat + at);
        const uint64_t bytes = entry->header_bytes + entry->bytes;
        if (bytes < sizeof(*entry) || bytes > end - at)
            break;
        if (entry->kind == KIND_ELF && runs_on((int)entry->arch, arch) &&
            (!best || entry->arch > best->arch))
            best = entry;
        at += bytes;
    }
    return best;
}

static bool is_elf(const void *image)
{
    return memcmp(image, ELFMAG, SELFMAG) == 0;
}

/* Size of an ELF image without a stored length: up to the end of its section headers or segments.
 */
static size_t elf_bytes(const unsigned char *image)
{
    const Elf64_Ehdr *elf = (const void *)image;
    const size_t sections = (size_t)elf->e_shoff + (size_t)elf->e_shnum * elf->e_shentsize;
    const size_t segments = (size_t)elf->e_phoff + (size_t)elf->e_phnum * elf->e_phentsize;
    return sections > segments ? sections : segments;
}

bool simdev_image_find(const void *fat, int arch, struct simdev_image *image)
{
    uint32_t magic;
    *image = (struct simdev_image){.arch = arch};
    if (!fat)
        return false;
    memcpy(&magic, fat, sizeof(magic));
    if (is_elf(fat)) {
        image->elf = fat;
        image->bytes = elf_bytes(fat);
        return true;
    }
    const struct fat_entry *entry = magic == (uint32_t)FAT_MAGIC ? best_entry(fat, arch) : NULL;
    if (!entry)
        return false;
    const unsigned char *from = (const unsigned char *)entry + entry->header_bytes;
    image->arch = (int)entry->arch;
    image->elf = from;
    image->bytes = (size_t)entry->bytes;
    if (entry->flags & (FLAG_ZSTD | FLAG_LZ4) && !decompress_entry(entry, from, image))
        return false;
    if (image->bytes >= sizeof(Elf64_Ehdr) && is_elf(image->elf))
        return true;
    simdev_image_release(image);
    return false;
}

void simdev_image_release(struct simdev_image *image)
{
    free(image->owned);
    image->owned = NULL;
    image->elf = NULL;
}

/* --- ELF --- */

static const Elf64_Ehdr *header_of(const struct simdev_image *image)
{
    return (const void *)image->elf;
}

/* NULL past the last section, and for a section that is not inside the image. */
static const Elf64_Shdr *section_at(const struct simdev_image *image, size_t index)
{
    const Elf64_Ehdr *elf = header_of(image);
    if (index >= elf->e_shnum || elf->e_shentsize != sizeof(Elf64_Shdr) ||
        elf->e_shoff > image->bytes ||
        (index + 1) * sizeof(Elf64_Shdr) > image->bytes - elf->e_shoff)
        return NULL;
    return (const Elf64_Shdr *)(const void *)(image->elf + elf->e_shoff) + index;
}

static const void *section_content(const struct simdev_image *image, const Elf64_Shdr *section)
{
    const bool inside = section->sh_type != SHT_NOBITS && section->sh_offset <= image->bytes &&
                        section->sh_size <= image->bytes - section->sh_offset;
    return inside ? image->elf + section->sh_offset : NULL;
}

/* A string of a string table. "" outside of the table. */
static const char *string_at(const struct simdev_image *image, const Elf64_Shdr *table,
                             size_t offset)
{
    const char *text = table ? section_content(image, table) : NULL;
    if (!text || offset >= table->sh_size || text[table->sh_size - 1] != '\0')
        return "";
    return text + offset;
}

static const char *section_name(const struct simdev_image *image, const Elf64_Shdr *section)
{
    return string_at(image, section_at(image, header_of(image)->e_shstrndx), section->sh_name);
}

/* The section with the name `prefix` followed by `name`. */
static const Elf64_Shdr *section_of(const struct simdev_image *image, const char *prefix,
                                    const char *name)
{
    const size_t length = strlen(prefix);
    const Elf64_Shdr *section;
    for (size_t i = 0; (section = section_at(image, i)); i++) {
        const char *own = section_name(image, section);
        if (strncmp(own, prefix, length) == 0 && strcmp(own + length, name) == 0)
            return section;
    }
    return NULL;
}

/* --- kernel information --- */

enum {
    INFO_MAX_THREADS = 0x05,
    INFO_PARAMETER = 0x17,
    INFO_PARAMETER_BYTES = 0x19,
    INFO_WITH_SIZE = 4,
    RESERVED_SHARED = 1024 /* included in a kernel's size if the image reserves shared memory */
};

/* The parameter's index, order, offset, and its size above 18 other bits. */
static void read_parameter(const unsigned char *info, struct simdev_image_kernel *kernel)
{
    uint16_t order;
    uint32_t size;
    memcpy(&order, info + 4, sizeof(order));
    memcpy(&size, info + 8, sizeof(size));
    if (order >= SIMDEV_MOST_PARAMETERS)
        return;
    kernel->bytes[order] = (uint16_t)(size >> 18);
    if (order >= kernel->parameters)
        kernel->parameters = order + 1u;
}

static void read_info(const unsigned char *info, size_t bytes, struct simdev_image_kernel *kernel)
{
    for (size_t at = 0; at + 4 <= bytes;) {
        const unsigned format = info[at], attribute = info[at + 1];
        const unsigned value = info[at + 2] | (unsigned)info[at + 3] << 8;
        const size_t payload = format == INFO_WITH_SIZE ? value : 0;
        uint32_t threads[3];
        if (payload > bytes - at - 4)
            return;
        if (attribute == INFO_PARAMETER_BYTES && payload == 0)
            kernel->parameter_bytes = (int)value;
        if (attribute == INFO_PARAMETER && payload >= 12)
            read_parameter(info + at + 4, kernel);
        if (attribute == INFO_MAX_THREADS && payload >= sizeof(threads)) {
            memcpy(threads, info + at + 4, sizeof(threads));
            kernel->max_threads = (int)(threads[0] * threads[1] * threads[2]);
        }
        at += 4 + payload;
    }
}

bool simdev_image_kernel(const struct simdev_image *image, const char *name,
                         struct simdev_image_kernel *kernel)
{
    const Elf64_Shdr *text = section_of(image, ".text.", name);
    *kernel =
        (struct simdev_image_kernel){.registers = -1, .max_threads = -1, .parameter_bytes = -1};
    if (!text)
        return false;
    kernel->registers = (int)(text->sh_info >> 24);
    const Elf64_Shdr *shared = section_of(image, ".nv.shared.", name);
    const bool reserves = section_of(image, ".nv.shared.", "reserved.0") != NULL;
    if (shared && (!reserves || shared->sh_size >= RESERVED_SHARED))
        kernel->static_shared = (int)shared->sh_size - (reserves ? RESERVED_SHARED : 0);
    const Elf64_Shdr *local = section_of(image, ".nv.local.", name);
    if (local)
        kernel->local = (int)local->sh_size;
    const Elf64_Shdr *info = section_of(image, ".nv.info.", name);
    const void *bytes = info ? section_content(image, info) : NULL;
    if (bytes)
        read_info(bytes, (size_t)info->sh_size, kernel);
    return true;
}

void simdev_image_kernels(const struct simdev_image *image,
                          void (*seen)(const char *name, void *arg), void *arg)
{
    static const char prefix[] = ".nv.info.";
    const Elf64_Shdr *section;
    for (size_t i = 0; (section = section_at(image, i)); i++) {
        const char *name = section_name(image, section);
        if (strncmp(name, prefix, sizeof(prefix) - 1) == 0 &&
            section_of(image, ".text.", name + sizeof(prefix) - 1))
            seen(name + sizeof(prefix) - 1, arg);
    }
}

bool simdev_image_variable(const struct simdev_image *image, const char *name, size_t *bytes,
                           const void **initial)
{
    const Elf64_Shdr *table = section_of(image, ".symtab", "");
    const Elf64_Sym *symbol = table ? section_content(image, table) : NULL;
    for (size_t i = 0; symbol && i < table->sh_size / sizeof(*symbol); i++) {
        const char *own = string_at(image, section_at(image, table->sh_link), symbol[i].st_name);
        if (ELF64_ST_TYPE(symbol[i].st_info) != STT_OBJECT || strcmp(own, name) != 0)
            continue;
        const Elf64_Shdr *section = section_at(image, symbol[i].st_shndx);
        const unsigned char *data = section ? section_content(image, section) : NULL;
        const bool inside = data && symbol[i].st_value <= section->sh_size &&
                            symbol[i].st_size <= section->sh_size - symbol[i].st_value;
        *bytes = (size_t)symbol[i].st_size;
        *initial = inside ? data + symbol[i].st_value : NULL;
        return true;
    }
    return false;
}
