/* Perfetto traces as inputs of a merge: what they contain is scanned once, then their packets are copied.
 *
 * The scan finds the ids of sequences and tracks, so that new ones differ; snapshots of clocks; the kernel's version;
 * and scheduling events, for the states of threads. Packets are copied as they are. When another input has used the
 * same sequence ids, packets get other ids, and are otherwise the same; compressed packets are then written
 * uncompressed.
 *
 * Between two snapshots of clocks a trace is one part. Readers of traces take no clock that goes back, so parts of
 * several inputs are written in the order of their snapshots.
 *
 * Memory: ids and snapshots; of a mapped file only what is being read. Allocates; not thread-safe. Reading half only.
 */
#ifndef STROBE_TRACE_MERGE_MERGE_PACKETS_H
#define STROBE_TRACE_MERGE_MERGE_PACKETS_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/model/sched_states.h"
#include "engine/util/idmap.h"
#include "engine/util/outfile.h"
#include "engine/util/whole_file.h"

/* A part of a trace, which begins with a snapshot of clocks. */
struct strobe_merge_part {
    uint64_t offset; /* in the file */
    uint64_t boot_ns;
};

/* Times of one snapshot; 0 = not in it. */
struct strobe_merge_clocks {
    uint64_t boot_ns, mono_ns, real_ns;
};

struct strobe_merge_packets {
    struct strobe_whole_file file;
    struct strobe_merge_part *parts;
    size_t part_count, part_room;
    size_t next_part; /* to be copied */
    struct strobe_idmap sequences, tracks;
    uint64_t last_sequence;            /* of the packet scanned last */
    struct strobe_merge_clocks clocks; /* of the first snapshot with boot_ns */
    struct strobe_idmap new_sequences; /* ids in the output, of sequences that get another one */
    struct strobe_idmap running;       /* during the scan: by processor, the thread that runs */
    uint64_t packets;
    uint64_t whole_bytes; /* up to the end of the last whole packet */
    int states_of_4_14;   /* its kernel is 4.14 or later */
    int has_version;
    int failed; /* memory ran out */
};

/* Returns 1 if the file begins as a Perfetto trace does. */
int strobe_merge_is_packets(const char *at, size_t bytes);

/* Scans the file, which the caller has opened in p->file. `states` (may be NULL) gets the scheduling. STROBE_BAD_INPUT:
 * no whole packet; `error` has the place. STROBE_IO: out of memory. */
enum strobe_status strobe_merge_packets_scan(struct strobe_merge_packets *p, struct strobe_sched_states *states,
                                             struct strobe_error *error);

/* Copies the next part to `out`. Returns 0 when there was none. */
int strobe_merge_packets_copy(struct strobe_merge_packets *p, struct strobe_outfile *out);

void strobe_merge_packets_close(struct strobe_merge_packets *p);

#endif
