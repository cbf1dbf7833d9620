/* A sink that stores a timeline for comparisons in tests. It checks the invariants of sink.h: times never decrease,
 * slices nest, are longer than zero and end, and CPU time never exceeds wall time. A broken invariant fails the test.
 *
 * Functions are derived from addresses: address >> 8 is the function's id, and its name is "f<id>". Addresses with one
 * id are places in one function. Ids that are RECORDING_NAMES apart share a name. RECORDING_OURS, '~', is a function of
 * the engine's library. An address with the bit RECORDING_INLINED is in a function that was inlined into that one; the
 * bits below name it. Tests only. */
#ifndef STROBE_UNIT_SUPPORT_RECORDING_H
#define STROBE_UNIT_SUPPORT_RECORDING_H

#include "engine/trace/build/timeline.h"

#include <stddef.h>
#include <stdint.h>

enum { RECORDING_DEPTH_MAX = 256, RECORDING_NAMES = 1 << 14, RECORDING_OURS = '~', RECORDING_INLINED = 128 };

struct recorded_slice {
    uint32_t thread, tid, depth;
    uint32_t parent; /* index + 1 in slices; 0 = outermost */
    char name[48];
    enum strobe_slice_class class;
    int unfinished, no_wait;
    uint64_t begin_ns, end_ns; /* from the begin of the session */
    uint64_t cpu_ns, samples, arg;
    uint64_t counter[STROBE_COUNTER_COUNT]; /* sums added while it was open */
};

struct recorded_instant { /* an instant, or a run of samples */
    uint32_t thread, stack;
    unsigned incomplete;
    char name[64];
    uint64_t at_ns, last_ns, count;
};

struct recorded_wake { /* one end of a flow, or a wait without a waker */
    uint64_t id;
    uint32_t thread, waiter, waker;
    int at_waker;
    uint64_t at_ns, release_ns, end_ns, what;
    char in[48]; /* name of the innermost open slice; "" = none */
};

struct recording {
    struct strobe_sink sink;
    struct strobe_function_tree *tree;
    const struct strobe_reader *reader;
    uint64_t begin_ns;
    struct recorded_slice *slices; /* in order of their begins */
    size_t slice_count, slice_room;
    struct recorded_instant *instants, *samples;
    struct recorded_wake *wakes;
    size_t wake_count, wake_room;
    size_t instant_count, instant_room, sample_count, sample_room;
    uint32_t threads, tid, index;
    uint32_t open[RECORDING_DEPTH_MAX], depth;
    struct strobe_moment open_at[RECORDING_DEPTH_MAX];
    uint64_t last_ns, last_cpu_ns;
    int in_thread, finished;
    struct strobe_timeline_stats stats;
};

/* Reads the session `path` and emits its timeline to the recording. Fails the test when that does. */
void recording_read(struct recording *recording, const char *path, const struct strobe_timeline_options *options);
void recording_free(struct recording *recording);

/* Returns the nth slice (from 0) with this name, in order of begins; NULL when there are fewer. */
const struct recorded_slice *recording_find(const struct recording *recording, const char *name, size_t nth);

/* Returns all slices of a thread as text: "name[begin,end) ", with times in us. Dots show the depth:
 * "..name[begin,end)". The text is valid until the next call. */
const char *recording_text(const struct recording *recording, uint32_t thread);

/* Returns the resolver of addresses that the recording uses. */
struct strobe_resolver recording_resolver(void);

#endif
