#include "engine/trace/diff/book.h"

#include "engine/trace/model/function_tree.h"
#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

enum strobe_diff_kind strobe_diff_kind_of(enum strobe_slice_class class, const char *name)
{
    switch (class) {
    case STROBE_SLICE_WAIT: return STROBE_DIFF_WAIT;
    case STROBE_SLICE_GAP: return STROBE_DIFF_UNSEEN;
    case STROBE_SLICE_OFF_CPU:
        return strcmp(name, STROBE_OFF_CPU_TEXT) && strcmp(name, STROBE_RUNNABLE_TEXT) ? STROBE_DIFF_WAIT
                                                                                       : STROBE_DIFF_OFF;
    default: return STROBE_DIFF_FUNCTION;
    }
}

static const char *last_part_of_image(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

uint32_t strobe_diff_book_method(struct strobe_diff_book *b, const char *name, const char *image,
                                 enum strobe_diff_kind kind)
{
    const char *file = b->names_only ? "" : last_part_of_image(image);
    uint32_t name_text = strobe_text_number(&b->texts, name, strlen(name));
    uint32_t file_text = strobe_text_number(&b->texts, file, strlen(file));
    int fresh = 0;
    uint32_t *place =
        b->texts.failed ? NULL : strobe_idmap_put(&b->by_name, name_text, (uint64_t)file_text << 8 | kind, &fresh);
    if (place && !fresh)
        return *place;
    if (!place || !strobe_array_reserve(&b->methods, &b->method_room, b->method_count + 1)) {
        b->failed = 1;
        return 0;
    }
    b->methods[b->method_count] =
        (struct strobe_diff_method){b->texts.texts[name_text], b->texts.texts[file_text], kind};
    return *place = b->method_count++;
}

/* Adds a path at the end of the list. */
static uint32_t append_diff_path(struct strobe_diff_book *b, struct strobe_diff_path path)
{
    if (!strobe_array_reserve(&b->paths, &b->path_room, b->path_count + 1)) {
        b->failed = 1;
        return 0;
    }
    b->paths[b->path_count] = path;
    return b->path_count++;
}

uint32_t strobe_diff_book_path(struct strobe_diff_book *b, uint32_t parent, uint32_t method)
{
    int fresh = 0;
    if (!b->path_count)
        append_diff_path(b, (struct strobe_diff_path){0});
    uint32_t *place = b->failed ? NULL : strobe_idmap_put(&b->by_step, parent, method, &fresh);
    if (!place) {
        b->failed = 1;
        return 0;
    }
    if (!fresh)
        return *place;
    uint32_t number = b->path_count, outer = b->paths[parent].wait;
    int is_wait = b->methods[method].kind == STROBE_DIFF_WAIT;
    return *place = append_diff_path(b, (struct strobe_diff_path){parent, method,
                                                                  outer     ? outer
                                                                  : is_wait ? number
                                                                            : 0});
}

void strobe_diff_book_free(struct strobe_diff_book *b)
{
    free(b->methods);
    free(b->paths);
    strobe_text_pool_free(&b->texts);
    strobe_text_pool_free(&b->sections);
    strobe_idmap_free(&b->by_name);
    strobe_idmap_free(&b->by_step);
    *b = (struct strobe_diff_book){0};
}
