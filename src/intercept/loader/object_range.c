/* Reads an object's range of addresses from its program headers. */
#include "intercept/loader/object_range.h"

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
