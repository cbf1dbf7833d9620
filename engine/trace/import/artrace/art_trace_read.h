/* Reads method traces of Android's runtime (`.trace` of Debug.startMethodTracing and `am profile`) as calls. Sources:
 * runtime/trace.cc of ART, vm/Profile.c of Dalvik, as studied. Little-endian.
 *
 *   text     "*version", a number; lines KEY=VALUE, such as clock=dual and pid=7; "*threads", lines TID<tab>NAME;
 *            "*methods", lines ID<tab>CLASS<tab>METHOD<tab>SIGNATURE<tab>FILE; "*end"
 *   header   u32 "SLOW", u16 version, u16 bytes of the header, u64 begin us; version 3: u16 bytes of a record
 *   record   u16 tid (version 1: u8), u32 method | action, then u32 us since the begin for each clock
 *   action   the lower 2 bits: 0 the method is entered, 1 it is left, 2 an exception leaves it
 *
 * Versions 1 and 2 have one clock, version 3 has the thread's CPU time and then the wall clock, unless its records have
 * 10 bytes. A streamed trace begins with the header, whose version has 0xf0 added. Its records with tid 0 are others:
 *
 *   u16 0, u8 1, u16 bytes, a line of a method
 *   u16 0, u8 2, u16 tid, u16 bytes, the name of a thread
 *   u16 0, u8 3, u32 bytes, the text, which ends the trace
 *
 * Times are those of the wall clock where there is one. With clock=thread-cpu they are CPU times: each thread then
 * begins at the trace's begin. A method is named CLASS.METHOD SIGNATURE without a blank. One that is not in the text is
 * named "method 0x...".
 *
 * Calls are not repaired (calls_repair.h). Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_ARTRACE_ART_TRACE_READ_H
#define STROBE_TRACE_IMPORT_ARTRACE_ART_TRACE_READ_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/model/calls.h"

#include <stddef.h>

struct strobe_art_trace_stats {
    uint32_t version; /* 1 to 3 */
    bool streamed, cpu_clock;
    bool overflow;       /* the runtime's buffer was full: later calls are missing */
    uint64_t records;    /* entries and exits */
    uint64_t unknown;    /* records of an unknown action, left out */
    uint64_t tail_bytes; /* bytes at the end that are no complete record */
    uint64_t nameless;   /* methods that are not in the text */
};

/* Reads `bytes` of a trace into *out, which it opens; close it in any case. STROBE_TRUNCATED, STROBE_BAD_INPUT,
 * STROBE_BAD_VERSION: `error` has the place and what was expected there, without the file's name. STROBE_IO: out of
 * memory. */
enum strobe_status strobe_art_trace_read(const void *trace, size_t bytes, struct strobe_calls *out,
                                         struct strobe_art_trace_stats *stats, struct strobe_error *error);

#endif
