/* Reads profiles of Firefox's profiler as samples (firefox-devtools/profiler,
 * docs-developer/processed-profile-format.md and gecko-profile-format.md): the processed format, which the profiler's
 * page saves, and the raw format of Gecko.
 *
 *   meta     interval ms, product, sampleUnits.threadCPUDelta ("ns", "us"; else CPU time is not known)
 *   libs     name, path: images, by resourceTable.lib of a function's resource
 *   threads  name, pid, tid, isMainThread
 *     samples      stack; time or timeDeltas, in ms; threadCPUDelta
 *     stackTable   frame, prefix: a stack is a frame below another stack
 *     frameTable   func; in the raw format location, which is a name
 *     funcTable    name, resource
 *     stringArray  (raw: stringTable)
 *     markers      name, startTime, endTime, phase
 *   shared   tables that threads have in common
 *   processes        further profiles, in the raw format
 *
 * In the raw format a table is {"schema": {"stack": 0, ...}, "data": [[...], ...]}, else it is a column for each field.
 *
 * A sample becomes a point of kind ASYNC, with the thread's CPU time where it is known. A sample without a stack is
 * left out. A marker with a begin and an end becomes a section of its thread; others are counted. Of several processes,
 * the one with most threads that have samples is imported, unless `pid` says otherwise.
 *
 * Of a text that is cut, what precedes the cut is read.
 *
 * Memory: samples_store.h, and the tables of one thread. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_GECKO_GECKO_READ_H
#define STROBE_TRACE_IMPORT_GECKO_GECKO_READ_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/import/samples_store.h"

#include <stddef.h>
#include <stdint.h>

struct strobe_gecko_options {
    uint32_t pid; /* 0: the process with most threads */
};

struct strobe_gecko_stats {
    uint64_t samples;
    uint64_t threads;         /* of the process */
    uint64_t other_processes; /* threads of other processes, left out */
    uint64_t sections;        /* markers with a begin and an end */
    uint64_t other_markers;   /* other markers, left out */
    uint64_t without_stack;   /* samples without a stack, left out */
    uint64_t damaged;         /* samples and markers whose values are out of range, left out */
    uint64_t damaged_threads; /* threads whose tables are damaged or missing, left out */
    uint64_t cut_at;          /* byte at which the text ends within the profile; 0 = it is whole */
    bool raw;                 /* Gecko's own format */
};

/* Adds the samples to `out`. STROBE_BAD_INPUT: the text is no profile; `error` has the place and what was expected
 * there. STROBE_IO: out of memory. */
enum strobe_status strobe_gecko_read(const char *text, size_t bytes, const struct strobe_gecko_options *options,
                                     struct strobe_sampled *out, struct strobe_gecko_stats *stats,
                                     struct strobe_error *error);

#endif
