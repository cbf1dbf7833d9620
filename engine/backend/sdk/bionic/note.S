/* The note that the NDK's crtbegin_so.o adds to a library: the API level that it was built for. */
    .section .note.android.ident, "a", %note
    .balign 4
    .long 2f - 1f, 4, 1
1:  .asciz "Android"
2:  .long 24
    .section .note.GNU-stack, "", %progbits
