/* Interns a stream of stacks of which 90 % or 99.9 % are known, against a mere read and comparison of them, and
 * against a plain hash set. Every repetition begins with a new table that contains the warm-up. */
#include "bench/bench.h"
#include "bench/naive_set.h"
#include "bench/stackgen.h"

#include "engine/store/stack_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SAMPLES = 200000, NODE_CAPACITY = 1 << 18, AHEAD = 3, LINE_FRAMES = 8 };

struct stream_case {
    const struct stackgen_options options;
    struct stackgen_stream stream;
};

static struct stream_case known_90 = {.options = {.samples = SAMPLES, .fresh_permille = 100}};
static struct stream_case known_999 = {.options = {.samples = SAMPLES, .fresh_permille = 1}};

/* A way to intern a stack. The caller adds up the results, so that the compiler omits nothing. */
typedef uint64_t put_fn(void *state, const uint64_t *frames, uint32_t depth);

static uint64_t put_range(const struct stackgen_stream *stream, uint32_t from, uint32_t to, put_fn *put, void *state)
{
    uint64_t sum = 0;
    for (uint32_t i = from; i < to; i++) {
        /* In use, a stack was just unwound and is in the cache. Here it is prefetched, because the stream is not in
         * the cache. */
        uint32_t soon = i + AHEAD < to ? i + AHEAD : i;
        for (size_t f = stream->start[soon]; f < stream->start[soon + 1]; f += LINE_FRAMES)
            __builtin_prefetch(&stream->frames[f]);
        sum += put(state, stream->frames + stream->start[i], (uint32_t)(stream->start[i + 1] - stream->start[i]));
    }
    return sum;
}

static void warm(const struct stackgen_stream *stream, put_fn *put, void *state)
{
    uint64_t sum = put_range(stream, 0, stream->warm_count, put, state);
    bench_keep(&sum);
}

static void measure(struct gbench_state *s, const struct stackgen_stream *stream, put_fn *put, void *state)
{
    uint64_t sum = 0;
    while (gbench_loop(s))
        sum += put_range(stream, stream->warm_count, stream->count, put, state);
    bench_keep(&sum);
}

struct previous {
    uint32_t depth;
    uint64_t frames[STACKGEN_DEPTH_MAX];
};

static uint64_t put_compare(void *state, const uint64_t *frames, uint32_t depth)
{
    struct previous *p = state;
    uint32_t most = depth < p->depth ? depth : p->depth, same = 0;
    while (same < most && frames[same] == p->frames[same])
        same++;
    memcpy(p->frames + same, frames + same, (depth - same) * sizeof *frames);
    p->depth = depth;
    return same;
}

static void compare(struct gbench_state *s, const void *arg)
{
    const struct stream_case *c = arg;
    struct previous previous = {0};
    warm(&c->stream, put_compare, &previous);
    measure(s, &c->stream, put_compare, &previous);
}

static uint64_t put_naive(void *state, const uint64_t *frames, uint32_t depth)
{
    return (uintptr_t)naive_set_intern(state, frames, depth);
}

static void naive(struct gbench_state *s, const void *arg)
{
    const struct stream_case *c = arg;
    struct naive_set *set = naive_set_new();
    warm(&c->stream, put_naive, set);
    measure(s, &c->stream, put_naive, set);
    gbench_counter(s, "bytes", (double)naive_set_bytes(set) / naive_set_count(set));
    naive_set_free(set);
}

struct interner {
    struct strobe_stack_table table;
    struct strobe_stack_cursor cursor;
};

static uint64_t put_intern(void *state, const uint64_t *frames, uint32_t depth)
{
    struct interner *in = state;
    uint32_t id;
    if (strobe_stack_intern(&in->table, &in->cursor, frames, depth, &id) != STROBE_OK)
        abort();
    return id;
}

/* Checks that every stack of the stream resolves to its frames. */
static void check_all(struct interner *in, const struct stackgen_stream *stream)
{
    uint64_t back[STROBE_STACK_DEPTH_MAX];
    for (uint32_t i = 0; i < stream->count; i++) {
        const uint64_t *frames = stream->frames + stream->start[i];
        uint32_t depth = (uint32_t)(stream->start[i + 1] - stream->start[i]), count;
        uint32_t id = (uint32_t)put_intern(in, frames, depth);
        if (strobe_stack_frames(&in->table, id, back, STROBE_STACK_DEPTH_MAX, &count) != STROBE_OK || count != depth ||
            memcmp(back, frames, depth * sizeof *frames))
            abort();
    }
}

static void intern(struct gbench_state *s, const void *arg)
{
    const struct stream_case *c = arg;
    struct interner in = {0};
    size_t bytes = strobe_stack_table_bytes(NODE_CAPACITY);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    strobe_stack_table_create(memory, NODE_CAPACITY);
    if (strobe_stack_table_open(memory, bytes, &in.table) != STROBE_OK)
        abort();
    warm(&c->stream, put_intern, &in);
    measure(s, &c->stream, put_intern, &in);
    gbench_counter(s, "bytes", (double)strobe_stack_table_used_bytes(&in.table) / strobe_stack_node_count(&in.table));
    check_all(&in, &c->stream);
    munmap(memory, bytes);
}

static void add(const char *name, gbench_fn *run, const struct stream_case *c)
{
    gbench_add(&(struct gbench_spec){.name = name, .run = run, .arg = c, .batch = SAMPLES, .turns = 1});
}

void bench_intern_add(void)
{
    stackgen_collect(&known_90.options, &known_90.stream);
    stackgen_collect(&known_999.options, &known_999.stream);
    add("intern/90", intern, &known_90);
    add("intern/90/compare", compare, &known_90);
    add("intern/90/naive", naive, &known_90);
    add("intern/999", intern, &known_999);
    add("intern/999/compare", compare, &known_999);
    add("intern/999/naive", naive, &known_999);
}

void bench_intern_rows(void)
{
    double known = gbench_median_ns("intern/999");
    bench_row_ratio("intern, 99.9 % known", "ns", known, "read and compare", gbench_median_ns("intern/999/compare"),
                    1.6);
    bench_row_ratio("intern, 99.9 % known", "ns", known, "plain hash set", gbench_median_ns("intern/999/naive"), 0.15);
    bench_row_note("intern, 90 % known", "ns", gbench_median_ns("intern/90"));
    bench_row_note("  read and compare of it", "ns", gbench_median_ns("intern/90/compare"));
    bench_row_note("  plain hash set on it", "ns", gbench_median_ns("intern/90/naive"));
    bench_row_most("stack table memory, 50 k nodes", "B/node", gbench_counter_of("intern/999", "bytes"), 40);
    bench_row_most("stack table memory, 90 k nodes", "B/node", gbench_counter_of("intern/90", "bytes"), 40);
    bench_row_note("  plain hash set's memory", "B/node", gbench_counter_of("intern/999/naive", "bytes"));
}
