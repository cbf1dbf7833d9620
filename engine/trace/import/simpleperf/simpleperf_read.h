/* Reads the output of `simpleperf report-sample --protobuf` as samples (cmd_report_sample.proto and
 * cmd_report_sample.cpp in system/extras/simpleperf of the Android Open Source Project).
 *
 *   "SIMPLEPERF", u16 version (1), then records: u32 bytes, and a message of type Record; 0 bytes end the file
 *
 *   Record   1 Sample, 2 LostSituation, 3 File, 4 Thread, 5 MetaInfo, 6 ContextSwitch; one of them
 *   Sample   1 time ns, 2 thread, 3 call chain entry (innermost first), 4 event count, 5 event type
 *     entry  1 address in the file, 2 file, 3 symbol (-1: none)
 *   Lost     2 number of samples that simpleperf lost
 *   File     1 id, 2 path, 3 symbols; the index of a symbol is its number
 *   Thread   1 tid, 2 pid, 3 name
 *   Meta     1 names of event types, 2 package of the app
 *   Switch   1 on, 2 time ns, 3 thread
 *
 * A sample of the selected event becomes a point: of kind CPU when the event is task-clock or cpu-clock, whose count is
 * CPU time in ns; else of kind ASYNC. A sample of sched:sched_switch is the stack with which its thread leaves its
 * processor (--trace-offcpu). Context switches give the exact CPU time of threads. A frame without a symbol is named
 * after its file and address: "libc.so+0x1234".
 *
 * The selected event is the one with most samples, without sched:sched_switch, unless `event` names one. The process
 * with most samples is imported, unless `pid` says otherwise. The rest is counted.
 *
 * A record that is damaged is left out; a length that is beyond the end of the file ends the import.
 *
 * Memory: samples_store.h, and the file's tables of files, symbols and threads. Allocates; not thread-safe. Reading
 * half only. */
#ifndef STROBE_TRACE_IMPORT_SIMPLEPERF_SIMPLEPERF_READ_H
#define STROBE_TRACE_IMPORT_SIMPLEPERF_SIMPLEPERF_READ_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/import/samples_store.h"

#include <stddef.h>
#include <stdint.h>

#define STROBE_SIMPLEPERF_MAGIC "SIMPLEPERF"
enum { STROBE_SIMPLEPERF_VERSION = 1, STROBE_SIMPLEPERF_HEADER_BYTES = 12 };

struct strobe_simpleperf_options {
    const char *event; /* NULL: the one with most samples */
    uint32_t pid;      /* 0: the process with most samples */
};

struct strobe_simpleperf_stats {
    uint64_t records, samples;              /* all records; samples of the selected event and process */
    uint64_t switches;                      /* context switches of the process */
    uint64_t other_events, other_processes; /* samples left out */
    uint64_t lost;                          /* samples that simpleperf lost */
    uint64_t damaged;                       /* records left out */
    uint64_t first_damaged;                 /* byte of the first of them */
    uint64_t tail_bytes;                    /* bytes at the end that are no complete record */
    uint64_t nameless;                      /* frames without a symbol */
    uint64_t refused;                       /* samples with a time that no clock has, left out */
    char event[64];                         /* the selected one */
};

/* Adds the samples to `out`. STROBE_TRUNCATED, STROBE_BAD_VERSION, STROBE_BAD_INPUT: `error` has the place and what was
 * expected there. STROBE_IO: out of memory. */
enum strobe_status strobe_simpleperf_read(const void *file, size_t bytes,
                                          const struct strobe_simpleperf_options *options, struct strobe_sampled *out,
                                          struct strobe_simpleperf_stats *stats, struct strobe_error *error);

#endif
