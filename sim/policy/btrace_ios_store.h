/* The storage of btrace-ios: rings, drained every 200 ms into rows of its database.
 *
 *   samples of the sampler    one ring; an item has 8 + 24 + 8 n bytes
 *   samples at hooks          per plugin 32 sub-buffers; an item has 8 + D + 8 n bytes, rounded to 8, D = 44
 *                             (memory), 28 (lock, dispatch), 20 (date). The first one tried is (thread + size) mod
 *                             32, where `thread` is page-aligned and adds nothing. When it is full the next ones are
 *                             tried in turn
 *
 * A full ring drops the newest item without notice to its writer. Capacities are those of 128 threads (memory, lock,
 * the sampler) or 64 for 200 ms at one sample per period, with 40 bytes and 16 frames each; with a period of 0 they are
 * 8 and 6 MB.
 *
 * A drain takes the rings in order and replaces each stack by its number in the table (2^20 nodes, never freed). It
 * joins consecutive samples of the sampler that have the same thread, drain and stack. A row takes 20 bytes (point,
 * date) or 28, a node of the table 16. Allocates; not thread-safe. */
#ifndef STROBE_SIM_POLICY_BTRACE_IOS_STORE_H
#define STROBE_SIM_POLICY_BTRACE_IOS_STORE_H

#include "sim/policy/btrace_ios_trace.h"

enum { SIM_BTRACE_SUB_BUFFERS = 32, SIM_BTRACE_IOS_NODES = 1 << 20, SIM_BTRACE_IOS_DEPTH = 192 };

struct sim_btrace_item {
    uint64_t time_ns, cpu_ns;
    uint64_t serial; /* order of arrival in the store */
    size_t first;    /* index of its frames in the store's `frames`, innermost first */
    uint32_t count;
    uint32_t tid, thread; /* thread: a small number, unique in the run */
    uint32_t ring;        /* 0: the sampler's; then tables and sub-buffers in order of drain */
    enum sim_btrace_table table;
    uint64_t lock; /* see struct sim_btrace_row */
};

struct sim_btrace_ios_store {
    struct sim_btrace_item *items;
    size_t item_count, item_room; /* not drained yet */
    uint64_t *frames;
    size_t frame_count, frame_room;         /* of these items */
    uint64_t ring_bytes[SIM_BTRACE_TABLES]; /* size of one ring of the table */
    uint64_t used[SIM_BTRACE_TABLES][SIM_BTRACE_SUB_BUFFERS];
    struct sim_btrace_row *rows;
    size_t row_count, row_room;
    struct sim_btrace_stacks stacks;
    size_t *last_row;
    size_t last_row_room; /* by thread: index + 1 of its last row in the current drain */
    uint64_t serial;
    uint64_t stored, dropped; /* samples */
    int failed;
};

void sim_btrace_ios_store_open(struct sim_btrace_ios_store *s, uint64_t period_ns, uint64_t memory_period_ns);
void sim_btrace_ios_store_close(struct sim_btrace_ios_store *s);

/* Stores a sample of `count` addresses, innermost first. `item` has time, CPU, thread and table. False: it was dropped;
 * the sampled thread gets no notice. */
bool sim_btrace_ios_put(struct sim_btrace_ios_store *s, struct sim_btrace_item item, const uint64_t *addresses,
                        uint32_t count);

/* Empties the rings. Returns the number of frames looked up. */
uint64_t sim_btrace_ios_drain(struct sim_btrace_ios_store *s);

/* Returns the bytes of the database for the drained samples. */
uint64_t sim_btrace_ios_bytes(const struct sim_btrace_ios_store *s);

#endif
