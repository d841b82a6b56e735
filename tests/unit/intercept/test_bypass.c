/* Whether an object defines a function, by its own hash table: libc's, which the loader has. */
#include "check.h"
#include "cudnn/bind/real.h"
#include "intercept/entry/entries.h"
#include "intercept/loader/dlsym.h"

/* One that we intercept, and one that we do not. */
#define ENTRY "cudnnConvolutionForward"
#define REST "cudnnGetVersion"

void *cs_entries_find(const char *name)
{
    static int entry;
    return strcmp(name, ENTRY) == 0 ? &entry : NULL;
}

static uintptr_t answered; /* an address in an object whose lookups were answered by us */

bool cs_dlsym_answered(uintptr_t from, uintptr_t to)
{
    return from <= answered && answered < to;
}

bool cs_real_has_file(const char *path)
{
    (void)path;
    return false;
}

#include "intercept/loader/bypass.c" /* NOLINT(bugprone-suspicious-include) */

static struct tables libc;

static int find_libc(struct dl_phdr_info *object, size_t size, void *data)
{
    (void)size, (void)data;
    if (strncmp(cs_path_file(object->dlpi_name), "libc.so.", strlen("libc.so.")) != 0)
        return 0;
    libc = tables_of(object);
    return 1;
}

static void what_libc_defines(void)
{
    static const char *const its_own[] = {"malloc", "qsort",  "printf",  "strtol",
                                          "getenv", "strlen", "fopen64", "pthread_create"};
    static const char *const others[] = {"cudnnGetVersion",   "cudnnCreate", "cs_bypass_find",
                                         "convshim_no_one_s", "main",        ""};
    CHECK(libc.hash && libc.symbols && libc.strings);
    for (size_t i = 0; i < sizeof its_own / sizeof *its_own; i++)
        CHECK(defines(&libc, its_own[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK(!defines(&libc, others[i]));
}

static void an_object_without_a_table_defines_nothing(void)
{
    static const uint32_t no_buckets[4];
    struct tables none = libc;
    none.hash = NULL;
    CHECK(!defines(&none, "malloc"));
    none.hash = no_buckets;
    CHECK(!defines(&none, "malloc"));
}

/* An object that defines the one, the other or both, and has one slot for the first. */
struct toy {
    char strings[64];
    Elf64_Sym symbol[3];
    uint32_t hash[9]; /* one bucket, symbols from 1 on, one word of a filter */
    uintptr_t slot;
    Elf64_Rela relocation;
};

static struct toy toy;

static struct tables tables_of_toy(bool entry, bool rest, uint32_t kind)
{
    const char *names[] = {entry ? ENTRY : "one", rest ? REST : "other"};
    toy = (struct toy){.hash = {1, 1, 1, 0, 0, 0, 1}};
    size_t length = 1;
    for (int i = 0; i < 2; i++) {
        toy.symbol[i + 1] = (Elf64_Sym){
            .st_name = (Elf64_Word)length, .st_shndx = 1, .st_value = (Elf64_Addr)(i + 1) * 16};
        toy.hash[7 + i] = (cs_hash_gnu(names[i]) & ~1U) | (uint32_t)i;
        length += (size_t)snprintf(toy.strings + length, sizeof toy.strings - length, "%s%c",
                                   names[i], 0);
    }
    toy.relocation = (Elf64_Rela){.r_offset = offsetof(struct toy, slot),
                                  .r_info = ELF64_R_INFO((Elf64_Xword)1, kind)};
    return (struct tables){
        .base = (Elf64_Addr)&toy, .strings = toy.strings, .symbols = toy.symbol, .hash = toy.hash};
}

/* It has the vendor's library inside if it defines more than our entries and calls those by its own
 * address, whatever kind of slot that is in; not if we come before, or answered its lookups. */
static void who_has_the_vendor_inside(void)
{
    static const struct {
        bool entry, rest, ours, answered, inside;
    } rows[] = {
        {true, true, false, false, true},   {true, false, false, false, false},
        {false, true, false, false, false}, {false, false, false, false, false},
        {true, true, true, false, false},   {true, true, false, true, false},
    };
    static const uint32_t kinds[] = {DATA_SLOT, CALL_SLOT, 0};
    const struct cs_object_range range = {(uintptr_t)&toy, (uintptr_t)(&toy + 1)};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
            for (int list = 0; list < 2; list++) {
                struct tables t = tables_of_toy(rows[i].entry, rows[i].rest, kinds[kind]);
                struct relocations one = {&toy.relocation, sizeof toy.relocation};
                *(list ? &t.calls : &t.rest) = one;
                toy.slot = rows[i].ours ? (uintptr_t)&answered : t.base + 16;
                answered = rows[i].answered ? range.from : 0;
                bool inside = rows[i].inside || (rows[i].ours && kinds[kind] == 0);
                CHECK_INT(has_inside(&t, range), inside);
                t.calls.bytes = t.rest.bytes = sizeof one - 1; /* none of it */
                CHECK_INT(has_inside(&t, range), rows[i].entry && rows[i].rest && !answered);
            }
}

/* Slots that hold an address of the vendor's, of functions that we intercept. */
static void who_binds_past(void)
{
    static const uint32_t kinds[] = {DATA_SLOT, CALL_SLOT, 0};
    struct search search = {.vendor = {{100, 200}, {300, 400}}, .vendors = 2};
    static const struct {
        uintptr_t holds;
        bool vendors;
    } rows[] = {{99, false},  {100, true}, {199, true}, {200, false},
                {299, false}, {300, true}, {399, true}, {400, false}};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            struct tables t = tables_of_toy(true, false, kinds[kind]);
            struct relocations one = {&toy.relocation, sizeof toy.relocation};
            toy.slot = rows[i].holds;
            CHECK_INT(binds_past(&search, &t, &one), rows[i].vendors && kinds[kind] != 0);
            one.bytes--;
            CHECK(!binds_past(&search, &t, &one));
            t = tables_of_toy(false, true, kinds[kind]);
            toy.slot = rows[i].holds;
            one.bytes++;
            CHECK(!binds_past(&search, &t, &one));
        }
}

int main(void)
{
    dl_iterate_phdr(find_libc, NULL);
    TEST(what_libc_defines);
    TEST(an_object_without_a_table_defines_nothing);
    TEST(who_has_the_vendor_inside);
    TEST(who_binds_past);
    return REPORT();
}
