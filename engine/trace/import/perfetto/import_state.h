/* The state of an import between packets: sequences with their interned names and clocks, and tracks. Part of
 * import_perfetto.h. */
#ifndef STROBE_TRACE_IMPORT_PERFETTO_IMPORT_STATE_H
#define STROBE_TRACE_IMPORT_PERFETTO_IMPORT_STATE_H

#include "engine/base/error.h"
#include "engine/trace/import/perfetto/import_perfetto.h"
#include "engine/trace/import/perfetto/proto_read.h"
#include "engine/util/idmap.h"
#include "engine/util/text_pool.h"

enum {
    STROBE_CLOCK_BOOT = 6,     /* the default clock of a trace */
    STROBE_CLOCK_PRIVATE = 64, /* clocks from this id on belong to one sequence */
    STROBE_PRIVATE_CLOCKS = 4,
    STROBE_EXTRA_COUNTERS_MAX = 64,
};

/* Kinds of interned texts of a sequence. */
enum strobe_interned {
    STROBE_INTERNED_NAMES,
    STROBE_INTERNED_CATEGORIES,
    STROBE_INTERNED_NOTES,
    STROBE_INTERNED_KINDS
};

struct strobe_private_clock {
    uint32_t id;
    int incremental;
    uint64_t multiplier, base_ns, base_value, now;
};

struct strobe_sequence {
    uint32_t id, epoch; /* a new epoch invalidates interned texts */
    int stated;
    uint32_t default_clock;
    uint64_t default_track;
    uint64_t extra[STROBE_EXTRA_COUNTERS_MAX];
    uint32_t extra_count;
    struct strobe_private_clock clocks[STROBE_PRIVATE_CLOCKS];
    uint32_t clock_count;
};

enum strobe_track_kind {
    STROBE_TRACK_OTHER,
    STROBE_TRACK_PROCESS,
    STROBE_TRACK_THREAD,
    STROBE_TRACK_COUNTER,
    STROBE_TRACK_OF_PROCESS /* a track of a process, with a name */
};

struct strobe_track {
    enum strobe_track_kind kind;
    uint32_t thread; /* of STROBE_TRACK_THREAD */
    uint64_t parent;
    int thread_time, incremental;
    uint64_t multiplier, total;
    const char *name, *unit;
};

struct strobe_import {
    const struct strobe_import_visitor *visitor;
    void *ctx;
    struct strobe_import_stats *stats;
    struct strobe_error *error;
    const uint8_t *file;
    const uint8_t *outer; /* position in the file of the deflated packet that is being read; else NULL */
    const uint8_t *inner; /* begin of its inflated bytes */
    struct strobe_text_pool texts;
    struct strobe_sequence *sequences;
    uint32_t sequence_count, sequence_capacity;
    struct strobe_idmap by_sequence, by_track, by_interned;
    struct strobe_track *tracks;
    uint32_t track_count, track_capacity;
    uint32_t thread_count;
    uint64_t offsets[STROBE_CLOCK_PRIVATE]; /* by clock: the offset to STROBE_CLOCK_BOOT */
};

/* Sets `error` to the place and what was expected there. Returns `status`. */
enum strobe_status strobe_import_fail(struct strobe_import *m, enum strobe_status status, const uint8_t *at,
                                      const char *format, ...) __attribute__((format(printf, 4, 5)));
enum strobe_status strobe_import_no_memory(struct strobe_import *m);
enum strobe_status strobe_import_bad_field(struct strobe_import *m, const struct strobe_proto *at, const char *where);

/* Returns the sequence with this id; creates it if needed. NULL: out of memory. Valid until the next one is created. */
struct strobe_sequence *strobe_import_sequence(struct strobe_import *m, uint32_t id);

/* Returns the track with this uuid; creates it if needed and `make` is set, else returns NULL. Valid until the next one
 * is created. */
struct strobe_track *strobe_import_track(struct strobe_import *m, uint64_t uuid, int make);

/* Returns a name, interned or inline. "" if there is none, or if the interned name is unknown (counted). */
const char *strobe_import_name(struct strobe_import *m, const struct strobe_sequence *s, enum strobe_interned kind,
                               uint64_t iid, struct strobe_proto inline_text);

/* Reads a packet's interned data, and its clock snapshot. */
enum strobe_status strobe_import_interned(struct strobe_import *m, struct strobe_sequence *s, struct strobe_proto data);
enum strobe_status strobe_import_clocks(struct strobe_import *m, struct strobe_sequence *s,
                                        struct strobe_proto snapshot);

/* Converts `timestamp` of a packet on `clock` (0 = the sequence's default). `at` is the place for error messages. */
enum strobe_status strobe_import_time(struct strobe_import *m, struct strobe_sequence *s, uint32_t clock,
                                      uint64_t timestamp, const uint8_t *at, uint64_t *out);

void strobe_import_state_free(struct strobe_import *m);

#endif
