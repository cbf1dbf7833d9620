/* Measuring with Google Benchmark from C. gbench.cc, the one C++ file of the project, implements this.
 *
 * A bench registers functions, runs them all in one go with their repetitions shuffled among each other, and then
 * asks for medians, so that a figure and its reference come from the same run under the same disturbances.
 *
 *     static void copy(struct gbench_state *s, const void *arg)
 *     {
 *         while (gbench_loop(s))
 *             for (int i = 0; i < 1000; i++)
 *                 ...one operation...
 *     }
 *     gbench_add(&(struct gbench_spec){ .name = "copy", .run = copy, .batch = 1000 });
 *
 * Everything but gbench_loop and the other calls on a state is for the main thread. */
#ifndef STROBE_BENCH_GBENCH_H
#define STROBE_BENCH_GBENCH_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gbench_state; /* one measurement in progress, private to the thread that runs it */

typedef void gbench_fn(struct gbench_state *state, const void *arg);

/* What a figure is made of. */
enum gbench_clock {
    GBENCH_CPU, /* CPU time of the measuring threads: the stable one with more threads than processors */
    GBENCH_WALL,
    GBENCH_MANUAL, /* what the function reports with gbench_elapsed, once a turn */
};

struct gbench_spec {
    const char *name; /* unique; kept by reference */
    gbench_fn *run;
    const void *arg; /* handed to run */
    int threads;     /* threads that run it at once; 0 means 1 */
    int64_t batch;   /* operations in one turn of the loop; 0 means 1 */
    int64_t turns;   /* turns of the loop each repetition takes; 0 = as many as fill the time */
    enum gbench_clock clock;
};

void gbench_add(const struct gbench_spec *spec);

/* Starts the clock at the first call; false when this thread has done its turns. */
bool gbench_loop(struct gbench_state *state);

/* 0 .. threads - 1. */
int gbench_thread(const struct gbench_state *state);

/* Takes work between turns out of the figure; costs about a microsecond. */
void gbench_pause(struct gbench_state *state);
void gbench_resume(struct gbench_state *state);

/* Time of the turn in progress, GBENCH_MANUAL only. */
void gbench_elapsed(struct gbench_state *state, double seconds);

/* A figure that is not a time, kept from the last repetition. */
void gbench_counter(struct gbench_state *state, const char *name, double value);

/* Says that this cannot be measured here; the loop must not be entered after it. */
void gbench_give_up(struct gbench_state *state, const char *why);

/* Runs everything whose name matches the regular expression `filter` (NULL: all): `repetitions` each,
 * at least min_time_s a repetition. Returns how many benches ran. */
int gbench_run(const char *filter, int repetitions, double min_time_s);

/* Median over the repetitions, ns an operation; NAN when it did not run or gave up. */
double gbench_median_ns(const char *name);

/* NAN when there is none. */
double gbench_counter_of(const char *name, const char *counter);

/* Why a bench gave up, or NULL. */
const char *gbench_reason(const char *name);

#ifdef __cplusplus
}
#endif
#endif
