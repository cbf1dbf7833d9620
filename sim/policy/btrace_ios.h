/* The policy btrace-ios: threads sample themselves at hooks, and a sampler stops those that have not for a while
 * (bytedance/btrace 3.0, b0dc0a3, BTrace/Classes; plugins at the defaults of its code). What of the simulated app it
 * hooks:
 *
 *   here                        plugin     when
 *   ALLOC, FREE                 memory     of addresses with (address / 16) mod 4096 = 0 only; realloc has no part here
 *   CLOCK                       date       after the call
 *   MUTEX, RWLOCK, MONITOR      lock       when the call has returned; of main, when it had to wait, always, and twice:
 *                                          with the end's time and with the begin's, the CPU time of the end in both
 *   their release               lock       always, when main waits for just that, as far as it knows
 *   COND, notify                lock       after the call
 *   a message posted            dispatch   at the post (there: once the block has run, with the post's stack and time)
 *
 * Semaphores, files, sockets, sleeps, parks, IPC, image loads and message loops have no hook there, and cost nothing
 * here. There are no monitors on iOS; ours count as recursive mutexes. Addresses are drawn from the seed: multiples of
 * 16, of 16 KiB from that size on.
 *
 * One budget for both ways, 1 ms for each thread: a sample of either kind sets its access time, at hooks before the
 * walk. The sampler's pass has one time for all threads, holds the registry's lock (so threads begin and end after it),
 * and its next one comes 1 ms after its end. Per thread it asks in turn: 1 ms since the access time? run since the last
 * look of the event loop (30 ms main, 300 ms others; which also lets the next pass sample it in any case)? running, or
 * 10 us of CPU since the last sample? Then: suspend (in whatever state, not checked again), registers, walk, store,
 * resume.
 *
 * The walk follows frame pointers within the stack, innermost 192 frames, nothing marked when there are more; addresses
 * are not stepped back, so that a call that ends a function is named for the next one. On arm64 it takes the link
 * register for frame 1 of any sample, which finds the caller of a frameless leaf and repeats a frame in most other
 * samples; on x86-64, whose ABI the lab has, there is none: what has frames is spared that defect, and a stop in a
 * prologue or in a frameless leaf loses the caller. Totals of allocations, which are always 0 at these settings, don't
 * count as claimed.
 *
 * What is charged, by sim_costs (section numbers of the study of its sources, "reference"):
 *
 *   every hook                       hook                                          1B.2
 *   ... past the address filter      clock                                         1B.3
 *   a sample at a hook               sample + thread_clock + frame_known each      1B.3: walk, no table; 2B.4
 *   sampler: each thread of a pass   look                                          4B.2, 1 to 3
 *   ... that is asked about          thread_clock                                  4B.2, 4: thread_info
 *   ... that is stopped              suspend; while it is held sample + frame_known each; resume      4B.2, 5
 *   event loop: each thread          thread_clock every 30 or 300 ms               4B.3
 *   ... each sample                  sample + frame each                         2B.4, 2B.5: a look-up each, a row */
#ifndef STROBE_SIM_POLICY_BTRACE_IOS_H
#define STROBE_SIM_POLICY_BTRACE_IOS_H

#include "sim/policy/policy.h"

struct sim_btrace_ios_options {
    uint32_t memory_interval;  /* 4096; 1 = every address */
    uint64_t memory_period_ns; /* 1 ms; 0 = every event */
};

/* sim_policy_btrace_ios with other settings of the memory plugin. */
struct sim_tracer *sim_btrace_ios_open(const struct sim_btrace_ios_options *options);

#endif
