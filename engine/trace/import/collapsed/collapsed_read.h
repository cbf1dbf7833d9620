/* Reads collapsed stacks as samples: the text that stackcollapse programs write for flame graphs (Brendan Gregg,
 * FlameGraph, README, "stack samples").
 *
 *   a;b;c 12      the stack a, b, c, outermost first, with the weight 12, a whole number
 *   # ...         a comment
 *
 * Such a text has no times. Each thread's stacks are shown in the order of the text, one directly after the other, each
 * for its weight times `unit_ns`; each thread begins at 0. A stack of weight w is w samples. When the text has more
 * than STROBE_COLLAPSED_SAMPLES_MAX in all, one sample stands for several units of weight. The samples are points of
 * kind CLOCK, so that a stack lasts exactly for its weight.
 *
 * Threads, by `threads`:
 *
 *   FIRST   the first frame is the thread's name
 *   NONE    the text is of one thread
 *   AUTO    FIRST if the first frames of all lines have a known form, else NONE
 *
 * Known forms are NAME-PID/TID and NAME-TID (stackcollapse-perf.pl --tid and --pid) and [NAME tid=TID]
 * (async-profiler). A thread's tid is the one in its name, else a number from 1 on.
 *
 * Lines that have no weight, or no frame, are left out and counted.
 *
 * Memory: samples_store.h. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_COLLAPSED_COLLAPSED_READ_H
#define STROBE_TRACE_IMPORT_COLLAPSED_COLLAPSED_READ_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/import/samples_store.h"

#include <stddef.h>
#include <stdint.h>

enum { STROBE_COLLAPSED_SAMPLES_MAX = 1 << 20 };

enum strobe_collapsed_threads { STROBE_COLLAPSED_AUTO, STROBE_COLLAPSED_FIRST, STROBE_COLLAPSED_NONE };

struct strobe_collapsed_options {
    uint64_t unit_ns; /* time of the weight 1; at least 1 */
    enum strobe_collapsed_threads threads;
};

struct strobe_collapsed_stats {
    uint64_t lines, stacks; /* all lines; lines with a stack */
    uint64_t weight;        /* sum of the weights */
    uint64_t per_sample;    /* weight for which one sample stands */
    uint64_t unknown;       /* lines left out: not of the form above, or beyond the longest time of a session */
    uint64_t first_unknown; /* line of the first of them */
};

/* Adds the stacks to `out`. STROBE_BAD_INPUT: no line has a stack; `error` says what was expected. STROBE_IO: out of
 * memory. */
enum strobe_status strobe_collapsed_read(const char *text, size_t bytes, const struct strobe_collapsed_options *options,
                                         struct strobe_sampled *out, struct strobe_collapsed_stats *stats,
                                         struct strobe_error *error);

#endif
