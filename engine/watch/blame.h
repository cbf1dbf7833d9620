/* The calls of the main thread, kept as long as a finding may want to blame them: since the outermost message or idle
 * handler began, or, outside, since the last one or the last frame ended.
 *
 * A stack is what strobe_matrix_build's documented contract makes of the calls of a span of time, trimmed to 30 items,
 * in ms. Calls that were there before the span and after it are around it, and left out; those that reach into it are
 * cut to it. The outermost item is the root: the message, the handler, the frame. Nested messages are calls; a call
 * that is the root by another telling, of its name and as long as the span, is not told twice.
 *
 * When there are too many calls to keep (a million entries and exits), those shorter than 1 ms are given up, then than
 * 2, 4, ... until half of the room is free; a stack made afterwards says so.
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
    struct strobe_text_pool methods;      /* a method's id is its number + 1 */
    struct strobe_blame_known known[256]; /* by address of the text: what it was last */
    struct strobe_blame_entry *entries;
    size_t count, room;
    struct strobe_blame_entry *open; /* calls that go on, outermost first */
    size_t depth, open_room;
    size_t too_deep;                 /* calls above that */
    struct strobe_blame_entry *walk; /* for looking back: calls that went on at some time */
    size_t walk_room;
    uint32_t spans;                 /* messages and idle handlers that go on; how many calls did at */
    size_t span_depth[32];          /* the begin of each, which can't outlive those that began later */
    uint64_t given_up_ns, given_up; /* calls shorter than this were given up in this span; how many */
    struct strobe_matrix_builder *builder;
    uint64_t *packed;
    size_t packed_room;
    char *text;
    size_t text_room;
    bool failed; /* out of memory */
};

/* What a span's calls came to. Texts are good until the next stack. */
struct strobe_blamed {
    const char *stack;   /* lines of "depth,method,count,ms"; "" = no call was told within it */
    const char *method;  /* the one to blame: the key's, or "" */
    uint64_t longest_ns; /* of the items, to the ms */
    uint64_t given_up, given_up_ns;
};

void strobe_blame_open(struct strobe_blame *b);
void strobe_blame_close(struct strobe_blame *b);

/* Before and after the watchers are told an event. */
void strobe_blame_before(struct strobe_blame *b, const struct strobe_watch_event *e);
void strobe_blame_after(struct strobe_blame *b, const struct strobe_watch_event *e);

struct strobe_blamed strobe_blame_stack(struct strobe_blame *b, const char *root, uint64_t begin_ns, uint64_t end_ns);

#endif
