/* The scripts and the style of the lab's pages, each ended by NUL (page_source.h). The Makefile names them as
 * prerequisites of this file. */

        .section .rodata
        .global sim_page_css
        .hidden sim_page_css
        .type   sim_page_css, %object
sim_page_css:
        .incbin "sim/page/lab.css"
        .byte   0
        .size   sim_page_css, . - sim_page_css

        .global sim_page_js
        .hidden sim_page_js
        .type   sim_page_js, %object
sim_page_js:
        .incbin "sim/page/run.js"
        .incbin "sim/page/matrix.js"
        .byte   0
        .size   sim_page_js, . - sim_page_js

        .section .note.GNU-stack, "", %progbits
