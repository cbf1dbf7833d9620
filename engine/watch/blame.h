/* The calls of the main thread that a finding may have to blame. They are kept since the begin of the outermost message
 * or idle handler. Outside of these, they are kept since the end of the last one or of the last frame.
 *
 * A stack for a finding is what strobe_matrix_build makes of the calls of a span of time, by its documented rules,
 * trimmed to 30 items, in ms. A call that covers the whole span is left out. A call that begins or ends within the span
 * is cut to it. The outermost item is the root: the message, the handler or the frame. Nested messages count as calls.
 * A call with the root's name and the span's length is the root itself and is not repeated.
 *
 * When there are more than a million entries and exits, calls shorter than 1 ms are discarded, then calls shorter than
 * 2 ms, 4 ms and so on, until half of the capacity is free. A stack made after that states so.
 *
 * Not thread-safe; reading half only. */
#ifndef STROBE_WATCH_BLAME_H
#define STROBE_WATCH_BLAME_H

#include "engine/trace/import/matrix/matrix.h"
#include "engine/util/text_pool.h"
#include "engine/watch/watch.h"

struct strobe_blame_entry;
struct strobe_blame_known {
    const char *text;
    uint32_t method;
};

struct strobe_blame {
    struct strobe_text_pool methods;      /* the id of a method is its number + 1 */
    struct strobe_blame_known known[256]; /* cache by address of the text: the method of the last text there */
    struct strobe_blame_entry *entries;
    size_t count, room;
    struct strobe_blame_entry *open; /* open calls, outermost first */
    size_t depth, open_room;
    size_t too_deep;                 /* open calls beyond the maximum depth */
    struct strobe_blame_entry *walk; /* for walking back: calls that were open at some time */
    size_t walk_room;
    uint32_t spans;                 /* open messages and idle handlers */
    size_t span_depth[32];          /* calls open at the begin of each span; a span ends all calls that began after
                                       it */
    uint64_t given_up_ns, given_up; /* calls shorter than given_up_ns were discarded in this span; their number */
    struct strobe_matrix_builder *builder;
    uint64_t *packed;
    size_t packed_room;
    char *text;
    size_t text_room;
    char blamed[1024]; /* a method and the wait that it called */
    bool failed;       /* out of memory */
};

/* The calls of a span. Texts are valid until the next strobe_blame_stack. */
struct strobe_blamed {
    const char *stack;   /* lines of "depth,method,count,ms"; "" = the capture has no call within the span */
    const char *method;  /* the method to blame, or ""; of a wait "METHOD in [sem wait]" */
    uint64_t longest_ns; /* longest item, to the ms */
    uint64_t given_up, given_up_ns;
};

/* Opens an empty record of calls. b->failed is set when memory runs out, here or later. The caller closes it in any
 * case. */
void strobe_blame_open(struct strobe_blame *b);
void strobe_blame_close(struct strobe_blame *b);

/* strobe_watch_all calls these before and after it passes an event to the watchers. */
void strobe_blame_before(struct strobe_blame *b, const struct strobe_watch_event *e);
void strobe_blame_after(struct strobe_blame *b, const struct strobe_watch_event *e);

/* Returns the calls from begin_ns to end_ns (times of the stream), below the root named `root`. Returns empty texts
 * when the capture has no call in that span, or memory runs out. */
struct strobe_blamed strobe_blame_stack(struct strobe_blame *b, const char *root, uint64_t begin_ns, uint64_t end_ns);

#endif
