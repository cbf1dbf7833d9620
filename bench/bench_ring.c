/* Writing a record, clock read included: the engine's ring against a ring of the thread's own that commits the same
 * slot behind the same kind of sequence word and shares nothing. */
#include "bench/bench.h"

#include "engine/store/ring.h"

#include <stdlib.h>
#include <unistd.h>

enum {
    SLOTS = 1 << 17,       /* 8 MiB: more than a core's own caches, as in use */
    MANY_THREADS = 8,
    BATCH = 1000,
};

static struct strobe_ring ring;
static struct strobe_slot *own_slots;

static struct strobe_record sample(uint32_t i)
{
    return (struct strobe_record){
        .ticks = bench_now_ns(), .stack = i, .thread = 1, .count = 1, .kind = STROBE_KIND_ALLOC,
    };
}

static void ring_write(struct gbench_state *s, const void *arg)
{
    (void)arg;
    struct strobe_ring_writer writer = { 0 };
    strobe_ring_writer_init(&ring, &writer, (uint64_t)gettid());
    uint32_t lost = 0;
    while (gbench_loop(s))
        for (uint32_t i = 0; i < BATCH; i++) {
            struct strobe_record record = sample(i);
            lost += strobe_ring_write(&ring, &writer, &record, NULL) != STROBE_OK;
        }
    strobe_ring_writer_close(&ring, &writer);
    gbench_counter(s, "lost", lost);
}

static void commit(struct strobe_slot *slot, uint64_t sequence, const struct strobe_record *record)
{
    strobe_store_relaxed(&slot->seq, 0);
    strobe_fence_release();
    slot->u.record = *record;
    strobe_store_release(&slot->seq, sequence);
}

static void bump_write(struct gbench_state *s, const void *arg)
{
    (void)arg;
    struct strobe_slot *slots = own_slots;
    uint64_t next = 0;
    while (gbench_loop(s))
        for (uint32_t i = 0; i < BATCH; i++) {
            struct strobe_record record = sample(i);
            commit(&slots[next & (SLOTS - 1)], next + 1, &record);
            next++;
        }
    bench_keep(slots);
}

void bench_ring_add(void)
{
    size_t bytes = strobe_ring_bytes(SLOTS, STROBE_RING_SUBS_DEFAULT);
    void *memory = bench_pages(bytes);
    strobe_ring_create(memory, SLOTS, STROBE_RING_SUBS_DEFAULT, STROBE_KEEP_NEWEST);
    if (strobe_ring_open(memory, bytes, &ring) != STROBE_OK)
        abort();
    own_slots = bench_pages(SLOTS * sizeof *own_slots);
    gbench_add(&(struct gbench_spec){ .name = "ring/1", .run = ring_write, .batch = BATCH });
    gbench_add(&(struct gbench_spec){ .name = "ring/8", .run = ring_write, .batch = BATCH, .threads = MANY_THREADS });
    gbench_add(&(struct gbench_spec){ .name = "ring/bump", .run = bump_write, .batch = BATCH });
}

void bench_ring_rows(void)
{
    double one = gbench_median_ns("ring/1");
    bench_row_ratio("record write with clock, 1 thread", "ns", one, "thread-local bump ring",
                    gbench_median_ns("ring/bump"), 1.3);
    bench_row_ratio("record write, 8 threads on all cores", "CPU ns", gbench_median_ns("ring/8"), "1 thread", one,
                    1.1);
}
