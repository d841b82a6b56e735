/* Machine code of stand-ins: a stub for each function and a common part. The common part stores the
 * argument registers in memory and calls the core with them. */
#include "standins.h"

#include <string.h>

/* --- x86-64 --- */

/* A displacement from the end of the instruction. */
static void put_distance(unsigned char *code, uint64_t from, uint64_t to)
{
    const uint32_t distance = (uint32_t)(to - from);
    memcpy(code, &distance, sizeof distance);
}

static void x86_stub(unsigned char *code, uint64_t at, uint64_t data, uint64_t common)
{
    static const unsigned char text[] = {0x4c, 0x8d, 0x1d, 0, 0, 0, 0, /* lea data(%rip), %r11 */
                                         0xe9, 0,    0,    0, 0};      /* jmp common */
    memcpy(code, text, sizeof text);
    put_distance(code + 3, at + 7, data);
    put_distance(code + 8, at + 12, common);
}

static void x86_jump(unsigned char *code, uint64_t at, uint64_t slot)
{
    static const unsigned char text[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *slot(%rip) */
    memcpy(code, text, sizeof text);
    put_distance(code + 2, at + 6, slot);
}

static void x86_common(unsigned char *code, uint64_t at, uint64_t slot)
{
    static const unsigned char text[] = {
        0x41, 0x51,                      /* push %r9 */
        0x41, 0x50,                      /* push %r8 */
        0x51, 0x52, 0x56, 0x57,          /* push %rcx, %rdx, %rsi, %rdi */
        0x4c, 0x89, 0xdf,                /* mov %r11, %rdi */
        0x48, 0x89, 0xe6,                /* mov %rsp, %rsi */
        0x48, 0x8d, 0x54, 0x24, 0x38,    /* lea 56(%rsp), %rdx: after the return address */
        0x48, 0x83, 0xec, 0x08,          /* sub $8, %rsp */
        0xff, 0x15, 0,    0,    0,    0, /* call *slot(%rip) */
        0x48, 0x83, 0xc4, 0x38,          /* add $56, %rsp */
        0xc3,                            /* ret */
    };
    enum {
        SLOT = 25
    };
    memcpy(code, text, sizeof text);
    put_distance(code + SLOT, at + SLOT + 4, slot);
}

/* --- aarch64 --- */

static void put_word(unsigned char *code, size_t index, uint32_t word)
{
    memcpy(code + 4 * index, &word, sizeof word);
}

/* adrp: the page of an address, as a distance of pages. */
static uint32_t arm_page(unsigned to, uint64_t at, uint64_t address)
{
    const uint32_t pages = (uint32_t)((address >> 12) - (at >> 12));
    return 0x90000000u | (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5 | to;
}

static uint32_t arm_add(unsigned to, uint64_t address)
{
    return 0x91000000u | (uint32_t)(address & 0xfff) << 10 | to << 5 | to;
}

static uint32_t arm_load(unsigned to, uint64_t address)
{
    return 0xf9400000u | (uint32_t)(address >> 3 & 0x1ff) << 10 | to << 5 | to;
}

static void arm_stub(unsigned char *code, uint64_t at, uint64_t data, uint64_t common)
{
    const uint32_t words = (uint32_t)((int64_t)(common - (at + 8)) >> 2);
    put_word(code, 0, arm_page(16, at, data));
    put_word(code, 1, arm_add(16, data));
    put_word(code, 2, 0x14000000u | (words & 0x3ffffff)); /* b common */
}

static void arm_jump(unsigned char *code, uint64_t at, uint64_t slot)
{
    put_word(code, 0, arm_page(17, at, slot));
    put_word(code, 1, arm_load(17, slot));
    put_word(code, 2, 0xd61f0220); /* br x17 */
}

static void arm_common(unsigned char *code, uint64_t at, uint64_t slot)
{
    static const uint32_t save[] = {
        0xa9bb7bfd, /* stp x29, x30, [sp, #-80]! */
        0x910003fd, /* mov x29, sp */
        0xa90107e0, /* stp x0, x1, [sp, #16] */
        0xa9020fe2, /* stp x2, x3, [sp, #32] */
        0xa90317e4, /* stp x4, x5, [sp, #48] */
        0xa9041fe6, /* stp x6, x7, [sp, #64] */
        0xaa1003e0, /* mov x0, x16 */
        0x910043e1, /* add x1, sp, #16 */
        0x910143e2, /* add x2, sp, #80 */
    };
    enum {
        SAVE = sizeof save / sizeof *save
    };
    memcpy(code, save, sizeof save);
    put_word(code, SAVE, arm_page(17, at + 4 * SAVE, slot));
    put_word(code, SAVE + 1, arm_load(17, slot));
    put_word(code, SAVE + 2, 0xd63f0220); /* blr x17 */
    put_word(code, SAVE + 3, 0xa8c57bfd); /* ldp x29, x30, [sp], #80 */
    put_word(code, SAVE + 4, 0xd65f03c0); /* ret */
}

const struct standin_machine *standin_machine(int machine)
{
    static const struct standin_machine known[] = {
        {EM_X86_64, R_X86_64_RELATIVE, R_X86_64_GLOB_DAT, x86_stub, x86_jump, x86_common},
        {EM_AARCH64, R_AARCH64_RELATIVE, R_AARCH64_GLOB_DAT, arm_stub, arm_jump, arm_common},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].machine == machine)
            return &known[i];
    return NULL;
}
