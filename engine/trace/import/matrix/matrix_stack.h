/* Makes, from Matrix's method log, the stack that Matrix's reports show. Entries become calls, calls of one method are
 * merged, the list is trimmed, and a key is selected, by which reports with one cause can be counted.
 *
 * A stack is a list of items in depth-first order of the call tree, callers before callees: depth (0 = outermost),
 * method, number of calls, total ms.
 *
 * Two contracts:
 *
 *   DOCUMENTED   the design of Matrix.
 *     - An exit closes the innermost open call of its method. Calls above it were left by an exception and end with
 *       it. An exit of a method that is not open is dropped.
 *     - A message handled within another one is an ordinary call.
 *     - Open calls end at the end.
 *     - Calls of one method by one caller are one item, at the place of the first; the outermost calls stay separate.
 *     - Trimming never removes an item with remaining callees.
 *     - A clock that went back gives a duration of 0.
 *   UPSTREAM     the result of Matrix's own parser, bit for bit (TraceDataUtils): for captures from real devices, and
 * to distinguish its defects from the app's. Each of these is tested (tests/unit/import/test_matrix_stack.c):
 *     - Calls that were left by an exception are missing.
 *     - An unmatched exit closes the outermost open method, unless that is the message. The item gets the exit's id,
 * and all open calls are dropped.
 *     - The begin of a message sets the depth to 0. A message within another therefore leaves the outer one with a
 *       negative depth. A list whose newest item is not at depth 0 is discarded completely.
 *     - One negative duration discards everything.
 *     - Items are merged when their exits are adjacent and their depths equal. A duration of exactly 5000 is replaced
 * by that of the calls before. Sums and durations have 32 bits and wrap.
 *     - Open calls at the end are dropped unless parsing is strict. Their callees then have no caller, and depths jump.
 *       Items without a caller after a jump are lost, or get a wrong caller.
 *     - Trimming considers only durations, and leaves items without their callers.
 *
 * Strict: entries before the first begin of a message are skipped.
 *
 * Source: Tencent Matrix 3b8293bd TraceDataUtils, as studied. Reading half: allocates; a builder is for one thread. */
#ifndef STROBE_TRACE_IMPORT_MATRIX_MATRIX_STACK_H
#define STROBE_TRACE_IMPORT_MATRIX_MATRIX_STACK_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum strobe_matrix_contract { STROBE_MATRIX_DOCUMENTED, STROBE_MATRIX_UPSTREAM };

/* Parses `documented` or `upstream`. STROBE_NO_ENTRY: any other name. */
enum strobe_status strobe_matrix_contract_of(const char *name, enum strobe_matrix_contract *out);

enum { STROBE_MATRIX_TRIM = 30 };      /* the target of Matrix */
#define STROBE_MATRIX_NO_END INT64_MIN /* the end is the last entry's time; upstream treats -1 as a time */

struct strobe_matrix_item {
    int32_t depth;
    uint32_t method;
    int32_t count;
    int64_t duration_ms;
};

struct strobe_matrix_stack {
    struct strobe_matrix_item *items; /* owned by the builder; valid until it builds again */
    size_t count;
};

/* Statistics of the entries. */
struct strobe_matrix_stats {
    uint64_t skipped;   /* entries before the first message (strict) */
    uint64_t unmatched; /* exits of methods that were not open */
    uint64_t unwound;   /* calls left by an exception */
    uint64_t open_at_end;
    uint64_t backwards; /* calls whose end is before their begin */
    bool thrown_away;   /* upstream: there were items, and it discarded them */
};

struct strobe_matrix_builder;

/* Makes a builder. NULL: out of memory. */
struct strobe_matrix_builder *strobe_matrix_builder_open(enum strobe_matrix_contract contract);
void strobe_matrix_builder_close(struct strobe_matrix_builder *b); /* b may be NULL */

/* Builds the stack of entries (engine/method/matrix/matrix_entry.h), oldest first. `end_ms` is the time of the end, in
 * ms on the log's clock. STROBE_IO: out of memory. `stats` may be NULL. */
enum strobe_status strobe_matrix_build(struct strobe_matrix_builder *b, const uint64_t *entries, size_t count,
                                       bool strict, int64_t end_ms, struct strobe_matrix_stack *out,
                                       struct strobe_matrix_stats *stats);

/* Trims to `target` items, in place. Removes items of less than 5 ms, the last first, until the target is reached; then
 * items of less than 10 ms, and so on up to 300 ms. If that is not enough, keeps only the first `target` items
 * (upstream: the first STROBE_MATRIX_TRIM, whatever the target). A negative target removes all. */
void strobe_matrix_trim(enum strobe_matrix_contract contract, struct strobe_matrix_stack *stack, int target);

/* Returns in *method the method by which a report of `cost_ms` is counted. Of the items that took 3/10 of it or more,
 * it is the one with the largest product of depth + 1 and duration; the first of equal ones; and not the message if
 * there is another. If no item took so long, it is the first item. Returns false if the stack is empty. */
bool strobe_matrix_key(enum strobe_matrix_contract contract, const struct strobe_matrix_stack *stack, int64_t cost_ms,
                       uint32_t *method);

/* Prints "depth,method,count,ms", with `name` instead of the number unless it is NULL. Returns the length, as
 * snprintf. */
int strobe_matrix_line(const struct strobe_matrix_item *item, const char *name, char *line, size_t bytes);

/* Returns the longest duration of an item, at least 0. */
int64_t strobe_matrix_longest(const struct strobe_matrix_stack *stack);

#endif
