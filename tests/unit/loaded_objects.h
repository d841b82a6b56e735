/* The loader's list of objects as the test provides it, for code that walks it (dl_iterate_phdr).
 */
#ifndef LOADED_OBJECTS_H
#define LOADED_OBJECTS_H

#include "check.h"
#include <link.h>
#include <stdint.h>

enum {
    LOADED = 160
};

static struct {
    struct dl_phdr_info object[LOADED];
    Elf64_Phdr segment[LOADED][3];
    int count, walks;
} loaded;

WRAPPED(int, dl_iterate_phdr, int (*each)(struct dl_phdr_info *, size_t, void *), void *ctx)
{
    int status = 0;
    loaded.walks++;
    for (int i = 0; i < loaded.count && status == 0; i++)
        status = each(&loaded.object[i], sizeof loaded.object[i], ctx);
    return status;
}

/* Adds an object of two segments with a gap between them: [base + 0x100, base + 0x200) and
 * [base + bytes - 0x100, base + bytes). A segment that is not loaded lies far behind. */
static inline Elf64_Phdr *loaded_add(const char *path, uintptr_t base, size_t bytes)
{
    Elf64_Phdr *segment = loaded.segment[loaded.count];
    segment[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = bytes - 0x100, .p_memsz = 0x100};
    segment[1] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 0x100, .p_memsz = 0x100};
    segment[2] = (Elf64_Phdr){.p_type = PT_NOTE, .p_vaddr = 4 * bytes, .p_memsz = 0x100};
    loaded.object[loaded.count++] = (struct dl_phdr_info){
        .dlpi_addr = base, .dlpi_name = path, .dlpi_phdr = segment, .dlpi_phnum = 3};
    return segment;
}

#endif
