/* Reads XML that Instruments exports of a table of CPU samples as samples:
 *
 *   xcrun xctrace export --input x.trace --xpath '/trace-toc/run/data/table[@schema="time-profile"]'
 *
 *   <trace-query-result><node><schema name="time-profile">...</schema>
 *     <row>
 *       <sample-time>ns since the recording began</sample-time>
 *       <thread fmt="Main Thread 0x12aa (app, pid: 581)"><tid>4778</tid><process fmt="app
 * (581)"><pid>581</pid></process>
 *       </thread> <process/> <core/>
 *       <thread-state>Running</thread-state>
 *       <weight>ns for which the sample stands</weight>
 *       <backtrace>                                                or <sentinel/>: the stack is not known
 *         <frame name="f" addr="0x1f"><binary name="app" path="/x/app" UUID="..." load-addr="0x10"/></frame>  innermost
 *         ...
 *
 * An element with an attribute id="N" is defined by it. Later, an empty element with ref="N" stands for it. Elements in
 * other elements have ids of their own. From Xcode 26 on the stack is in an element tagged-backtrace, around the
 * element backtrace or (Xcode 27) instead of it. The schema cpu-profile has cycle-weight, in cycles, instead of weight.
 *
 * A row becomes a point: of kind CPU when its thread was running and its weight is a time, which adds up to the
 * thread's CPU time; else of kind ASYNC. A frame whose name is its address is named after its binary and its place
 * there: "app+0x1f". The process with most rows is imported, unless `pid` says otherwise. Rows of other tables and of
 * other processes are left out and counted.
 *
 * A file that is cut off or damaged is read up to the fault. A file with a document type declaration is refused:
 * exports have none, and its entities could expand without bound.
 *
 * Sources: exports as described in public documents (sundresh/WindowsProfilingTools, InstrumentsTraceXML.md) and as
 * Perfetto's trace processor reads them (importers/instruments). The XML is read by expat.
 *
 * Memory: samples_store.h, and the ids of the file. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_INSTRUMENTS_INSTRUMENTS_READ_H
#define STROBE_TRACE_IMPORT_INSTRUMENTS_INSTRUMENTS_READ_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/import/samples_store.h"

#include <stddef.h>
#include <stdint.h>

struct strobe_instruments_options {
    uint32_t pid; /* 0: the process with most rows */
};

struct strobe_instruments_stats {
    uint64_t rows;            /* of the imported process, with a stack */
    uint64_t other_processes; /* rows left out */
    uint64_t other_tables;    /* rows left out */
    uint64_t without_stack;   /* rows left out */
    uint64_t damaged;         /* rows left out: without a time or a thread, or with a time that no clock has */
    uint64_t undefined;       /* references to elements that are not defined */
    uint64_t fault_line;      /* line at which the XML is damaged or cut off; 0 = it is whole */
    uint32_t pid;
};

/* Adds the samples to `out`. STROBE_BAD_INPUT: `error` has the place and what was expected there. STROBE_IO: out of
 * memory. */
enum strobe_status strobe_instruments_read(const void *file, size_t bytes,
                                           const struct strobe_instruments_options *options, struct strobe_sampled *out,
                                           struct strobe_instruments_stats *stats, struct strobe_error *error);

#endif
