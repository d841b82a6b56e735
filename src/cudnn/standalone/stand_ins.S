/* The libraries of src/cudnn/standalone/stand_ins, as bytes: cs_stand_in_NAME up to
 * cs_stand_in_NAME_end. */
        .macro library name, file
        .hidden cs_stand_in_\name
        .globl cs_stand_in_\name
cs_stand_in_\name:
        .incbin "\file"
        .hidden cs_stand_in_\name\()_end
        .globl cs_stand_in_\name\()_end
cs_stand_in_\name\()_end:
        .endm

        .section .rodata
        library cuda, CS_LIBCUDA
        library cublaslt_12, CS_LIBCUBLASLT_12
        library cublaslt_13, CS_LIBCUBLASLT_13

        .section .note.GNU-stack, "", %progbits
