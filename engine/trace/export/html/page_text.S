/* The sources of the page, each ended by NUL (page.c). The Makefile names them as prerequisites of this file. */

        .section .rodata
        .macro page_text name
        .global \name
        .hidden \name
        .type   \name, %object
\name:
        .endm

        page_text strobe_page_html
        .incbin "engine/trace/export/html/page.html"
        .byte   0
        .size   strobe_page_html, . - strobe_page_html

        page_text strobe_page_css
        .incbin "engine/trace/export/html/page.css"
        .byte   0
        .size   strobe_page_css, . - strobe_page_css

        page_text strobe_page_js
        .incbin "engine/trace/export/html/base.js"
        .incbin "engine/trace/export/html/table.js"
        .incbin "engine/trace/export/html/timeline.js"
        .incbin "engine/trace/export/html/flame.js"
        .incbin "engine/trace/export/html/report.js"
        .incbin "engine/trace/export/html/diff.js"
        .incbin "engine/trace/export/html/page.js"
        .byte   0
        .size   strobe_page_js, . - strobe_page_js

        .section .note.GNU-stack, "", %progbits
