/* Capture by instrumentation as in Matrix: an enter and an exit in its packed log, beside the minimum: a relaxed
 * load of the clock and the stores of two words. Both keep the position of the next word in memory, as separate
 * functions must. The load of the position waits for the store before it, which is most of the cost of either. Also
 * makes a stack of the log, beside a pass over the entries. */
#include "bench/bench.h"

#include "engine/method/matrix/matrix_log.h"
#include "engine/trace/import/matrix/matrix_stack.h"

#include <stdlib.h>

enum {
    BATCH = 1000,
    ENTRIES = 1 << 20,
    METHODS = 4000,
    DEPTH = 40,
};

static struct strobe_matrix_clock matrix_clock;
static struct strobe_matrix_log matrix;
static uint64_t *entries;

/* Ids of methods, in memory so that the compiler does not know them. */
static uint32_t ids[BATCH];

static void enter_and_leave(struct gbench_state *s, const void *arg)
{
    (void)arg;
    while (gbench_loop(s))
        for (uint32_t i = 0; i < BATCH; i++) {
            strobe_matrix_enter(&matrix, ids[i]);
            bench_keep(&matrix);
            strobe_matrix_leave(&matrix, ids[i]);
            bench_keep(&matrix);
        }
}

/* The minimum: stores a word with the clock's time at the next place. */
struct bare {
    uint64_t *at, *end, *begin;
};

static inline void bare_store(struct bare *b, uint64_t word)
{
    uint64_t *at = b->at;
    *at++ = word;
    b->at = at < b->end ? at : b->begin;
}

static void bare_in_memory(struct gbench_state *s, const void *arg)
{
    (void)arg;
    uint64_t *ring = (uint64_t *)matrix.entries;
    static struct bare bare;
    bare = (struct bare){ring, ring + STROBE_MATRIX_ENTRIES_DEFAULT, ring};
    while (gbench_loop(s))
        for (uint32_t i = 0; i < BATCH; i++) {
            uint64_t word = (uint64_t)ids[i] << STROBE_MATRIX_ID_SHIFT | strobe_load_relaxed(&matrix_clock.word);
            bare_store(&bare, STROBE_MATRIX_ENTER | word);
            bench_keep(&bare);
            bare_store(&bare, word);
            bench_keep(&bare);
        }
}

/* The same with the position in a register, which is possible only when one function makes all calls. */
static void bare_in_register(struct gbench_state *s, const void *arg)
{
    (void)arg;
    uint64_t *ring = (uint64_t *)matrix.entries;
    uint32_t at = 0;
    while (gbench_loop(s))
        for (uint32_t i = 0; i < BATCH; i++) {
            uint64_t word = (uint64_t)ids[i] << STROBE_MATRIX_ID_SHIFT | strobe_load_relaxed(&matrix_clock.word);
            ring[at] = STROBE_MATRIX_ENTER | word;
            bench_keep(ring);
            ring[at + 1] = word;
            bench_keep(ring);
            at = at + 2 < STROBE_MATRIX_ENTRIES_DEFAULT ? at + 2 : 0;
        }
}

/* ---- stacks */

static void make_entries(void)
{
    static uint32_t open[DEPTH];
    uint64_t seed = 1, ms = 0;
    uint32_t depth = 0, count = 0;
    entries[count++] = strobe_matrix_entry(true, STROBE_MATRIX_DISPATCH, 0);
    while (count + depth + 1 < ENTRIES) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t draw = (uint32_t)(seed >> 33);
        ms += draw % 64 == 0;
        if (depth < DEPTH && (!depth || draw >> 8 & 1)) {
            /* A method calls one of a few others. */
            open[depth] = 1 + ((depth ? open[depth - 1] * 7 : 0) + draw / 1024 % 6) % METHODS;
            entries[count++] = strobe_matrix_entry(true, open[depth++], ms);
        } else {
            entries[count++] = strobe_matrix_entry(false, open[--depth], ms);
        }
    }
    while (depth)
        entries[count++] = strobe_matrix_entry(false, open[--depth], ms);
    while (count < ENTRIES)
        entries[count++] = strobe_matrix_entry(false, STROBE_MATRIX_DISPATCH, ms);
}

static void build(struct gbench_state *s, const void *arg)
{
    enum strobe_matrix_contract contract = arg ? STROBE_MATRIX_UPSTREAM : STROBE_MATRIX_DOCUMENTED;
    struct strobe_matrix_builder *b = strobe_matrix_builder_open(contract);
    struct strobe_matrix_stack stack = {0};
    if (!b)
        abort();
    while (gbench_loop(s)) {
        if (strobe_matrix_build(b, entries, ENTRIES, true, STROBE_MATRIX_NO_END, &stack, NULL) != STROBE_OK)
            abort();
        bench_keep(stack.items);
    }
    gbench_counter(s, "items", (double)stack.count);
    strobe_matrix_builder_close(b);
}

static void pass_over(struct gbench_state *s, const void *arg)
{
    (void)arg;
    while (gbench_loop(s)) {
        uint64_t enters = 0, ms = 0;
        for (uint32_t i = 0; i < ENTRIES; i++) {
            enters += strobe_matrix_is_enter(entries[i]) ? strobe_matrix_id(entries[i]) : 0;
            ms += strobe_matrix_ms(entries[i]);
        }
        uint64_t sums[] = {enters, ms};
        bench_keep(sums);
    }
}

void bench_method_add(void)
{
    size_t bytes = strobe_matrix_log_bytes(STROBE_MATRIX_ENTRIES_DEFAULT);
    strobe_matrix_clock_open(&matrix_clock, 0, false);
    if (strobe_matrix_log_open(&matrix, bench_pages(bytes), bytes, STROBE_MATRIX_ENTRIES_DEFAULT, &matrix_clock))
        abort();
    for (uint32_t i = 0; i < BATCH; i++)
        ids[i] = 1 + i * 37 % METHODS;
    entries = bench_pages(ENTRIES * sizeof *entries);
    make_entries();
    gbench_add(&(struct gbench_spec){.name = "method/matrix", .run = enter_and_leave, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "method/bare", .run = bare_in_memory, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "method/register", .run = bare_in_register, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "method/build", .run = build, .batch = ENTRIES});
    gbench_add(&(struct gbench_spec){.name = "method/upstream", .run = build, .arg = &matrix_clock, .batch = ENTRIES});
    gbench_add(&(struct gbench_spec){.name = "method/pass", .run = pass_over, .batch = ENTRIES});
}

void bench_method_rows(void)
{
    bench_row_ratio("Matrix log: enter and exit", "ns", gbench_median_ns("method/matrix"), "two stores, one load",
                    gbench_median_ns("method/bare"), 2.0);
    bench_row_note("  the same, their place in a register", "ns", gbench_median_ns("method/register"));
    bench_row_most("Matrix log to stack, documented, an entry", "ns", gbench_median_ns("method/build"), 50);
    bench_row_most("Matrix log to stack, upstream, an entry", "ns", gbench_median_ns("method/upstream"), 50);
    bench_row_note("  one pass over the entries, an entry", "ns", gbench_median_ns("method/pass"));
}
