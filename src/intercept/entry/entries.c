/* The table of the entries and of the real functions that they call, made from entries.def. */
#include "intercept/entry/entries.h"

#include "cudnn/bind/real.h"
#include <stddef.h>
#include <string.h>

static const struct entry {
    const char *name;
    void *function;
    size_t slot; /* offset of the real function in struct cs_real */
} entries[] = {
#define CS_ENTRY(name, part) {#name, (void *)name, offsetof(struct cs_real, name)},
#include "intercept/entry/entries.def"
#undef CS_ENTRY
};

static const struct entry *entry_of(const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(name, entries[i].name) == 0)
            return &entries[i];
    return NULL;
}

void *cs_entries_find(const char *name)
{
    const struct entry *entry = entry_of(name);
    return entry ? entry->function : NULL;
}

bool cs_entries_call(const char *name, const void *address)
{
    const struct entry *entry = entry_of(name);
    return entry && address && cs_real_calls(name, entry->slot, address);
}
