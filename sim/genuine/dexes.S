/* The boot class path's own dex files, and their ends. */
    .section .rodata
    .balign 16
    .global sim_art_core11, sim_art_core11_end, sim_art_core14, sim_art_core14_end
    .hidden sim_art_core11, sim_art_core11_end, sim_art_core14, sim_art_core14_end
sim_art_core11:
    .incbin "fixtures/art/core11.dex"
sim_art_core11_end:
    .balign 16
sim_art_core14:
    .incbin "fixtures/art/core14.dex"
sim_art_core14_end:
    .section .note.GNU-stack, "", %progbits
