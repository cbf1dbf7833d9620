/* Reads captures of btrace 3.0 of Android (btrace3.h) as samples.
 *
 *   types                                    become
 *   BINDER WAIT PARK MONITOR GC MUTEX LOAD   a wait of the kind IPC COND PARK MONITOR GC MUTEX LOAD, when its end is
 *   POLL                                     after its begin; POLL likewise
 *   ALLOCATION                               a point of kind ALLOC
 *   FLUSH                                    a point of kind ASYNC
 *   UNPARK NOTIFY UNLOCK                     a point of kind UNLOCK at the time of the release, and the waker of a wait
 *   others                                   a point of kind JNI; of two samples when the record has an end
 *
 * Differences from upstream's converter, all intended:
 *
 *   - A method that the mapping lacks is named by its address. (Upstream aborts.)
 *   - A stack that was walked beyond its stored frames is shown as cut. (Upstream drops it.)
 *   - The waker of the main thread's wait is the last release with the wait's begin, of the type that ends such a wait,
 *     and at a time within the wait. (Upstream ignores types and times, and reads tids above 32767 as negative numbers,
 *     so that it finds no waker when the main thread's is one.)
 *   - Voluntary switches since the thread's previous record count for the wait at whose end they are known. (Upstream
 *     counts them for the next function.)
 *   - Frames whose names begin with "<runtime" are left out, as upstream does.
 *
 * Up to version 5 a tid has 16 bits: the main thread has the pid's lower 16 bits, and threads with equal lower bits
 * are one thread.
 *
 * A damaged record is left out. The reader goes on where two plausible records follow each other.
 *
 * Memory: samples_store.h, and 32 bytes for each method and for each release. Allocates; not thread-safe. Reading half
 * only. */
#ifndef STROBE_TRACE_IMPORT_BTRACE3_BTRACE3_READ_H
#define STROBE_TRACE_IMPORT_BTRACE3_BTRACE3_READ_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/import/samples_store.h"

#include <stddef.h>
#include <stdint.h>

struct strobe_btrace3_files {
    const void *sampling, *mapping; /* mapping: NULL when there is none */
    size_t sampling_bytes, mapping_bytes;
};

struct strobe_btrace3_stats {
    uint32_t version, pid;
    uint64_t records;           /* complete records, including those left out */
    uint64_t waits, wakers;     /* waits, and those with a known waker */
    uint64_t damaged;           /* places with a damaged record */
    uint64_t first_damaged;     /* byte of the first of them */
    uint64_t skipped_bytes;     /* bytes left out in damaged places */
    uint64_t tail_bytes;        /* bytes at the end that are no complete record */
    uint64_t backwards;         /* records whose end is before their begin: shown as points */
    uint64_t empty;             /* points without a stack, or with a time that no clock has: left out */
    uint64_t cut;               /* stacks with more frames than were stored */
    uint64_t releases_lost;     /* releases that no wait matches */
    uint64_t methods, nameless; /* distinct methods; those that the mapping lacks */
    uint64_t mapping_tail;      /* bytes at the end of the mapping that are no complete entry */
};

/* Adds the capture to `out`. STROBE_TRUNCATED, STROBE_BAD_INPUT, STROBE_BAD_VERSION: `error` has the place and what was
 * expected there, without the file's name; *of_mapping: it is the mapping that is meant. STROBE_IO: out of memory. */
enum strobe_status strobe_btrace3_read(const struct strobe_btrace3_files *files, struct strobe_sampled *out,
                                       struct strobe_btrace3_stats *stats, bool *of_mapping,
                                       struct strobe_error *error);

#endif
