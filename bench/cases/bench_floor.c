/* Basic costs of this machine: clocks, and a copy of a record into memory. */
#include "bench/bench.h"

#include "engine/store/record.h"

#include <string.h>
#include <sys/resource.h>

enum { BATCH = 1000, COPY_BYTES = 1 << 22 };

static void clock_read(struct gbench_state *s, const void *arg)
{
    (void)arg;
    while (gbench_loop(s))
        for (int i = 0; i < BATCH; i++) {
            uint64_t now = bench_now_ns();
            bench_keep(&now);
        }
}

static void thread_cpu_read(struct gbench_state *s, const void *arg)
{
    (void)arg;
    while (gbench_loop(s)) {
        uint64_t now = bench_cpu_ns();
        bench_keep(&now);
    }
}

static void usage_read(struct gbench_state *s, const void *arg)
{
    (void)arg;
    struct rusage usage;
    while (gbench_loop(s)) {
        getrusage(RUSAGE_THREAD, &usage);
        bench_keep(&usage);
    }
}

static void record_copy(struct gbench_state *s, const void *arg)
{
    (void)arg;
    static unsigned char *memory;
    if (!memory)
        memory = bench_pages(COPY_BYTES);
    struct strobe_record record = {.count = 1};
    size_t at = 0;
    while (gbench_loop(s))
        for (int i = 0; i < BATCH; i++) {
            record.ticks++;
            memcpy(memory + at, &record, sizeof record);
            bench_keep(memory);
            at = (at + 64) & (COPY_BYTES - 1);
        }
}

void bench_floor_add(void)
{
    gbench_add(&(struct gbench_spec){.name = "floor/clock", .run = clock_read, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "floor/thread_cpu", .run = thread_cpu_read});
    gbench_add(&(struct gbench_spec){.name = "floor/usage", .run = usage_read});
    gbench_add(&(struct gbench_spec){.name = "floor/copy", .run = record_copy, .batch = BATCH});
}

void bench_floor_rows(void)
{
    bench_row_note("clock read (CLOCK_MONOTONIC)", "ns", gbench_median_ns("floor/clock"));
    bench_row_note("thread CPU time read", "ns", gbench_median_ns("floor/thread_cpu"));
    bench_row_note("getrusage(RUSAGE_THREAD)", "ns", gbench_median_ns("floor/usage"));
    bench_row_note("copy of a record", "ns", gbench_median_ns("floor/copy"));
}
