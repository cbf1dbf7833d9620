/* Shared by the bench files: a clock, a fence for the optimizer, and the table of results.
 *
 * A part adds its benches before the run and its rows after it; see main.c. Main thread only, unless stated otherwise.
 * */
#ifndef STROBE_BENCH_BENCH_H
#define STROBE_BENCH_BENCH_H

#include "bench/gbench.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Returns the ns of the clock that records contain. Any thread. */
static inline uint64_t bench_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns the CPU time of the calling thread, in ns. Any thread. */
static inline uint64_t bench_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Makes the compiler assume that the memory at p is read and may change. Any thread. */
static inline void bench_keep(const void *p)
{
    __asm__ volatile("" : : "g"(p) : "memory");
}

/* Returns zeroed, page-aligned memory whose pages are committed. Aborts when there is no memory. */
void *bench_pages(size_t bytes);

/* Adds a row with the target measured / reference <= most. */
void bench_row_ratio(const char *what, const char *unit, double measured, const char *reference_name, double reference,
                     double most);

/* Adds a row whose ratio is the median of the ratios of paired runs. */
void bench_row_paired(const char *what, const char *unit, double measured, const char *reference_name, double reference,
                      double ratio, double most);

/* Adds a row with the target measured <= most. */
void bench_row_most(const char *what, const char *unit, double measured, double most);

/* Adds a row without a target. */
void bench_row_note(const char *what, const char *unit, double measured);

/* Adds a row that could not be measured here, with the reason. */
void bench_row_skipped(const char *what, const char *why);

/* Prints all rows and a line that describes the machine, and writes them to `json_path`. Returns the number of missed
 * targets, or -1 with a message when the file could not be written. */
int bench_table(const char *json_path);

/* The parts. */
void bench_floor_add(void);
void bench_floor_rows(void);
void bench_ring_add(void);
void bench_ring_rows(void);
void bench_intern_add(void);
void bench_intern_rows(void);
void bench_gate_add(void);
void bench_gate_rows(void);
void bench_walk_add(void);
void bench_walk_rows(void);
void bench_sample_add(void);
void bench_sample_rows(void);
void bench_suspend_add(void);
void bench_suspend_rows(void);
void bench_encode_add(void);
void bench_encode_rows(void);
void bench_diff_add(void);
void bench_diff_rows(void);
void bench_method_add(void);
void bench_method_rows(void);
void bench_watch_add(void);
void bench_watch_rows(void);
void bench_atrace_find(const char *built); /* the folder of the bench program; call it before bench_atrace_add */
void bench_calls_add(void);
void bench_calls_rows(void);
void bench_import_add(void);
void bench_import_rows(void);
void bench_annotate_add(void);
void bench_annotate_rows(void);
void bench_fetch_add(void);
void bench_fetch_rows(void);
void bench_atrace_add(void);
void bench_atrace_rows(void);

/* The parts of strobe-bench-lab. */
void bench_fiber_add(void);
void bench_fiber_rows(void);
void bench_play_add(void);
void bench_play_rows(void);
void bench_explore_add(void);
void bench_explore_rows(void);

/* Runs whole programs, which are in the folder of the bench program or above it. Takes several seconds. */
void bench_whole_run(const char *folder);
void bench_whole_rows(void);

/* Returns the CPU ns per slice of a conversion from session to trace. After the run. */
double bench_encode_slice_ns(void);

#endif
