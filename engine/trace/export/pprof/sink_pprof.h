/* A sink that writes a profile of pprof, gzip-compressed (profile.proto of https://github.com/google/pprof, in its
 * directory proto). A sample is a call path of a thread, with these values:
 *
 *   samples/count            samples taken there
 *   cpu/nanoseconds          CPU time
 *   wall/nanoseconds         elapsed time
 *   off-cpu/nanoseconds      elapsed time without CPU time: waits, and time without a processor
 *   alloc_space/bytes        allocated bytes (allocations.h)
 *
 * and the labels `thread` and `tid`; with several processes also `process` and `pid`. A location is a function: it has
 * the function's address, its mapping with the build id, and the line where the function begins if that is known.
 *
 * Samples are written when their thread ends. Memory is one thread's paths, and the tables of names. Reading half
 * only. */
#ifndef STROBE_TRACE_EXPORT_PPROF_SINK_PPROF_H
#define STROBE_TRACE_EXPORT_PPROF_SINK_PPROF_H

#include "engine/trace/model/sink.h"
#include "engine/util/outfile.h"

/* Returns the sink. Allocations count from `from_ns` to `to_ns` since the session's begin (UINT64_MAX: to its end). It
 * does not close `out`. NULL: out of memory. */
struct strobe_sink *strobe_sink_pprof(struct strobe_outfile *out, uint64_t from_ns, uint64_t to_ns);

#endif
