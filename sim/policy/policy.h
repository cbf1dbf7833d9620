/* Capture policies: what decides when to take a stack, and builds a trace of what was taken.
 *
 *   strobe          the engine of this tree, at its defaults
 *   strobe-stops    the same where CPU clocks of threads can't interrupt them (perf events refused, Android, iOS): the
 *                   sampler stops threads from outside; not in comparisons unless asked for
 *   btrace-android  hooks only, 1 ms budget, forced kinds, stacks of more than 128 frames dropped; trace by the 10 ns
 *                   rule
 *   btrace-ios      hooks and a suspending sampler that share one budget; activity by cached CPU use; 1 ms tails
 *   async-1ms       a suspending sampler alone, of every thread that runs (as Time Profiler)
 *   async-10ms      the same, ten times slower
 *   sync-only       the engine without its sampler
 *   matrix          instrumented methods of the main thread, into a packed log with a clock of 5 ms
 *   rheatrace       instrumented methods and file operations of all threads, as marks in a ring of text
 *   rheatrace-main  the same of the main thread only; not in comparisons unless asked for
 *   btrace2         instrumented methods of all threads, a record of each when it ends
 *   netease         a suspending sampler of managed methods, every 10 ms, into a ring that overwrites itself
 *   ideal           exact samples that cost nothing, evenly spaced, as many of each thread as `strobe` takes; built
 *                   into a trace by the engine's rules
 *   none            nothing listens: what the app does alone
 *
 * Sources of the btrace rules: the published sources of bytedance/btrace 3.0 (b0dc0a3, Android and iOS). What is told
 * by instrumentation goes through the engine's own capture and readers (engine/method, engine/trace). */
#ifndef STROBE_SIM_POLICY_POLICY_H
#define STROBE_SIM_POLICY_POLICY_H

#include "sim/runtime/run.h"

/* Makes a tracer by its policy's name. STROBE_NO_ENTRY: there is none of that name; STROBE_IO: out of memory. `ideal`
 * needs sim_policy_ideal. */
enum strobe_status sim_policy_open(const char *name, struct sim_tracer **out);

/* The yardstick: samples of each thread spec as many in all as `samples[spec]` says. */
enum strobe_status sim_policy_ideal(const uint64_t *samples, uint32_t spec_count, struct sim_tracer **out);

/* Names in order of comparison, and those that are compared only when asked for; NULL at the end. */
extern const char *const sim_policy_names[], *const sim_policy_more[];

/* Each policy's own maker. */
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
