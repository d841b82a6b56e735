/* Says how a file reaches cuDNN: linked, looked up, or inside it. */
#include "cli/program/linkage.h"

#include <string.h>

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
