/* The CPU time and counters of its thread that a record contains.
 *
 * Thread-safe. Reading half only. */
#ifndef STROBE_TRACE_BUILD_TIMELINE_ITEMS_H
#define STROBE_TRACE_BUILD_TIMELINE_ITEMS_H

#include "engine/trace/session/reader.h"

#include <stdint.h>

/* Returns 1 if the record contains the CPU time at its begin, which is cpu_ns - cpu_span_ns. */
static inline int strobe_item_knows_begin_cpu(const struct strobe_record *r)
{
    unsigned both = STROBE_FLAG_CPU | STROBE_FLAG_BEGIN_CPU;
    return (r->flags & both) == both && r->cpu_span_ns != UINT32_MAX && r->cpu_span_ns <= r->cpu_ns;
}

/* Returns the first CPU time in ns that an item with STROBE_FLAG_CPU contains, and its time on the trace's clock in
 * ns. */
void strobe_item_first_cpu(const struct strobe_reader *reader, const struct strobe_item *item, uint64_t *time_ns,
                           uint64_t *cpu_ns);

/* Returns the counters of an item with metrics, at its begin or at its end. `counter` is indexed by enum
 * strobe_counter. */
void strobe_item_counters(const struct strobe_reader *reader, const struct strobe_item *item, int at_begin,
                          uint64_t *counter);

#endif
