/* Writes events of the kernel to a Perfetto trace, as ftrace records them: bundles of events for each processor,
 * names of the kernel's functions as interned texts, and the threads' processes. Field numbers are those of Perfetto's
 * protos/perfetto/trace/ftrace/ftrace_event_bundle.proto, ftrace_event.proto and ps/process_tree.proto.
 *
 *   uint8_t *event, *p = strobe_ftrace_packets_begin(w, cpu, time_ns, tid, bytes, &event);
 *   ... the message of the event at p, at most `bytes` bytes ...
 *   strobe_ftrace_packets_end(w, cpu, event, p);
 *
 * Events of one processor are written in the order of the calls. Times are in ns of CLOCK_BOOTTIME. All packets have
 * one sequence. Memory: one buffer for each processor, and the names of functions. Not thread-safe. Reading half only.
 */
#ifndef STROBE_TRACE_EXPORT_FTRACE_PACKETS_H
#define STROBE_TRACE_EXPORT_FTRACE_PACKETS_H

#include "engine/trace/export/packets.h"
#include "engine/util/text_pool.h"

enum {
    STROBE_FTRACE_BUNDLE_BYTES = 1 << 15, /* a packet ends with the event that makes it longer */
    STROBE_FTRACE_EVENT_BYTES = 1 << 17,  /* of one event's message, at most */
};

struct strobe_ftrace_packets {
    struct strobe_packets *packets;
    uint32_t sequence;
    struct strobe_ftrace_cpu *cpus; /* by number */
    size_t cpu_room;
    struct strobe_text_pool functions;
    size_t functions_written;
    int begun;
    int failed; /* memory ran out */
};

/* Sets *w up for packets of `sequence`. Close it in any case. */
void strobe_ftrace_packets_open(struct strobe_ftrace_packets *w, struct strobe_packets *packets, uint32_t sequence);

/* Writes the events that are still buffered, and frees the memory. */
void strobe_ftrace_packets_close(struct strobe_ftrace_packets *w);

/* Begins an event. Returns the place of its message, or NULL when memory ran out. `bytes` is at most
 * STROBE_FTRACE_EVENT_BYTES. */
uint8_t *strobe_ftrace_packets_begin(struct strobe_ftrace_packets *w, uint32_t cpu, uint64_t time_ns, uint32_t tid,
                                     size_t bytes, uint8_t **event);

void strobe_ftrace_packets_end(struct strobe_ftrace_packets *w, uint32_t cpu, uint8_t *event, uint8_t *p);

/* Returns the number by which events name the function; 0 when memory ran out. */
uint64_t strobe_ftrace_packets_function(struct strobe_ftrace_packets *w, const char *name, size_t bytes);

/* States that the thread belongs to process `tgid` from this time on. `name` may be "": not known. */
void strobe_ftrace_packets_thread(struct strobe_ftrace_packets *w, uint64_t time_ns, uint32_t tid, uint32_t tgid,
                                  const char *name, size_t name_bytes);

/* States a process's parent and command line. */
void strobe_ftrace_packets_process(struct strobe_ftrace_packets *w, uint64_t time_ns, uint32_t pid, uint32_t parent,
                                   const char *command, size_t command_bytes);

#endif
