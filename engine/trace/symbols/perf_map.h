/* Reads a perf map, the text file /tmp/perf-PID.map in which a process lists the machine code that it generates:
 *
 *     7f0312a04b40 1c8 JS:*digest /srv/app.js:12:17          start and bytes, both hexadecimal, and a name
 *
 * The name is the rest of the line. 0x before a number is accepted. The file has no times: where ranges overlap, the
 * later line is valid. Format: Linux, tools/perf/Documentation/jit-interface.txt. Writers: node --perf-basic-prof,
 * CPython 3.12 with PYTHONPERFSUPPORT=1, .NET with DOTNET_PerfMapEnabled=1, Java with -XX:+DumpPerfMapAtExit.
 *
 * Reading half: allocates. Safe for any input. */
#ifndef STROBE_TRACE_SYMBOLS_PERF_MAP_H
#define STROBE_TRACE_SYMBOLS_PERF_MAP_H

#include "engine/trace/symbols/code_list.h"

/* Appends the names of a perf map to `out`, which is zeroed or already has names. Names point into `text`. A malformed
 * line is counted in out->bad; an empty line is skipped. STROBE_IO: out of memory. */
enum strobe_status strobe_perf_map_read(const char *text, size_t bytes, struct strobe_code_list *out);

#endif
