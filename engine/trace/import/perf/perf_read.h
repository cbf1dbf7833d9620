/* Reads the text of `perf script` as samples (perf-script(1); tools/perf/builtin-script.c of Linux 6.1).
 *
 *   comm  pid/tid [cpu] time: period event: ip symbol+offset (dso)      a sample; without a call chain
 *   comm  tid [cpu] time: period event:                                 a sample, with its call chain below it:
 *   <tab> ip symbol+offset (dso)                                        a frame, innermost first
 *
 * Each field may be missing (option -F). A comm may contain blanks. Other text behind the event, and lines of sources,
 * are ignored. Without times, samples are an interval apart, each thread from 0 on.
 *
 *   what                                        becomes
 *   a sample of the selected event              a point of kind CPU when the event is task-clock or cpu-clock and
 *                                               periods are known: the periods are the thread's CPU time. Else of
 *                                               kind ASYNC, without a CPU time
 *   a symbol, with its dso                      a function in the image of that path. "[unknown]" becomes "[libc.so.6]"
 *   sched:sched_switch with a call chain        a sample at the thread's stack when it left its processor, and one when
 *                                               it came back: between them it is off the processor
 *   PERF_RECORD_SWITCH (--show-switch-events)   with the above, the exact CPU time of threads
 *   PERF_RECORD_COMM, EXIT (--show-task-events) names and ends of threads
 *
 * The selected event is the one with most samples, unless `event` names one: as the text has it, or without the
 * modifiers behind its colon. Samples of other events are left out and counted. Where lines have pid/tid, the process
 * with most samples is imported, unless `pid` says otherwise; samples of other processes are counted.
 *
 * Memory: samples_store.h. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_PERF_PERF_READ_H
#define STROBE_TRACE_IMPORT_PERF_PERF_READ_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/import/samples_store.h"

#include <stddef.h>
#include <stdint.h>

struct strobe_perf_options {
    const char *event;    /* NULL: the one with most samples */
    uint32_t pid;         /* 0: the process with most samples */
    uint64_t interval_ns; /* between samples of a text without times */
};

struct strobe_perf_stats {
    uint64_t lines, samples;                /* all lines; samples of the selected event and process */
    uint64_t switches;                      /* context switches of the process */
    uint64_t other_events, other_processes; /* samples left out */
    uint64_t lost;                          /* samples that perf itself lost */
    uint64_t without_time;                  /* 1: times are made up */
    uint64_t records;                       /* other lines of perf records, left out */
    uint64_t unknown;                       /* lines not understood, left out */
    uint64_t first_unknown;                 /* line of the first of them */
    uint64_t refused;                       /* samples with a time that no clock has, left out */
    char event[64];                         /* the selected one */
};

/* Adds the samples to `out`. STROBE_BAD_INPUT: the text has no sample, or none of the selected event or process;
 * `error` says what was expected. STROBE_IO: out of memory. */
enum strobe_status strobe_perf_read(const char *text, size_t bytes, const struct strobe_perf_options *options,
                                    struct strobe_sampled *out, struct strobe_perf_stats *stats,
                                    struct strobe_error *error);

#endif
