/* Follows a thread through its context switches: its CPU time, and samples at its stack while it is off its processor.
 * For importers of captures that have switches. Zeroed memory is a thread of which nothing is known. Not thread-safe.
 * Reading half only. */
#ifndef STROBE_TRACE_IMPORT_SAMPLES_SWITCH_H
#define STROBE_TRACE_IMPORT_SAMPLES_SWITCH_H

#include "engine/trace/import/samples_store.h"

struct strobe_switches {
    uint64_t cpu_ns;                  /* CPU time at since_ns, when `known` */
    uint64_t since_ns;                /* when it came to its processor, or left it */
    struct strobe_sampled_stack left; /* its stack when it left; id 0 = not known */
    bool known, off, preempted;
    bool gave_way; /* it gave up its processor since the caller has cleared this */
};

/* The thread leaves its processor: because other threads get it (`preempted`), or because it waits. */
void strobe_switch_out(struct strobe_switches *t, uint64_t time_ns, bool preempted, struct strobe_sampled_stack stack);

/* The thread comes to a processor. If its stack is known, adds a sample there from when it left, and one of now:
 * between the two it is shown off its processor. Returns the number of samples that were refused. */
uint64_t strobe_switch_in(struct strobe_switches *t, struct strobe_sampled *out, uint32_t thread, uint64_t time_ns);

/* Returns the thread's CPU time at the time of a sample. A thread of which nothing was known is on its processor. */
uint64_t strobe_switch_cpu(struct strobe_switches *t, uint64_t time_ns);

#endif
