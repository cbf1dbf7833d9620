/* What the captures of a comparison have in common: methods by name and image, call paths by methods, sections by name.
 * Addresses do not matter: they differ from run to run, and from build to build.
 *
 * Numbers are dense from 0. Path 0 is the root and has no method; the parent of a path has a smaller number. Zeroed
 * memory is an empty book. Reading half only: allocates. One thread at a time. */
#ifndef STROBE_TRACE_DIFF_BOOK_H
#define STROBE_TRACE_DIFF_BOOK_H

#include "engine/trace/model/sink.h"
#include "engine/util/idmap.h"
#include "engine/util/text_pool.h"

#include <stddef.h>
#include <stdint.h>

enum strobe_diff_kind {
    STROBE_DIFF_FUNCTION,
    STROBE_DIFF_WAIT,   /* a blocking call, also one that only the sampler saw */
    STROBE_DIFF_OFF,    /* off the processor elsewhere */
    STROBE_DIFF_UNSEEN, /* no sample */
};

struct strobe_diff_method {
    const char *name, *image; /* image: the last part of its file's path; "" = unknown */
    enum strobe_diff_kind kind;
};

struct strobe_diff_path {
    uint32_t parent, method;
    uint32_t wait; /* the outermost wait on the path; 0 = none */
};

struct strobe_diff_book {
    struct strobe_text_pool texts;
    struct strobe_diff_method *methods;
    uint32_t method_count, method_room;
    struct strobe_diff_path *paths;
    uint32_t path_count, path_room;
    struct strobe_text_pool sections; /* names; their numbers are those of sections */
    struct strobe_idmap by_name, by_step;
    int names_only; /* leave images out: a capture does not have them */
    int failed;     /* out of memory; numbers returned since then may be 0 */
};

/* Returns the kind of a slice. Time off the processor with the name of a system call is a wait. */
enum strobe_diff_kind strobe_diff_kind_of(enum strobe_slice_class class, const char *name);

/* Returns the number of a method. `image` is a path or "". */
uint32_t strobe_diff_book_method(struct strobe_diff_book *book, const char *name, const char *image,
                                 enum strobe_diff_kind kind);

/* Returns the path of `method` called on path `parent`. */
uint32_t strobe_diff_book_path(struct strobe_diff_book *book, uint32_t parent, uint32_t method);

void strobe_diff_book_free(struct strobe_diff_book *book);

#endif
