/* dlsym and dlvsym: judge, then return the answer or jump to the next one with the caller's registers and return
 * address. In assembly, because a compiler makes that jump only when it optimizes. */
#ifdef __CET__
#include <cet.h>
#else
#define _CET_ENDBR
#endif

        .text
        .hidden cs_dlsym_judge

        .macro DOOR name, versioned
        .globl \name
        .type \name, @function
        .p2align 4
\name:
        .cfi_startproc
        _CET_ENDBR
        push %rdi
        .cfi_adjust_cfa_offset 8
        push %rsi
        .cfi_adjust_cfa_offset 8
        push %rdx
        .cfi_adjust_cfa_offset 8
        mov 24(%rsp), %rcx
        mov $\versioned, %r8d
        call cs_dlsym_judge
        mov %rdx, %r11
        pop %rdx
        .cfi_adjust_cfa_offset -8
        pop %rsi
        .cfi_adjust_cfa_offset -8
        pop %rdi
        .cfi_adjust_cfa_offset -8
        test %rax, %rax
        jz 1f
        ret
1:      jmp *%r11
        .cfi_endproc
        .size \name, . - \name
        .endm

        DOOR dlsym, 0
        DOOR dlvsym, 1

        .section .note.GNU-stack, "", @progbits
