/* Reads the file of a RheaTrace packet ring (engine/method/rhea/packet_ring.h) into calls of threads.
 *
 * A process that was killed, or whose log was never written, leaves such a file. The reader makes the raw log of the
 * ring, with all nine digits of each second, and reads that log with strobe_rhea_read. The file may hold anything. Not
 * thread-safe; allocates. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_RHEA_RHEA_RING_H
#define STROBE_TRACE_IMPORT_RHEA_RHEA_RING_H

#include "engine/trace/import/rhea/rhea_read.h"

struct strobe_rhea_ring_stats {
    uint64_t strange; /* entries that no capture writes: the file is damaged */
    struct strobe_rhea_read_stats log;
};

/* Returns whether a file of `bytes` begins as a ring does. */
bool strobe_rhea_ring_is(const void *file, size_t bytes);

/* Reads a ring's file of `bytes` in memory of any alignment. The caller has opened `out`, and closes it in any case.
 * `stats` is set also when the function fails. STROBE_BAD_INPUT, STROBE_TRUNCATED, STROBE_BAD_VERSION: the file is not
 * a ring that a capture wrote to; STROBE_IO: out of memory. `error` then says what was expected. */
enum strobe_status strobe_rhea_ring_read(const void *file, size_t bytes, struct strobe_calls *out,
                                         struct strobe_rhea_ring_stats *stats, struct strobe_error *error);

#endif
