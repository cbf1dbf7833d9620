/* What a record knows of its thread's CPU time and counters.
 *
 * Thread-safe. Reading half only. */
#ifndef STROBE_TRACE_BUILD_TIMELINE_ITEMS_H
#define STROBE_TRACE_BUILD_TIMELINE_ITEMS_H

#include "engine/trace/session/reader.h"

#include <stdint.h>

/* Whether the record knows the CPU time at its begin: cpu_ns - cpu_span_ns. */
static inline int strobe_item_knows_begin_cpu(const struct strobe_record *r)
{
    unsigned both = STROBE_FLAG_CPU | STROBE_FLAG_BEGIN_CPU;
    return (r->flags & both) == both && r->cpu_span_ns != UINT32_MAX && r->cpu_span_ns <= r->cpu_ns;
}

/* The first CPU time in ns that an item with STROBE_FLAG_CPU knows, and the time of it on the trace's clock in ns. */
void strobe_item_first_cpu(const struct strobe_reader *reader, const struct strobe_item *item, uint64_t *time_ns,
                           uint64_t *cpu_ns);

/* Counters of an item that has metrics, at its begin or at its end; `counter` is indexed by enum strobe_counter. */
void strobe_item_counters(const struct strobe_reader *reader, const struct strobe_item *item, int at_begin,
                          uint64_t *counter);

#endif
