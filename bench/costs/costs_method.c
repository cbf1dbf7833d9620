/* Costs of instrumented methods: the cost of one probe, at an enter or an exit, over an app without probes. */
#include "bench/bench.h"
#include "bench/costs/costs.h"

#include "engine/base/hint.h"
#include "engine/method/matrix/matrix_log.h"
#include "engine/method/rhea/atrace.h"

#include <stdlib.h>

enum { TIMES = 4000, ENTRIES = 1 << 16, SLOTS = 1 << 14, RECORD_BYTES = 16, RECORDS = 1 << 16 };

static struct strobe_matrix_clock clock_word;
static struct strobe_matrix_log method_log;
static struct strobe_atrace atrace;
static uint64_t ticks;
static strobe_a64 *records;
static strobe_a64 used;
static _Thread_local uint32_t own_tid;
static uint32_t main_tid = 1;

static STROBE_NOINLINE void enter(uint32_t id)
{
    strobe_matrix_enter(&method_log, id);
}

static STROBE_NOINLINE void leave(uint32_t id)
{
    strobe_matrix_leave(&method_log, id);
}

static double probe_ns(void)
{
    uint64_t begin = bench_cpu_ns();
    for (uint32_t i = 0; i < TIMES; i++) {
        enter(i % 1000 + 1);
        leave(i % 1000 + 1);
    }
    return (double)(bench_cpu_ns() - begin) / (2 * TIMES);
}

/* The probe of a thread that is not the main thread. */
static STROBE_NOINLINE void enter_if_main(uint32_t id)
{
    if (own_tid == main_tid)
        strobe_matrix_enter(&method_log, id);
}

static double probe_other_ns(void)
{
    bench_keep(&own_tid);
    bench_keep(&main_tid);
    uint64_t begin = bench_cpu_ns();
    for (uint32_t i = 0; i < TIMES; i++)
        enter_if_main(i % 1000 + 1);
    return (double)(bench_cpu_ns() - begin) / TIMES;
}

/* The clock and the thread's id cost nothing here: the clock is measured separately, and the id is known. */
static uint64_t no_clock(void *ctx)
{
    return ++*(uint64_t *)ctx;
}

static uint32_t known_tid(void *ctx)
{
    (void)ctx;
    return 1;
}

static double mark_ns(void)
{
    static const char name[] = "com.shop.cart.CartActivity.onCreate";
    uint64_t begin = bench_cpu_ns();
    for (uint32_t i = 0; i < TIMES; i++)
        strobe_atrace_section(&atrace, i & 1 ? STROBE_ATRACE_LEAVE : STROBE_ATRACE_ENTER, name, sizeof name - 1);
    return (double)(bench_cpu_ns() - begin) / TIMES;
}

/* Draws a place and stores two words. The clock read is measured separately. */
static STROBE_NOINLINE void record(uint64_t start, uint64_t word)
{
    uint64_t at = strobe_add_relaxed(&used, 2) % (2 * RECORDS);
    strobe_store_relaxed(&records[at], start);
    strobe_store_relaxed(&records[at + 1], word);
}

static double record_ns(void)
{
    uint64_t begin = bench_cpu_ns();
    for (uint32_t i = 0; i < TIMES; i++)
        record(begin + i, i);
    return (double)(bench_cpu_ns() - begin) / TIMES;
}

void costs_method_prepare(void)
{
    size_t log_bytes = strobe_matrix_log_bytes(ENTRIES);
    struct strobe_packet_ring ring;
    struct strobe_atrace_system system = {no_clock, known_tid, &ticks};
    void *memory = bench_pages(strobe_packet_ring_bytes(SLOTS)), *entries = bench_pages(log_bytes);
    records = bench_pages((size_t)RECORDS * RECORD_BYTES);
    strobe_matrix_clock_open(&clock_word, 0, false);
    strobe_packet_ring_create(memory, SLOTS);
    if (strobe_matrix_log_open(&method_log, entries, log_bytes, ENTRIES, &clock_word) != STROBE_OK ||
        strobe_packet_ring_open(memory, strobe_packet_ring_bytes(SLOTS), &ring) != STROBE_OK)
        abort();
    strobe_atrace_begin(&atrace, &ring, &system, 1, 0, false);
}

void costs_method_round(struct sim_costs *out)
{
    out->probe = probe_ns();
    out->probe_other = probe_other_ns();
    out->mark = mark_ns();
    out->call_record = record_ns();
}
