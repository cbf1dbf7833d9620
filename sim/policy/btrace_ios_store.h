/* Where btrace-ios keeps samples until they are rows of its database: rings that are drained every 200 ms.
 *
 *   samples of the sampler    one ring; an item is 8 + 24 + 8 n bytes
 *   samples at hooks          per plugin 32 sub-buffers; an item is 8 + D + 8 n bytes, rounded to 8, D = 44 (memory),
 *                             28 (lock, dispatch), 20 (date). The first one tried is (thread + size) mod 32, where the
 *                             thread adds nothing, being page-aligned; when it is full the next ones are tried in turn
 *
 * A full ring drops the newest, and its writer does not learn of it. Capacities are those of 128 threads (memory, lock,
 * the sampler) or 64 for 200 ms at one sample per period, 40 bytes and 16 frames each; with a period of 0 8 and 6 MB.
 *
 * A drain takes the rings in order, names each stack by the table (2^20 nodes, never given back), and joins samples of
 * the sampler that follow one another in one thread and one drain with one stack. A row takes 20 bytes (point, date) or
 * 28, a node of the table 16. Allocates; not thread-safe. */
#ifndef STROBE_SIM_POLICY_BTRACE_IOS_STORE_H
#define STROBE_SIM_POLICY_BTRACE_IOS_STORE_H

#include "sim/policy/btrace_ios_trace.h"

enum { SIM_BTRACE_SUB_BUFFERS = 32, SIM_BTRACE_IOS_NODES = 1 << 20, SIM_BTRACE_IOS_DEPTH = 192 };

struct sim_btrace_item {
    uint64_t time_ns, cpu_ns;
    uint64_t serial; /* of the store: order of arrival */
    size_t first;    /* its frames in the store's, innermost first */
    uint32_t count;
    uint32_t tid, thread; /* thread: small, unique in the run */
    uint32_t ring;        /* 0 = the sampler's; tables and sub-buffers in order of drain */
    enum sim_btrace_table table;
};

struct sim_btrace_ios_store {
    struct sim_btrace_item *items;
    size_t item_count, item_room; /* not drained yet */
    uint64_t *frames;
    size_t frame_count, frame_room;         /* theirs */
    uint64_t ring_bytes[SIM_BTRACE_TABLES]; /* of one ring of the table */
    uint64_t used[SIM_BTRACE_TABLES][SIM_BTRACE_SUB_BUFFERS];
    struct sim_btrace_row *rows;
    size_t row_count, row_room;
    struct sim_btrace_stacks stacks;
    size_t *last_row;
    size_t last_row_room; /* by thread, of the drain at hand: + 1 */
    uint64_t serial;
    uint64_t stored, dropped; /* samples */
    int failed;
};

void sim_btrace_ios_store_open(struct sim_btrace_ios_store *s, uint64_t period_ns, uint64_t memory_period_ns);
void sim_btrace_ios_store_close(struct sim_btrace_ios_store *s);

/* Stores a sample of `count` addresses, innermost first. `item` says time, CPU, thread and table; false when it was
 * dropped, which the one sampled isn't told. */
bool sim_btrace_ios_put(struct sim_btrace_ios_store *s, struct sim_btrace_item item, const uint64_t *addresses,
                        uint32_t count);

/* Empties the rings. Returns how many frames were looked up. */
uint64_t sim_btrace_ios_drain(struct sim_btrace_ios_store *s);

/* Bytes of the database for what has been drained. */
uint64_t sim_btrace_ios_bytes(const struct sim_btrace_ios_store *s);

#endif
