/* The library of src/cudnn/standalone/nodriver, as bytes: cs_nodriver up to cs_nodriver_end. */
        .section .rodata
        .hidden cs_nodriver
        .globl cs_nodriver
cs_nodriver:
        .incbin CS_NODRIVER
        .hidden cs_nodriver_end
        .globl cs_nodriver_end
cs_nodriver_end:

        .section .note.GNU-stack, "", %progbits
