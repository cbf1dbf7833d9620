/* The policy btrace-ios: threads sample themselves at hooks, and a sampler stops threads without a recent sample
 * (bytedance/btrace 3.0, b0dc0a3, BTrace/Classes; plugins at the defaults of its code). Its hooks in the simulated app:
 *
 *   here                        plugin     when
 *   ALLOC, FREE                 memory     of addresses with (address / 16) mod 4096 = 0 only; realloc does not
 *                               occur
 *   CLOCK                       date       after the call
 *   MUTEX, RWLOCK, MONITOR      lock       when the call has returned. On main, when it had to wait: always, and
 *                               twice (with the end's time and with the begin's; both with the end's CPU time)
 *   their release               lock       always, when main_lock says that main waits for just that
 *   COND, notify                lock       after the call
 *   a message posted            dispatch   at the post (there: once the block has run, with the post's stack and
 *                               time)
 *
 * Semaphores, files, sockets, sleeps, parks, IPC, image loads and message loops have no hook there, and no cost here.
 * iOS has no monitors; the scenario's monitors count as recursive mutexes. Addresses are drawn from the seed: multiples
 * of 16, and multiples of 16 KiB for blocks of that size or more.
 *
 * Hooks and sampler share one budget, 1 ms for each thread: a sample of either kind sets the thread's access time; at
 * hooks before the walk. A pass of the sampler uses one time for all threads. It holds the registry's lock, so threads
 * begin and end after it. The next pass starts 1 ms after its end. Per thread it checks in order:
 *
 *   - Has 1 ms passed since the access time?
 *   - Did the thread run since the last refresh by the event loop (30 ms for main, 300 ms for others)? After a
 *     refresh the next pass samples the thread in any case.
 *   - Is it running, or did it use 10 us of CPU since the last sample?
 *
 * If so, the sampler suspends it (in any state, without another check), reads registers, walks the stack, stores the
 * sample and resumes it.
 *
 * The walk follows frame pointers within the stack, for the innermost 192 frames; a cut is not marked. Addresses are
 * not stepped back, so a call at the end of a function gets the name of the next function. On arm64 the walk takes the
 * link register for frame 1 of any sample. That finds the caller of a frameless leaf and repeats a frame in most other
 * samples. The lab has the ABI of x86-64, which has no link register: samples do not have that defect, but a stop in a
 * prologue or in a frameless leaf loses the caller. Totals of allocations, always 0 at these settings, do not count as
 * reconstructed.
 *
 * Charges, by sim_costs (with section numbers of the study of its sources, "reference"):
 *
 *   every hook                       hook                                          1B.2
 *   ... past the address filter      clock                                         1B.3
 *   a sample at a hook               sample + thread_clock + frame_known each      1B.3: walk, no table; 2B.4
 *   sampler: each thread of a pass   look                                          4B.2, 1 to 3
 *   ... that reaches the last check  thread_clock                                  4B.2, 4: thread_info
 *   ... that is stopped              suspend; while it is held sample + frame_known each; resume      4B.2, 5
 *   event loop: each thread          thread_clock every 30 or 300 ms               4B.3
 *   ... each sample                  sample + frame each                           2B.4, 2B.5: a look-up each, a row */
#ifndef STROBE_SIM_POLICY_BTRACE_IOS_H
#define STROBE_SIM_POLICY_BTRACE_IOS_H

#include "sim/policy/policy.h"

struct sim_btrace_ios_options {
    uint32_t memory_interval;  /* 4096; 1: every address */
    uint64_t memory_period_ns; /* 1 ms; 0: every event */
};

/* sim_policy_btrace_ios with other settings of the memory plugin. */
struct sim_tracer *sim_btrace_ios_open(const struct sim_btrace_ios_options *options);

#endif
