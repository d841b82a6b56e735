/* dlsym and dlvsym: judge, then return the answer or jump to the next one with the caller's registers and return
 * address. In assembly, because a compiler makes that jump only when it optimizes. */
        .text
        .hidden cs_dlsym_judge

        .macro DOOR name, versioned
        .globl \name
        .type \name, %function
        .p2align 4
\name:
        .cfi_startproc
        hint #34                        /* bti c */
        stp x29, x30, [sp, #-48]!
        .cfi_def_cfa_offset 48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
        mov x29, sp
        stp x0, x1, [sp, #16]
        str x2, [sp, #32]
        mov x3, x30
        mov w4, #\versioned
        bl cs_dlsym_judge
        cbz x0, 1f
        ldp x29, x30, [sp], #48
        .cfi_remember_state
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
1:      .cfi_restore_state
        mov x16, x1
        ldr x2, [sp, #32]
        ldp x0, x1, [sp, #16]
        ldp x29, x30, [sp], #48
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        br x16
        .cfi_endproc
        .size \name, . - \name
        .endm

        DOOR dlsym, 0
        DOOR dlvsym, 1

#ifdef __ARM_FEATURE_BTI_DEFAULT
        .section .note.gnu.property, "a", %note
        .p2align 3
        .word 4, 16, 5
        .asciz "GNU"
        .word 0xc0000000, 4, 1, 0       /* branch targets are marked */
#endif
        .section .note.GNU-stack, "", %progbits
