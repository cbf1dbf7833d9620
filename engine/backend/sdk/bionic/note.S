/* What the NDK's crtbegin_so.o adds to a library: for which level it was built. */
    .section .note.android.ident, "a", %note
    .balign 4
    .long 2f - 1f, 4, 1
1:  .asciz "Android"
2:  .long 24
    .section .note.GNU-stack, "", %progbits
