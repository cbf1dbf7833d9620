/* Reads Perfetto traces that `strobe convert` wrote: slices, instants and counters of thread tracks with interned names
 * and incremental clocks, and callstack samples, uncompressed or in deflated packets. Of traces from other writers, it
 * reads the events that have these forms.
 *
 * Format: https://perfetto.dev/docs/reference/trace-packet-proto. The input may be anything: all values are checked,
 * and memory is bounded by the file's size and the limits below.
 *
 * Reading half: allocates. Any thread. */
#ifndef STROBE_TRACE_IMPORT_PERFETTO_IMPORT_PERFETTO_H
#define STROBE_TRACE_IMPORT_PERFETTO_IMPORT_PERFETTO_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* The value of `thread` for events of the process: an instant, a counter, a slice on a track of the process. */
#define STROBE_IMPORT_NO_THREAD UINT32_MAX

/* A slice's begin or end, an instant, a counter's new value, or a sample. Texts are valid until the import returns. */
struct strobe_import_event {
    uint32_t thread;      /* number of the thread from an earlier call of `thread`; or STROBE_IMPORT_NO_THREAD */
    const char *track;    /* of a slice of the process: the track's name; else "" */
    uint64_t time_ns;     /* on the trace's clock */
    int has_cpu;          /* cpu_ns is known */
    uint64_t cpu_ns;      /* CPU time of the thread so far */
    const char *name;     /* of a begin, instant or counter; never NULL */
    const char *category; /* "" = none */
    double value;         /* of a counter */
    const char *unit;     /* of a counter: "ns", "bytes", "count", its own, or "" */
};

/* Callbacks, called in file order; any may be NULL. */
struct strobe_import_visitor {
    void (*process)(void *ctx, uint32_t pid, const char *name);
    void (*thread)(void *ctx, uint32_t thread, uint32_t pid, uint32_t tid, const char *name);
    void (*slice_begin)(void *ctx, const struct strobe_import_event *e);
    void (*slice_end)(void *ctx, const struct strobe_import_event *e);
    void (*instant)(void *ctx, const struct strobe_import_event *e);
    void (*counter)(void *ctx, const struct strobe_import_event *e);
    /* A number of an event (a debug annotation), right after the event. */
    void (*note)(void *ctx, const struct strobe_import_event *e, const char *key, uint64_t value);
    void (*sample)(void *ctx, uint32_t pid, uint32_t tid, uint64_t time_ns);
};

struct strobe_import_stats {
    uint64_t packets, events, samples;
    uint64_t unknown_tracks; /* events on tracks of no known thread or counter */
    uint64_t unknown_names;  /* interned names that the trace does not define */
    uint64_t unstated;       /* events ignored because the start of their sequence is missing */
};

/* Imports a file. On failure `error` has one line, without the path, with the place and what was expected there:
 * "byte 1234: ...". STROBE_BAD_INPUT, STROBE_TRUNCATED, STROBE_IO. Events before the fault have been passed to the
 * visitor. */
enum strobe_status strobe_import_perfetto(const char *path, const struct strobe_import_visitor *visitor, void *ctx,
                                          struct strobe_import_stats *stats, struct strobe_error *error);

/* Imports a trace in memory; otherwise as strobe_import_perfetto. */
enum strobe_status strobe_import_perfetto_bytes(const void *bytes, size_t count,
                                                const struct strobe_import_visitor *visitor, void *ctx,
                                                struct strobe_import_stats *stats, struct strobe_error *error);

#endif
