/* Reads databases of btrace 3.0 of iOS (btrace_ios.h) as samples.
 *
 *   samples                          become
 *   of the sampler                   points of kind ASYNC; successive ones of one stack as many as fit in 1 ms each
 *   memory                           points of kind ALLOC, or FREE
 *   date                             points of kind CLOCK
 *   dispatch                         points of kind UNLOCK at the source, since a message is posted
 *   lock: contention, two rows       a wait of the kind MUTEX or RWLOCK from the earlier to the later time
 *   lock: release after contention   a point of kind UNLOCK, and the waker of a wait for that lock
 *   lock: others                     a point of kind MUTEX, RWLOCK, COND or UNLOCK
 *
 * The database has no names of functions. Its images, with their UUIDs, are those of the session: `strobe symbolize
 * --dsym` gives it names. A program's file (in a directory *.app) is taken as linked for the address 0x100000000,
 * others for 0, because the database does not say.
 *
 * Differences from upstream's parser, all intended: a contended lock is a wait with its waker, not two points. A single
 * sample is shown, and so is a thread whose CPU time exceeds its elapsed time. Samples of one time are all kept. Equal
 * stacks are joined only as the capture joined them. The main thread is the recorded one, and the lowest tid only where
 * it is not recorded. An address in no image has no image. Names of threads that are missing do not end the import.
 *
 * A database is not trusted: it is read from memory, without its write-ahead log, only real tables are read, no value
 * may be longer than the file, and the steps of a query are bounded by the file's size. Rows that SQLite cannot read
 * end the table in which they are.
 *
 * Memory: samples_store.h, a copy of the file, and its stack table. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_BTRACEIOS_BTRACE_IOS_READ_H
#define STROBE_TRACE_IMPORT_BTRACEIOS_BTRACE_IOS_READ_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/import/samples_store.h"

#include <stddef.h>
#include <stdint.h>

enum { STROBE_BTRACE_IOS_LAST_TRACE = -1 };

struct strobe_btrace_ios_options {
    int32_t trace; /* trace_id, 0 to 255, or STROBE_BTRACE_IOS_LAST_TRACE */
};

struct strobe_btrace_ios_stats {
    uint32_t version, trace;
    uint64_t traces;         /* in the database */
    uint64_t rows;           /* samples read, including those left out */
    uint64_t waits, wakers;  /* waits, and those with a known waker */
    uint64_t releases_lost;  /* releases after contention that no wait matches */
    uint64_t unpaired;       /* contentions without their second row: shown as points */
    uint64_t damaged;        /* rows with a value of another type or size, or a time of no clock: left out */
    uint64_t damaged_tables; /* tables that SQLite could read in part only */
    uint64_t stackless;      /* samples whose stack is not in the table, or endless */
    uint64_t backwards;      /* intervals that end before they begin: shown as points */
    uint64_t images, nodes;  /* images; nodes of the stack table */
};

/* Adds the capture to `out`. STROBE_BAD_INPUT, STROBE_BAD_VERSION: `error` says what was expected. STROBE_IO: out of
 * memory. */
enum strobe_status strobe_btrace_ios_read(const void *file, size_t bytes,
                                          const struct strobe_btrace_ios_options *options, struct strobe_sampled *out,
                                          struct strobe_btrace_ios_stats *stats, struct strobe_error *error);

#endif
