/* Finds the ftrace text in files that contain it, and passes it on piece by piece:
 *
 *   text              as trace_pipe, atrace and others write it
 *   compressed text   `atrace -z`: a line "TRACE:" and a zlib stream; also a zlib or gzip stream alone
 *   Chrome's JSON     an object with "systemTraceEvents", whose string is text
 *   systrace HTML     script elements of class trace-data: text, text in base64 of a zlib or gzip stream, or JSON with
 *                     "systemTraceEvents"; of old versions, a script with `linuxPerfData = "..."`, whose string is
 *                     text or a zlib stream
 *
 * Sources: Android's atrace and systrace, catapult's importers, as studied. The input may have any contents. Memory:
 * the size of an element that is encoded, and a buffer. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_SYSTRACE_SYSTRACE_READ_H
#define STROBE_TRACE_IMPORT_SYSTRACE_SYSTRACE_READ_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct strobe_systrace_sink {
    void *ctx;
    void (*feed)(void *ctx, const char *text, size_t bytes);
};

struct strobe_systrace_stats {
    uint64_t parts;   /* texts found */
    uint64_t foreign; /* elements of class trace-data without ftrace text */
    uint64_t damaged; /* compressed parts that end early or are damaged; what came before has been passed on */
};

/* Returns 1 if the file is HTML. */
int strobe_systrace_is_html(const char *at, size_t bytes);

/* Reads a file. STROBE_IO: out of memory. Otherwise STROBE_OK, also when no part was found. */
enum strobe_status strobe_systrace_read(const char *at, size_t bytes, const struct strobe_systrace_sink *sink,
                                        struct strobe_systrace_stats *stats);

#endif
