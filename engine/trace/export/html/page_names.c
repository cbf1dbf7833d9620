#include "engine/trace/export/html/page_names.h"

#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES_MOST = 512, NAME_BYTES_LEAST = 32, NAMES_BYTES_MOST = 1000000 };

uint32_t strobe_page_name(struct strobe_page_names *n, uint32_t id, const char *text, const char *image,
                          enum strobe_slice_class class)
{
    if (!strobe_array_reserve_zeroed(&n->numbers, &n->number_room, (size_t)id + 1) ||
        !strobe_array_reserve(&n->names, &n->room, n->count + 1)) {
        n->failed = 1;
        return 0;
    }
    if (!n->numbers[id]) {
        n->names[n->count++] = (struct strobe_page_name){text, image, class};
        n->numbers[id] = (uint32_t)n->count;
    }
    return n->numbers[id] - 1;
}

/* Returns the largest length, halved from NAME_BYTES_MOST on, at which all texts together are short enough. */
static size_t limit_of_names(const struct strobe_page_names *n)
{
    size_t limit = NAME_BYTES_MOST;
    for (;; limit /= 2) {
        size_t bytes = 0;
        for (size_t i = 0; i < n->count; i++)
            bytes += strnlen(n->names[i].text, limit);
        if (bytes <= NAMES_BYTES_MOST || limit <= NAME_BYTES_LEAST)
            return limit;
    }
}

/* Writes a text, cut between two characters. */
static void write_cut_name(struct strobe_json *j, const char *text, size_t limit)
{
    static const char more[] = "\xe2\x80\xa6";
    char cut[NAME_BYTES_MOST + sizeof more];
    size_t bytes = strnlen(text, limit + 1);
    if (bytes <= limit) {
        strobe_json_text(j, NULL, text);
        return;
    }
    for (bytes = limit; bytes && ((unsigned char)text[bytes] & 0xc0) == 0x80;)
        bytes--;
    memcpy(cut, text, bytes);
    memcpy(cut + bytes, more, sizeof more);
    strobe_json_text(j, NULL, cut);
}

void strobe_page_names_write(struct strobe_page_names *n, const char *key, struct strobe_json *j)
{
    struct strobe_text_pool images = {0};
    size_t limit = limit_of_names(n);
    strobe_json_object(j, key);
    strobe_json_uint(j, "limit", limit);
    strobe_json_array(j, "text");
    for (size_t i = 0; i < n->count; i++)
        write_cut_name(j, n->names[i].text, limit);
    strobe_json_array_end(j);
    strobe_json_array(j, "class");
    for (size_t i = 0; i < n->count; i++)
        strobe_json_uint(j, NULL, n->names[i].class);
    strobe_json_array_end(j);
    strobe_json_array(j, "image");
    for (size_t i = 0; i < n->count; i++)
        strobe_json_uint(j, NULL, strobe_text_number(&images, n->names[i].image, strlen(n->names[i].image)));
    strobe_json_array_end(j);
    strobe_json_array(j, "images");
    for (size_t i = 0; i < images.count; i++)
        strobe_json_text(j, NULL, images.texts[i]);
    strobe_json_array_end(j);
    strobe_json_object_end(j);
    n->failed |= images.failed;
    strobe_text_pool_free(&images);
}

void strobe_page_names_free(struct strobe_page_names *n)
{
    free(n->names);
    free(n->numbers);
    *n = (struct strobe_page_names){0};
}
