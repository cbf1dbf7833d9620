/* From Matrix's method log to the stack that its reports show: entries in order become calls, calls of one method are
 * put together, the list is trimmed to what matters, and a key is picked by which reports of one cause can be counted.
 *
 * A stack is a list of items in the order in which a walk over the call tree meets them, a caller before what it
 * called: how deep (0 = outermost), which method, how many calls, how many ms in all.
 *
 * Two contracts:
 *
 *   DOCUMENTED   what the design says.
 *     - An exit closes the innermost open call of its method. Calls above it were left by an exception and end with
 *       it. An exit of a method that isn't open is dropped.
 *     - A message handed out within another is a call like others.
 *     - What is open at the end ends there.
 *     - Calls of one method by one caller are one item, at the place of the first; the outermost calls stay apart.
 *     - Trimming never takes an item away under which others stay.
 *     - A clock that went back gives a duration of 0.
 *   UPSTREAM     what Matrix's own parser makes of it, bit for bit (TraceDataUtils): for captures of the field, and
 *     to tell its defects from the app's. Each of these is a test of ours (tests/unit/import/test_matrix_stack.c):
 *     - Calls that were left by an exception are missing.
 *     - An exit that matches nothing is taken for the outermost open method's, unless that is the message: an item of
 *       the exit's id from then on, and all that was open is forgotten.
 *     - The begin of a message sets the depth to 0, so that one within another leaves the outer one's depth negative,
 *       and a list whose newest item isn't at depth 0 is thrown away whole.
 *     - One duration below 0 throws all away.
 *     - Items are put together when one exit comes after the other at equal depths; a duration of exactly 5000 is
 *       taken for that of the calls before. Sums and durations are of 32 bits and wrap.
 *     - What is open at the end is dropped unless parsing is strict; its callees are then of no caller, and depths
 *       jump. Items to which a jump leaves no caller get lost, or a caller that isn't theirs.
 *     - Trimming goes by duration alone, and leaves items without their callers.
 *
 * Strict: what comes before the first begin of a message is skipped.
 *
 * Source: Tencent Matrix 3b8293bd TraceDataUtils, as studied. Reading half: allocates; a builder is for one thread. */
#ifndef STROBE_TRACE_IMPORT_MATRIX_MATRIX_STACK_H
#define STROBE_TRACE_IMPORT_MATRIX_MATRIX_STACK_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum strobe_matrix_contract { STROBE_MATRIX_DOCUMENTED, STROBE_MATRIX_UPSTREAM };

/* `documented` or `upstream`; STROBE_NO_ENTRY: neither. */
enum strobe_status strobe_matrix_contract_of(const char *name, enum strobe_matrix_contract *out);

enum { STROBE_MATRIX_TRIM = 30 };      /* what Matrix trims to */
#define STROBE_MATRIX_NO_END INT64_MIN /* the end is the last entry's time; upstream's -1 is a time to it */

struct strobe_matrix_item {
    int32_t depth;
    uint32_t method;
    int32_t count;
    int64_t duration_ms;
};

struct strobe_matrix_stack {
    struct strobe_matrix_item *items; /* the builder's, good until it builds again */
    size_t count;
};

/* What became of the entries. */
struct strobe_matrix_stats {
    uint64_t skipped;   /* before the first message (strict) */
    uint64_t unmatched; /* exits of methods that weren't open */
    uint64_t unwound;   /* calls left by an exception */
    uint64_t open_at_end;
    uint64_t backwards; /* calls whose end is before their begin */
    bool thrown_away;   /* upstream: there were items, and it made nothing of them */
};

struct strobe_matrix_builder;

/* NULL: out of memory. */
struct strobe_matrix_builder *strobe_matrix_builder_open(enum strobe_matrix_contract contract);
void strobe_matrix_builder_close(struct strobe_matrix_builder *b); /* NULL is fine */

/* Entries (engine/method/matrix/matrix_entry.h), oldest first, and the time of the end, ms on the log's clock.
 * STROBE_IO: out of memory. `stats` may be NULL. */
enum strobe_status strobe_matrix_build(struct strobe_matrix_builder *b, const uint64_t *entries, size_t count,
                                       bool strict, int64_t end_ms, struct strobe_matrix_stack *out,
                                       struct strobe_matrix_stats *stats);

/* Trims to `target` items, in place: takes items of less than 5 ms away, the last first, until so few are left; then
 * those of less than 10 ms, and so on to 300 ms; if that won't do, all but the first `target` (upstream: the first
 * STROBE_MATRIX_TRIM, whatever the target). A target below 0 takes all. */
void strobe_matrix_trim(enum strobe_matrix_contract contract, struct strobe_matrix_stack *stack, int target);

/* The method to count a report of `cost_ms` by: of items that took 3/10 of it or more, the one with the largest
 * product of depth + 1 and duration, the first of equals, and not the message if there is another; if none took so
 * long, the first item. False: the stack is empty. */
bool strobe_matrix_key(enum strobe_matrix_contract contract, const struct strobe_matrix_stack *stack, int64_t cost_ms,
                       uint32_t *method);

/* "depth,method,count,ms", with `name` in place of the number if it isn't NULL. Returns the length, as snprintf. */
int strobe_matrix_line(const struct strobe_matrix_item *item, const char *name, char *line, size_t bytes);

/* The longest duration of an item, at least 0. */
int64_t strobe_matrix_longest(const struct strobe_matrix_stack *stack);

#endif
