/* Writes the scheduling that a session holds (sched_section.h) to a Perfetto trace, as events of ftrace:
 *
 *   sched_switch   from the idle task to a thread that gets a processor, and from a thread that leaves it to the idle
 *                  task. What other tasks run in between is not recorded, so the processor is shown as idle
 *   sched_waking   of a thread by its waker
 *   task_rename    the name of a waker of another process, before its first wake-up
 *
 * Priorities are not recorded. Threads that the session does not list, such as the engine's own, are left out. Not
 * thread-safe; allocates. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_PERFETTO_SCHED_H
#define STROBE_TRACE_EXPORT_PERFETTO_SCHED_H

#include "engine/trace/export/packets.h"
#include "engine/trace/session/reader.h"

/* Events with from_ns <= time < to_ns, of CLOCK_BOOTTIME. */
struct strobe_perfetto_sched_part {
    uint64_t from_ns, to_ns;
};

struct strobe_perfetto_sched_written {
    uint64_t switches, wakings;
};

/* Writes the packets, which all have `sequence`. Returns 0 when memory ran out. */
int strobe_perfetto_sched(struct strobe_packets *packets, uint32_t sequence, const struct strobe_reader *reader,
                          struct strobe_perfetto_sched_part part, struct strobe_perfetto_sched_written *written);

#endif
