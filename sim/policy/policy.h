/* Capture policies. A policy decides when to take a stack, and builds a trace from what it captured.
 *
 *   strobe          the engine of this tree, with its defaults
 *   strobe-stops    the same where the CPU clocks of threads cannot interrupt them (perf events refused, Android,
 *                   iOS). The sampler stops threads from outside. Only on request in comparisons
 *   btrace-android  hooks only, 1 ms budget, forced kinds, stacks of more than 128 frames dropped; trace by the 10
 *                   ns rule
 *   btrace-ios      hooks and a suspending sampler that share one budget; activity by cached CPU use; 1 ms tails
 *   async-1ms       a suspending sampler alone, of every thread that runs (like Time Profiler)
 *   async-10ms      the same, ten times slower
 *   sync-only       the engine without its sampler
 *   matrix          instrumented methods of the main thread, into a packed log with a clock of 5 ms
 *   rheatrace       instrumented methods and file operations of all threads, as text marks in a ring
 *   rheatrace-main  the same for the main thread only. Only on request in comparisons
 *   btrace2         instrumented methods of all threads; each call is recorded at its end
 *   netease         a suspending sampler of managed methods, every 10 ms, into a ring that overwrites the oldest
 *   ideal           exact samples without cost, evenly spaced, as many of each thread as `strobe` takes. The
 *                   engine's rules build the trace
 *   none            no tracer: the app alone
 *
 * The btrace rules follow the published sources of bytedance/btrace 3.0 (b0dc0a3, Android and iOS). Captures by
 * instrumentation use the engine's own capture code and readers (engine/method, engine/trace). */
#ifndef STROBE_SIM_POLICY_POLICY_H
#define STROBE_SIM_POLICY_POLICY_H

#include "sim/runtime/run.h"
#include "sim/score/score.h"

/* Makes a tracer by its policy's name. STROBE_NO_ENTRY: no policy has that name. STROBE_IO: out of memory. For `ideal`
 * call sim_policy_ideal. */
enum strobe_status sim_policy_open(const char *name, struct sim_tracer **out);

/* Makes the reference policy `ideal`: it takes samples[spec] samples of each thread spec in all. */
enum strobe_status sim_policy_ideal(const uint64_t *samples, uint32_t spec_count, struct sim_tracer **out);

/* The timeline of `ideal` over a truth that was not played by sim_run_play, such as that of a runtime. Appends to *out.
 * *intervals: the distances of the samples. */
enum strobe_status sim_ideal_of_truth(const struct sim_tracks *truth, const struct sim_scenario *scenario,
                                      uint64_t seed, const uint64_t *samples, struct sim_tracks *out,
                                      struct sim_score_options *intervals, struct strobe_error *error);

/* Names in order of comparison, and names that are compared only on request; NULL at the end. */
extern const char *const sim_policy_names[], *const sim_policy_more[];

/* The maker of each policy. */
struct sim_tracer *sim_policy_strobe(void); /* and: */
struct sim_tracer *sim_policy_async(uint64_t interval_ns);
struct sim_tracer *sim_policy_strobe_stops(void);
struct sim_tracer *sim_policy_sync_only(void);
struct sim_tracer *sim_policy_btrace_android(void);
struct sim_tracer *sim_policy_btrace_ios(void);
struct sim_tracer *sim_policy_matrix(void);
struct sim_tracer *sim_policy_rheatrace(bool main_only);
struct sim_tracer *sim_policy_btrace2(void);
struct sim_tracer *sim_policy_netease(void);

#endif
