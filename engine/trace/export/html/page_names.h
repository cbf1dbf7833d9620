/* The names of a page: of functions, waits and other slices. Each is once in the page; its data refer to a name by its
 * number. Zeroed memory has no names. Reading half: allocates. One thread at a time. */
#ifndef STROBE_TRACE_EXPORT_HTML_PAGE_NAMES_H
#define STROBE_TRACE_EXPORT_HTML_PAGE_NAMES_H

#include "engine/trace/model/sink.h"
#include "engine/util/json.h"
#include "engine/util/text_pool.h"

#include <stddef.h>
#include <stdint.h>

struct strobe_page_name {
    const char *text, *image;
    enum strobe_slice_class class;
};

struct strobe_page_names {
    struct strobe_page_name *names;
    size_t count, room;
    uint32_t *numbers; /* by the caller's id: number + 1, or 0 */
    size_t number_room;
    int failed; /* memory ran out */
};

/* Returns the number of the name with the caller's `id`, which is dense from 0. Texts must outlive the names. 0 when
 * memory runs out. */
uint32_t strobe_page_name(struct strobe_page_names *names, uint32_t id, const char *text, const char *image,
                          enum strobe_slice_class class);

/* Writes {"limit", "text": [...], "class": [...], "image": [...], "images": [...]}, by number. `image` holds indices of
 * `images`. Texts longer than `limit` bytes are cut and end with U+2026. The limit is 512, or less when all texts
 * together have more than a million bytes. Sets `failed` when memory runs out. */
void strobe_page_names_write(struct strobe_page_names *names, const char *key, struct strobe_json *j);

void strobe_page_names_free(struct strobe_page_names *names);

#endif
