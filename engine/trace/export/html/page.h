/* Writes a page of HTML that refers to no other file: a viewer, and its data as JSON. The viewer is page.html, page.css
 * and the scripts of this directory. The program contains them (page_text.S).
 *
 * Data are texts of the program that was recorded, so they are hostile. A part is JSON in an element <script
 * type="application/json">, whose content ends at the first "</script"
 * (https://html.spec.whatwg.org/#script-data-state). In strings of the JSON the characters < > & and the line
 * separators U+2028 and U+2029 are therefore escapes. The page forbids itself any request (Content-Security-Policy).
 *
 * Reading half: allocates. One thread at a time. */
#ifndef STROBE_TRACE_EXPORT_HTML_PAGE_H
#define STROBE_TRACE_EXPORT_HTML_PAGE_H

#include "engine/base/status.h"
#include "engine/util/outfile.h"

#include <stddef.h>
#include <stdio.h>

/* One part of the data: `write` prints one JSON value. The scripts find it in the element data-ID. */
struct strobe_page_part {
    const char *id;
    void (*write)(void *ctx, FILE *out);
    void *ctx;
};

/* Writes the page. STROBE_IO: out of memory; other errors are those of `out`. */
enum strobe_status strobe_page_write(struct strobe_outfile *out, const char *title,
                                     const struct strobe_page_part *parts, size_t count);

/* What a page adds to the viewer. Both are empty texts or sources of their language; the script may define functions
 * that startPage of page.js calls. */
struct strobe_page_source {
    const char *style, *script;
};

/* The same with more of the viewer. */
enum strobe_status strobe_page_write_with(struct strobe_outfile *out, const char *title,
                                          const struct strobe_page_part *parts, size_t count,
                                          const struct strobe_page_source *more);

/* Appends JSON as the content of a script element: without blanks between values, with the escapes above. */
void strobe_page_json(struct strobe_outfile *out, const char *json, size_t bytes);

#endif
