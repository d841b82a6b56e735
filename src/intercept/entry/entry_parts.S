/* Every entry once more, under the version that the part of cuDNN gives it. A program that is linked to
 * libcudnn_graph.so.9 alone needs cudnnBackendExecute of version libcudnn_graph.so.9. One symbol has one version,
 * so each of these symbols jumps to the entry. */
#if defined __x86_64__ && defined __CET__
#include <cet.h>
#define LANDING _CET_ENDBR
#define JUMP jmp
#elif defined __x86_64__
#define LANDING
#define JUMP jmp
#else
#define LANDING hint #34 /* bti c */
#define JUMP b
#endif

        .text

        .macro PART name, alias, version
        .globl \alias
        .type \alias, %function
        .p2align 4
\alias:
        .cfi_startproc
        LANDING
        JUMP \name
        .cfi_endproc
        .size \alias, . - \alias
        .symver \alias, \name@\version
        .endm

#define CS_ENTRY(name, part) PART name, cs_##part##_##name, libcudnn_##part.so.9
#include "intercept/entry/entries.def"

#if defined __aarch64__ && defined __ARM_FEATURE_BTI_DEFAULT
        .section .note.gnu.property, "a", %note
        .p2align 3
        .word 4, 16, 5
        .asciz "GNU"
        .word 0xc0000000, 4, 1, 0       /* branch targets are marked */
#endif
        .section .note.GNU-stack, "", %progbits
