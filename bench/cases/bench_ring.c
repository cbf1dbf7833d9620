/* Writes a record, clock read included: the engine's ring against a private ring of the thread, which commits the
 * same slot with the same kind of sequence word and shares nothing. */
#include "bench/bench.h"

#include "engine/store/ring.h"

#include <stdlib.h>
#include <unistd.h>

enum {
    SLOTS = 1 << 17, /* 8 MiB: more than a core's own caches, as in use */
    MANY_THREADS = 8,
    BATCH = 1000,
};

static struct strobe_ring ring;
static struct strobe_slot *own_slots;

static struct strobe_record sample(uint32_t i)
{
    return (struct strobe_record){
        .ticks = bench_now_ns(),
        .stack = i,
        .thread = 1,
        .count = 1,
        .kind = STROBE_KIND_ALLOC,
    };
}

static void ring_write(struct gbench_state *s, const void *arg)
{
    (void)arg;
    struct strobe_ring_writer writer = {0};
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

/* The minimum for a ring: a record is stored in the next slot, after its sequence word. The function is called and
 * stores word by word, as the engine does. A wide copy would wait for the stores to the fields. */
struct bump {
    struct strobe_slot *slots;
    uint64_t next, mask;
};

static __attribute__((noinline)) void bump_put(struct bump *b, const struct strobe_record *r)
{
    struct strobe_slot *slot = &b->slots[b->next++ & b->mask];
    strobe_store_relaxed(&slot->seq, 0);
    strobe_fence_release();
    strobe_store_relaxed(&slot->u.word[0], r->ticks);
    strobe_store_relaxed(&slot->u.word[1], r->duration);
    strobe_store_relaxed(&slot->u.word[2], r->cpu_ns);
    strobe_store_relaxed(&slot->u.word[3], r->arg);
    strobe_store_relaxed(&slot->u.word[4], r->stack | (uint64_t)r->thread << 32);
    strobe_store_relaxed(&slot->u.word[5], r->message | (uint64_t)r->count << 32);
    strobe_store_relaxed(&slot->u.word[6], r->cpu_span_ns | (uint64_t)r->kind << 32 | (uint64_t)r->flags << 40);
    strobe_store_release(&slot->seq, b->next);
}

static void bump_write(struct gbench_state *s, const void *arg)
{
    uint64_t slots = arg ? SLOTS / MANY_THREADS : SLOTS; /* many threads share the memory */
    struct bump bump = {.slots = own_slots + (arg ? (uint64_t)gbench_thread(s) * slots : 0), .mask = slots - 1};
    while (gbench_loop(s))
        for (uint32_t i = 0; i < BATCH; i++) {
            struct strobe_record record = sample(i);
            bump_put(&bump, &record);
        }
    bench_keep(own_slots);
}

/* The lower bound: no call, and the record is made in the slot. */
static void in_place_write(struct gbench_state *s, const void *arg)
{
    (void)arg;
    uint64_t next = 0;
    while (gbench_loop(s))
        for (uint32_t i = 0; i < BATCH; i++) {
            struct strobe_slot *slot = &own_slots[next++ & (SLOTS - 1)];
            uint64_t now = bench_now_ns();
            strobe_store_relaxed(&slot->seq, 0);
            strobe_fence_release();
            strobe_store_relaxed(&slot->u.word[0], now);
            for (int w = 1; w < 7; w++)
                strobe_store_relaxed(&slot->u.word[w], i);
            strobe_store_release(&slot->seq, next);
        }
    bench_keep(own_slots);
}

void bench_ring_add(void)
{
    size_t bytes = strobe_ring_bytes(SLOTS, STROBE_RING_SUBS_DEFAULT);
    void *memory = bench_pages(bytes);
    strobe_ring_create(memory, SLOTS, STROBE_RING_SUBS_DEFAULT, STROBE_KEEP_NEWEST);
    if (strobe_ring_open(memory, bytes, &ring) != STROBE_OK)
        abort();
    own_slots = bench_pages(SLOTS * sizeof *own_slots);
    gbench_add(&(struct gbench_spec){.name = "ring/1", .run = ring_write, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "ring/8", .run = ring_write, .batch = BATCH, .threads = MANY_THREADS});
    gbench_add(&(struct gbench_spec){.name = "ring/bump", .run = bump_write, .batch = BATCH});
    gbench_add(&(struct gbench_spec){
        .name = "ring/bump8", .run = bump_write, .arg = own_slots, .batch = BATCH, .threads = MANY_THREADS});
    gbench_add(&(struct gbench_spec){.name = "ring/in_place", .run = in_place_write, .batch = BATCH});
}

void bench_ring_rows(void)
{
    double one = gbench_median_ns("ring/1");
    bench_row_ratio("record write with clock, 1 thread", "ns", one, "thread-local bump ring",
                    gbench_median_ns("ring/bump"), 1.3);
    bench_row_ratio("record write, 8 threads on all cores", "CPU ns", gbench_median_ns("ring/8"), "1 thread", one, 1.1);
    bench_row_note("  thread-local bump ring, 8 threads", "CPU ns", gbench_median_ns("ring/bump8"));
    bench_row_note("  lower bound: put together in the slot", "ns", gbench_median_ns("ring/in_place"));
}
