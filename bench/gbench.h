/* An interface to Google Benchmark for C. gbench.cc implements it in C++.
 *
 * A bench registers functions, runs all of them with shuffled repetitions, and then reads medians. A figure and its
 * reference are therefore measured in the same run under the same disturbances.
 *
 *     static void copy(struct gbench_state *s, const void *arg)
 *     {
 *         while (gbench_loop(s))
 *             for (int i = 0; i < 1000; i++)
 *                 ...one operation...
 *     }
 *     gbench_add(&(struct gbench_spec){ .name = "copy", .run = copy, .batch = 1000 });
 *
 * Only gbench_loop and the other functions with a state may be called on other threads than the main thread. */
#ifndef STROBE_BENCH_GBENCH_H
#define STROBE_BENCH_GBENCH_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gbench_state; /* one measurement in progress, private to the thread that runs it */

typedef void gbench_fn(struct gbench_state *state, const void *arg);

/* The clock of a figure. */
enum gbench_clock {
    GBENCH_CPU, /* CPU time of the measuring threads: stable with more threads than processors */
    GBENCH_WALL,
    GBENCH_MANUAL, /* the time that the function reports with gbench_elapsed, once per turn */
};

struct gbench_spec {
    const char *name; /* unique; kept by reference */
    gbench_fn *run;
    const void *arg; /* passed to run */
    int threads;     /* threads that run it at once; 0 means 1 */
    int64_t batch;   /* operations in one turn of the loop; 0 means 1 */
    int64_t turns;   /* turns of the loop in each repetition; 0 = as many as fill the time */
    enum gbench_clock clock;
};

void gbench_add(const struct gbench_spec *spec);

/* Starts the clock at the first call. Returns false when this thread has done its turns. */
bool gbench_loop(struct gbench_state *state);

/* Returns the index of the calling thread: 0 .. threads - 1. */
int gbench_thread(const struct gbench_state *state);

/* Pauses and resumes the clock, to exclude work between turns. Costs about a microsecond. */
void gbench_pause(struct gbench_state *state);
void gbench_resume(struct gbench_state *state);

/* Sets the time of the current turn. GBENCH_MANUAL only. */
void gbench_elapsed(struct gbench_state *state, double seconds);

/* Sets a figure that is not a time. The value of the last repetition is kept. */
void gbench_counter(struct gbench_state *state, const char *name, double value);

/* Reports that this cannot be measured here. The caller must not enter the loop afterwards. */
void gbench_give_up(struct gbench_state *state, const char *why);

/* Runs all benches whose name matches the regular expression `filter` (NULL: all): `repetitions` each, at least
 * min_time_s per repetition. Returns the number of benches that ran. */
int gbench_run(const char *filter, int repetitions, double min_time_s);

/* Returns the median of the repetitions, in ns per operation; NAN when the bench did not run or gave up. */
double gbench_median_ns(const char *name);

/* Returns a counter of a bench; NAN when there is none. */
double gbench_counter_of(const char *name, const char *counter);

/* Returns the reason why a bench gave up, or NULL. */
const char *gbench_reason(const char *name);

#ifdef __cplusplus
}
#endif
#endif
