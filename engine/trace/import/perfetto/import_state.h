/* What an import of a Perfetto trace remembers between packets: sequences with their interned names and clocks, and
 * tracks. Part of import_perfetto.h. */
#ifndef STROBE_TRACE_IMPORT_PERFETTO_IMPORT_STATE_H
#define STROBE_TRACE_IMPORT_PERFETTO_IMPORT_STATE_H

#include "engine/base/error.h"
#include "engine/trace/import/perfetto/import_perfetto.h"
#include "engine/trace/import/perfetto/proto_read.h"
#include "engine/util/idmap.h"
#include "engine/util/text_pool.h"

enum {
    STROBE_CLOCK_BOOT = 6,     /* the clock of traces that name no other */
    STROBE_CLOCK_PRIVATE = 64, /* from here on, a clock is its sequence's own */
    STROBE_PRIVATE_CLOCKS = 4,
    STROBE_EXTRA_COUNTERS_MAX = 64,
};

/* Interned texts of a sequence, by what they are for. */
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
    uint32_t id, epoch; /* a new epoch forgets what was interned */
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
    STROBE_TRACK_OF_PROCESS /* a process's, with a name of its own */
};

struct strobe_track {
    enum strobe_track_kind kind;
    uint32_t thread; /* of a thread's track */
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
    const uint8_t *outer; /* the deflated packet that is being read, in the file; else NULL */
    const uint8_t *inner; /* where its inflated bytes begin */
    struct strobe_text_pool texts;
    struct strobe_sequence *sequences;
    uint32_t sequence_count, sequence_capacity;
    struct strobe_idmap by_sequence, by_track, by_interned;
    struct strobe_track *tracks;
    uint32_t track_count, track_capacity;
    uint32_t thread_count;
    uint64_t offsets[STROBE_CLOCK_PRIVATE]; /* what to add to a clock to get STROBE_CLOCK_BOOT */
};

/* Says where, in `error`, and what was expected there; returns `status`. */
enum strobe_status strobe_import_fail(struct strobe_import *m, enum strobe_status status, const uint8_t *at,
                                      const char *format, ...) __attribute__((format(printf, 4, 5)));
enum strobe_status strobe_import_no_memory(struct strobe_import *m);
enum strobe_status strobe_import_bad_field(struct strobe_import *m, const struct strobe_proto *at, const char *where);

/* The sequence of that id, made when new. NULL: out of memory. Good until the next one is made. */
struct strobe_sequence *strobe_import_sequence(struct strobe_import *m, uint32_t id);

/* The track, made when new and `make`; else NULL. Good until the next one is made. */
struct strobe_track *strobe_import_track(struct strobe_import *m, uint64_t uuid, int make);

/* A name given by number or in place. "" when it has none, and when it is not known (counted). */
const char *strobe_import_name(struct strobe_import *m, const struct strobe_sequence *s, enum strobe_interned kind,
                               uint64_t iid, struct strobe_proto inline_text);

/* Takes in a packet's interned data, and its clock snapshot. */
enum strobe_status strobe_import_interned(struct strobe_import *m, struct strobe_sequence *s, struct strobe_proto data);
enum strobe_status strobe_import_clocks(struct strobe_import *m, struct strobe_sequence *s,
                                        struct strobe_proto snapshot);

/* The time of a packet that says `timestamp` on `clock` (0 = the sequence's default). `at`: for the complaint. */
enum strobe_status strobe_import_time(struct strobe_import *m, struct strobe_sequence *s, uint32_t clock,
                                      uint64_t timestamp, const uint8_t *at, uint64_t *out);

void strobe_import_state_free(struct strobe_import *m);

#endif
