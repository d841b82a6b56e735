/* Objects that call cuDNN past the entries, by the tables of objects that the test builds. */
#include "intercept/loader/objects.h"

#include "base/hash.h"
#include "loaded_objects.h"
#include <errno.h>

enum {
    SYMBOLS = 3,
    VENDOR = 0x7000000 /* where cuDNN lies */
};

static const char names[] = "\0cudnnConvolutionForward\0cudnnSetStream\0other";
static const Elf64_Word name_at[] = {1, 25, 40};

/* An object in memory, from its address: tables, symbols by `name_at`, a slot for each. */
static struct image {
    Elf64_Dyn dynamic[8];
    char names[sizeof names];
    Elf64_Sym symbol[1 + SYMBOLS];
    Elf64_Rela relocation[SYMBOLS];
    uintptr_t slot[SYMBOLS];
    uint32_t hash[4 + 2 + 1 + SYMBOLS]; /* one bucket, the filter of one word, the chain */
    Elf64_Phdr segment[2];
} images[4];

static bool answered;

WRAPPED(bool, cs_dlsym_answered, uintptr_t from, uintptr_t to)
{
    CHECK(to > from);
    return answered;
}

enum {
    CALLS = 1, /* relocations are those of calls, not of data */
    DEFINES = 2
};

static struct image *add(const char *path, unsigned what)
{
    struct image *image = &images[loaded.count];
    const uintptr_t base = (uintptr_t)image;
    *image = (struct image){.hash = {1, 1, 1, 0, 0, 0, 1}};
    for (int i = 0; i < SYMBOLS; i++) {
        image->symbol[1 + i] = (Elf64_Sym){
            .st_name = name_at[i], .st_shndx = what & DEFINES ? 1 : SHN_UNDEF, .st_value = 0x10};
        image->relocation[i] = (Elf64_Rela){
            .r_offset = (Elf64_Addr)((uintptr_t)&image->slot[i] - base),
            .r_info = ELF64_R_INFO((Elf64_Xword)(1 + i),
                                   what & CALLS ? R_X86_64_JUMP_SLOT : R_X86_64_GLOB_DAT)};
        image->slot[i] = base + 0x10;
        image->hash[7 + i] = (cs_hash_gnu(names + name_at[i]) & ~1U) | (i == SYMBOLS - 1);
    }
    memcpy(image->names, names, sizeof names);
    const Elf64_Dyn dynamic[] = {
        {DT_STRTAB, {.d_ptr = (Elf64_Addr)image->names}},
        {DT_SYMTAB, {.d_ptr = (Elf64_Addr)image->symbol}},
        {DT_GNU_HASH, {.d_ptr = (Elf64_Addr)image->hash}},
        {what & CALLS ? DT_JMPREL : DT_RELA, {.d_ptr = (Elf64_Addr)image->relocation}},
        {what & CALLS ? DT_PLTRELSZ : DT_RELASZ, {.d_val = sizeof image->relocation}},
        {DT_NULL, {0}}};
    memcpy(image->dynamic, dynamic, sizeof dynamic);
    image->segment[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_memsz = sizeof *image};
    image->segment[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC};
    loaded.object[loaded.count++] = (struct dl_phdr_info){
        .dlpi_addr = base, .dlpi_name = path, .dlpi_phdr = image->segment, .dlpi_phnum = 2};
    return image;
}

static void start(void)
{
    loaded.count = 3; /* after the images */
    loaded_add("/lib/libcudnn.so.9", VENDOR, 0x10000);
    loaded.object[0] = loaded.object[3];
    loaded.count = 1;
    answered = false;
}

static char text[64];

static void a_slot_that_leads_into_cudnn_is_a_bypass(void)
{
    for (unsigned kind = 0; kind < 2; kind++)
        for (int i = 0; i < SYMBOLS; i++) {
            CASE("kind %u, symbol %d", kind, i);
            start();
            struct image *image = add("/fw/libdeep.so", kind);
            CHECK_INT(cs_bypass_find(text, sizeof text), 0);
            CHECK_STR(text, "");
            image->slot[i] = VENDOR + 0x100;
            CHECK_INT(cs_bypass_find(text, sizeof text), i == 0); /* the others are no entries */
            CHECK_STR(text, i == 0 ? "libdeep.so" : "");
            image->slot[i] = VENDOR + 0x10000; /* behind cuDNN */
            CHECK_INT(cs_bypass_find(text, sizeof text), 0);
            image->slot[i] = VENDOR + 0x100;
            image->relocation[i].r_info = ELF64_R_INFO((Elf64_Xword)(1 + i), R_X86_64_RELATIVE);
            CHECK_INT(cs_bypass_find(text, sizeof text), 0);
        }
}

static void cudnn_itself_is_no_bypass(void)
{
    start();
    add("/lib/libcudnn_cnn.so.9", CALLS)->slot[0] = VENDOR + 0x100;
    CHECK_INT(cs_bypass_find(text, sizeof text), 0);
}

/* Its calls are bound to its own definition, and nothing answered its lookups. */
static void an_object_with_cudnn_inside_is_a_bypass(void)
{
    start();
    struct image *image = add("/fw/libinside.so", DEFINES);
    CHECK_INT(cs_bypass_find(text, sizeof text), 1);
    CHECK_STR(text, "libinside.so");
    image->slot[0]++; /* bound to an entry: a stub */
    CHECK_INT(cs_bypass_find(text, sizeof text), 0);
    image->slot[0]--;
    answered = true;
    CHECK_INT(cs_bypass_find(text, sizeof text), 0);
    answered = false;
    for (int i = 0; i < 2; i++) { /* entries alone, or other functions alone */
        image->symbol[1 + i].st_shndx = SHN_UNDEF;
        CHECK_INT(cs_bypass_find(text, sizeof text), 0);
        image->symbol[1 + i].st_shndx = 1;
    }
    image->hash[0] = 0;
    CHECK_INT(cs_bypass_find(text, sizeof text), 0);
}

static void names_that_do_not_fit_are_cut(void)
{
    start();
    add("/fw/liba.so", DEFINES);
    add("", DEFINES); /* the program */
    CHECK_INT(cs_bypass_find(text, sizeof text), 2);
    CHECK_STR(text, "liba.so, test_bypass");
    CHECK_INT(cs_bypass_find(text, 12), 2);
    CHECK_STR(text, "...");
    CHECK_INT(cs_bypass_find(text, 13), 2);
    CHECK_STR(text, "liba.so, ...");
    CHECK_INT(cs_bypass_find(text, 4), 2);
    CHECK_STR(text, "...");
}

int main(void)
{
    program_invocation_name = (char *)(uintptr_t) "/bin/test_bypass";
    TEST(a_slot_that_leads_into_cudnn_is_a_bypass);
    TEST(cudnn_itself_is_no_bypass);
    TEST(an_object_with_cudnn_inside_is_a_bypass);
    TEST(names_that_do_not_fit_are_cut);
    return REPORT();
}
